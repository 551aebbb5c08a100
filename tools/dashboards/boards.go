// SPDX-License-Identifier: Apache-2.0

package main

// Words that several panels share, so that they say the same.
const (
	gigabyte = "bytes"
	ratio    = "percentunit"
	gpuHours = "suffix: GPU-h"
	number   = "short"
	money    = "locale"
	seconds  = "s"

	display   = " For display: the ledger is exact, Prometheus is not. Bill from gputally report."
	signal    = " A signal, no measure: it enters no share and no bill."
	ownOne    = " Each currency has a series of its own; they are never added together."
	busyTruth = "The share of time in which at least one kernel ran. One thread in a loop makes 100 %. Three pods that share a GPU which is 90 % busy are 90 % busy together, so it is shown once for the device and never per pod."
)

func boards() []*board { return []*board{fleet(), team(), gpu(), agent()} }

func ts(title, unit string, w int, link, about string, q ...query) panel {
	return panel{kind: "timeseries", title: title, unit: unit, w: w, h: 8, link: link, about: about, queries: q}
}

func stacked(p panel) panel { p.stack = true; return p }

func upTo(top float64, p panel) panel { p.top = top; return p }

func stat(title, unit string, w int, link, about string, q ...query) panel {
	return panel{kind: "stat", title: title, unit: unit, w: w, h: 4, link: link, about: about, queries: q}
}

func table(title, unit string, w int, link, about string, q ...query) panel {
	return panel{kind: "table", title: title, unit: unit, w: w, h: 8, link: link, about: about, queries: q}
}

func fleet() *board {
	return &board{
		name: "fleet", title: "gputally / Fleet", about: "What is on the GPUs now, what is wrong, and where the money goes.", vars: chosen(),
		rows: []row{
			{"Memory: who holds what", []panel{
				stat("GPUs", number, 4, "model.md#words", "Physical GPUs, each counted once however many pods share it.",
					query{`count(count by (gpu_uuid) (gputally_partition_info @NODES))`, ""}),
				stat("Memory of all GPUs", gigabyte, 4, "model.md#one-moment", "Capacity of all GPUs and MIG instances. A GPU in MIG mode has no balance of its own: its instances have.",
					query{`sum(gputally_partition_memory_capacity_bytes @NODES)`, ""}),
				stat("Held", ratio, 4, "model.md#one-moment", "Memory that named holders have, of the capacity. This is what bills are divided by, unless the policy says otherwise.",
					query{`sum(gputally_partition_memory_bytes{class="used"} @NODES) / sum(gputally_partition_memory_capacity_bytes @NODES)`, ""}),
				stat("Partitions", number, 4, "model.md#grades", "GPUs and MIG instances by state. Only those that are ok carry readings: of the others it is unknown what is held, which is not 0.",
					query{`count by (state) (gputally_partition_state @NODES)`, "{{state}}"}),
				stat("Open findings", number, 4, "findings.md", "Disagreements between who uses and who was given a GPU, and other dangers.",
					query{`sum(gputally_findings @NODES)`, ""}),
				stat("Nodes that report", number, 4, "install.md", "Nodes whose agent is scraped. A node without an agent is on the bill as unmeasured.",
					query{`count(` + nodes + `)`, ""}),
				stacked(ts("Memory by class", gigabyte, 12, "model.md#one-moment", "Driver reserve, memory of named holders, used memory that nobody can be named for, and free. The four add up to the capacity, to the byte. A gap is time without readings.",
					query{`sum by (class) (gputally_partition_memory_bytes @NODES)`, "{{class}}"})),
				stacked(ts("Memory held by namespace", gigabyte, 12, "model.md#who-is-it", "Memory of pods, by namespace. It adds up also where GPUs are shared: each byte has one holder.",
					query{`sum by (workload_namespace) (gputally_memory_used_bytes{holder_kind="pod"} @NODES)`, "{{workload_namespace}}"})),
				upTo(1, ts("Memory held by node", ratio, 12, "model.md#one-moment", "Memory that named holders have, of the node's GPU memory.",
					query{`sum by (node_name) (gputally_partition_memory_bytes{class="used"} @NODES) / sum by (node_name) (gputally_partition_memory_capacity_bytes @NODES)`, "{{node_name}}"})),
				ts("How GPUs are shared", number, 12, "model.md#who-was-given-it", "GPUs and MIG instances by way of sharing. shared: nothing proves which way.",
					query{`count by (mode) (gputally_partition_sharing_mode @NODES)`, "{{mode}}"}),
			}},
			{"What is wrong", []panel{
				table("Findings", number, 16, "findings.md", "Open findings. unallocated_gpu_use is a leak: a pod holds memory on a GPU that it was not given. Evidence is in gputally top and in the agent's /api/v1/node.",
					query{`max by (node_name, kind, severity, workload_namespace, workload_pod, workload_unit, gpu_uuid, partition) (gputally_finding_info @NODES)`, ""}),
				ts("Events of GPUs", number, 8, "alerts.md#gputallyxid", "Events that a driver told since its agent began, such as an XID or a GPU that fell off the bus. No series: none was seen.",
					query{`sum by (node_name, kind, xid) (gputally_device_events_total @NODES)`, "{{node_name}} {{kind}} {{xid}}"}),
				ts("Memory without an owner", gigabyte, 12, "model.md#one-moment", "Used memory that no process accounts for: managed memory, MPS servers, processes of virtual machines. It is a line of its own on the bill and never spread over pods.",
					query{`sum by (node_name) (gputally_partition_memory_bytes{class="unattributed"} @NODES)`, "{{node_name}}"}),
				ts("Stranded MIG slices", number, 12, "ledger.md", "Memory slices of GPUs in MIG mode that no further instance could cover. They are paid for, by the account stranded.",
					query{`sum by (node_name) (gputally_partition_stranded_memory_slices @NODES)`, "{{node_name}}"}),
			}},
			{"Money (the node filter does not apply: the server's series are of clusters)", []panel{
				stat("Idle, of the last rated hour", ratio, 6, "ledger.md", "Share of cost that no workload used or kept from others."+ownOne+display,
					query{`sum by (currency) (gputally_cost{span="hour", class="platform", account="idle", workload_cluster=~"$cluster"}) / sum by (currency) (gputally_cost{span="hour", workload_cluster=~"$cluster"})`, "{{currency}}"}),
				stat("Last rated hour", money, 6, "pricing.md", "What the nodes cost in the hour last rated, in the currency that the legend names."+ownOne+display,
					query{`sum by (currency) (gputally_cost{span="hour", workload_cluster=~"$cluster"})`, "{{currency}}"}),
				stat("This month so far", money, 6, "ledger.md", "What the nodes cost this month up to the last rated hour, in the currency that the legend names."+ownOne+display,
					query{`sum by (currency) (gputally_cost{span="month", workload_cluster=~"$cluster"})`, "{{currency}}"}),
				stat("Without a price, last hour", gpuHours, 6, "pricing.md", "GPU-hours that no price book, list or bill has a price for. gputally price show NODE says why.",
					query{`sum(gputally_cost_unpriced_gpu_hours{span="hour", workload_cluster=~"$cluster"})`, ""}),
				stacked(ts("Cost of an hour by account", money, 12, "ledger.md", "The hour last rated, by namespace or owner; idle, stranded, overhead and other platform accounts are accounts like any other, and the sum is what the nodes cost."+ownOne+display,
					query{`sum by (class, account, currency) (gputally_cost{span="hour", workload_cluster=~"$cluster"})`, "{{account}} ({{class}}, {{currency}})"})),
				table("This month by account", money, 12, "ledger.md", "The month so far. class tells a namespace from a platform account of the same name."+ownOne+display,
					query{`sum by (class, account, currency) (gputally_cost{span="month", workload_cluster=~"$cluster"})`, ""}),
			}},
			{"What could change (the node filter does not apply)", []panel{
				ts("What pods did with their partitions", "suffix: partition-h", 8, "utilization.md#the-class-of-an-hour", "Hours of partitions in the last 24 hours that were looked at, by class: unused, empty and waiting say that something was kept for little. A class is no money.",
					query{`sum by (class) (gputally_workload_class_hours{workload_cluster=~"$cluster"})`, "{{class}}"}),
				ts("Advice", number, 8, "advice.md", "Workloads and kinds of change for which there is advice today, by what was said to it. gputally advise has the evidence, and what was refused.",
					query{`sum by (kind, state) (gputally_advice{workload_cluster=~"$cluster"})`, "{{kind}} {{state}}"}),
				ts("What advice would free in a month", money, 8, "advice.md", "freed: what single changes would free for others, at what it costs; no invoice falls by it. cash: by how much invoices would fall. The two are not added."+ownOne+display,
					query{`sum by (currency) (gputally_advice_freed{workload_cluster=~"$cluster"})`, "freed ({{currency}})"},
					query{`sum by (currency) (gputally_advice_cash{workload_cluster=~"$cluster"})`, "cash ({{currency}})"}),
			}},
			{"Signals: beside, never in the bill", []panel{
				upTo(1, ts("Busy, mean over GPUs", ratio, 12, "utilization.md", busyTruth+signal,
					query{`avg by (node_name) (gputally_signal_ratio{signal="busy"} @NODES)`, "{{node_name}}"})),
				upTo(1, ts("SM active, mean over GPUs", ratio, 12, "utilization.md", "The share of cycles of the multiprocessors with work on them, where the hardware tells it. Far below busy: the GPU is occupied and hardly used."+signal,
					query{`avg by (node_name) (gputally_signal_ratio{signal="sm_active"} @NODES)`, "{{node_name}}"})),
				ts("Power", "watt", 12, "utilization.md", "Power that the GPUs of a node draw. Busy at little more than idle power is a spin or a hang.",
					query{`sum by (node_name) (gputally_power_watts @NODES)`, "{{node_name}}"}),
				ts("Energy", "joule", 12, "utilization.md", "Energy that the GPUs of a node used in the last hour, by their own counters.",
					query{`sum by (node_name) (increase(gputally_energy_joules_total[1h]) @NODES)`, "{{node_name}}"}),
			}},
		},
	}
}

func team() *board {
	const namespace = `workload_namespace=~"$namespace"`
	return &board{
		name: "team", title: "gputally / Team", about: "What the pods of a namespace hold, were given and need, and what it costs.",
		vars: chosen(variable{"namespace", "Namespace", `label_values({__name__=~"gputally_memory_used_bytes|gputally_memory_reserved_bytes"}, workload_namespace)`, "/.+/"}),
		rows: []row{
			{"Memory: what we hold and keep", []panel{
				stacked(ts("Memory held by pod", gigabyte, 12, "model.md#one-moment", "GPU memory that the containers of each pod hold, over all GPUs. It adds up: each byte has one holder.",
					query{`sum by (workload_namespace, workload_pod) (gputally_memory_used_bytes{` + namespace + `} @NODES)`, "{{workload_namespace}}/{{workload_pod}}"})),
				ts("Memory kept from others by pod", gigabyte, 12, "model.md#who-was-given-it", "GPU memory that a pod's grant keeps from everyone else: all of an exclusive GPU or MIG instance, the share under MPS and of a fraction, 0 under time-slicing. What a claim of several pods keeps is shown of none of them: it is theirs together.",
					query{`sum by (workload_namespace, workload_pod) (gputally_memory_reserved_bytes{` + namespace + `} @NODES)`, "{{workload_namespace}}/{{workload_pod}}"}),
				ts("Kept and not held", gigabyte, 12, "ledger.md", "What grants keep from others and the pod does not hold. Under the default policy it is paid for by whoever was given it: nobody else could have had it. What a claim of several pods keeps is not in it.",
					query{`clamp_min(sum by (workload_namespace, workload_pod, gpu_uuid, partition) (gputally_memory_reserved_bytes{` + namespace + `} @NODES) - on (workload_namespace, workload_pod, gpu_uuid, partition) sum by (workload_namespace, workload_pod, gpu_uuid, partition) (gputally_memory_used_bytes{` + namespace + `} @NODES), 0)`, "{{workload_namespace}}/{{workload_pod}} {{gpu_uuid}} {{partition}}"}),
				ts("GPU memory over time", "suffix: GiB·h/h", 12, "ledger.md", "GiB-hours of GPU memory that pods held, per hour. From a counter, so that what came and went between two scrapes counts.",
					query{`sum by (workload_namespace) (rate(gputally_memory_byte_seconds_total{` + namespace + `}[$__rate_interval]) @NODES) / 1024^3`, "{{workload_namespace}}"}),
				table("Grants", gigabyte, 24, "model.md#who-was-given-it", "What pods were given, by whom, and how much memory that keeps from others.",
					query{`max by (node_name, workload_namespace, workload_pod, gpu_uuid, partition, mode, resource, source) (gputally_memory_reserved_bytes{` + namespace + `} @NODES)`, ""}),
			}},
			{"Money (accounts of this namespace; cluster filter only)", []panel{
				stat("This month so far", money, 6, "ledger.md", "What the namespace is charged, in the currency that the legend names. Empty where the policy bills other owners than namespaces: see the Fleet dashboard."+ownOne+display,
					query{`sum by (account, currency) (gputally_cost{span="month", class="workload", account=~"$namespace", workload_cluster=~"$cluster"})`, "{{account}} ({{currency}})"}),
				stat("Last rated hour", money, 6, "ledger.md", "What the namespace is charged for the hour last rated."+ownOne+display,
					query{`sum by (account, currency) (gputally_cost{span="hour", class="workload", account=~"$namespace", workload_cluster=~"$cluster"})`, "{{account}} ({{currency}})"}),
				stat("Charged GPU-hours this month", gpuHours, 6, "ledger.md", "Share of GPUs × time that the namespace was charged for.",
					query{`sum by (account) (gputally_cost_gpu_hours{span="month", class="workload", account=~"$namespace", workload_cluster=~"$cluster"})`, "{{account}}"}),
				stat("Of that kept and unused", gpuHours, 6, "ledger.md", "GPU-hours that grants kept from others and nobody used. Smaller grants, or none overnight, take these away.",
					query{`sum by (account) (gputally_cost_unused_gpu_hours{span="month", class="workload", account=~"$namespace", workload_cluster=~"$cluster"})`, "{{account}}"}),
			}},
			{"What is wrong", []panel{
				table("Findings", number, 24, "findings.md", "Open findings about pods of the namespace. unallocated_gpu_use: the pod holds memory on a GPU that it was not given, and pays for it.",
					query{`max by (kind, severity, workload_namespace, workload_pod, gpu_uuid, partition) (gputally_finding_info{` + namespace + `} @NODES)`, ""}),
			}},
			{"What we did with it, and could change (cluster filter only)", []panel{
				ts("Hours by class", "suffix: partition-h", 12, "utilization.md#the-class-of-an-hour", "Hours of partitions that the pods had in the last 24 hours that were looked at, by class. unused: granted, and no process. empty: memory held, and never active. A class is no money.",
					query{`sum by (namespace, class) (gputally_workload_class_hours{namespace=~"$namespace", workload_cluster=~"$cluster"})`, "{{namespace}} {{class}}"}),
				ts("Advice", number, 12, "advice.md", "Kinds of change for which there is advice today. gputally advise NAMESPACE has the evidence.",
					query{`sum by (namespace, kind, state) (gputally_advice{namespace=~"$namespace", workload_cluster=~"$cluster"})`, "{{namespace}} {{kind}} {{state}}"}),
			}},
			{"Inference engines: held is not needed", []panel{
				upTo(1, ts("Use of the engine's pool", ratio, 12, "engines.md", "vLLM and others take most of a GPU's memory when they start, and give it out inside. This is what is in use of that pool. The memory stays held, and charged, either way.",
					query{`gputally_engine_pool_used_ratio{` + namespace + `} @NODES`, "{{workload_namespace}}/{{workload_pod}}"})),
				ts("Size of the pool", gigabyte, 12, "engines.md", "Memory pool of an engine, where the engine or an annotation tells it.",
					query{`gputally_engine_pool_bytes{` + namespace + `} @NODES`, "{{workload_namespace}}/{{workload_pod}}"}),
				ts("Requests", number, 12, "engines.md", "Requests that an engine runs, and that wait. Waiting requests beside a full pool need more memory; beside an empty one they do not.",
					query{`gputally_engine_requests{` + namespace + `} @NODES`, "{{workload_namespace}}/{{workload_pod}} {{state}}"}),
				ts("Requests that lost their place", "cps", 12, "engines.md", "Preemptions a second: the pool was too small for what was running.",
					query{`rate(gputally_engine_preemptions_total{` + namespace + `}[$__rate_interval]) @NODES`, "{{workload_namespace}}/{{workload_pod}}"}),
			}},
			{"Signals: beside, never in the bill", []panel{
				upTo(1, ts("Kernels of a holder", ratio, 12, "utilization.md", "The share of time in which kernels of one holder ran, by NVML's samples. Shares of pods on one GPU do not add up to its busy ratio."+signal,
					query{`max by (workload_namespace, workload_pod, gpu_uuid, partition) (gputally_holder_sm_ratio{` + namespace + `} @NODES)`, "{{workload_namespace}}/{{workload_pod}} {{gpu_uuid}} {{partition}}"})),
				ts("CPUs of GPU pods", "suffix: CPUs", 12, "metrics.md", "CPUs that the pods use. A GPU that waits for its input often waits for these.",
					query{`sum by (workload_namespace, workload_pod) (rate(gputally_pod_cpu_seconds_total{` + namespace + `}[$__rate_interval]) @NODES)`, "{{workload_namespace}}/{{workload_pod}}"}),
			}},
		},
	}
}

func gpu() *board {
	const one = `gpu_uuid=~"$gpu"`
	return &board{
		name: "gpu", title: "gputally / GPU", about: "Who had a GPU when, what its states and events were, and what its signals say.",
		vars: chosen(variable{"gpu", "GPU", `query_result(count by (gpu_uuid) (gputally_partition_info ` + join.Replace("@NODES") + `))`, `/gpu_uuid="([^"]+)"/`}),
		rows: []row{
			{"Memory: who had it when", []panel{
				stacked(ts("Memory by holder", gigabyte, 16, "model.md#one-moment", "Pods, daemons and host processes with what each holds; on top of them the driver's reserve and what nobody can be named for. What is missing up to the capacity is free. A gap is time without readings, not time without use.",
					query{`sum by (gpu_uuid, partition, holder_kind, workload_namespace, workload_pod, workload_unit) (gputally_memory_used_bytes{` + one + `, holder_kind!="unknown"} @NODES)`, "{{holder_kind}} {{workload_namespace}} {{workload_pod}}{{workload_unit}} {{partition}}"},
					query{`sum by (gpu_uuid, partition, class) (gputally_partition_memory_bytes{` + one + `, class=~"reserved|unattributed"} @NODES)`, "{{class}} {{partition}}"})),
				table("What it is", number, 8, "model.md#words", "The GPU and its MIG instances, with all their names.",
					query{`max by (node_name, index, model, partition, profile, gpu_uuid, mig_uuid) (gputally_partition_info{` + one + `} @NODES)`, ""}),
				ts("Capacity", gigabyte, 8, "model.md#one-moment", "Memory of the GPU, or of each MIG instance. No series: the GPU is in MIG mode, has no memory of its own, or cannot be read.",
					query{`sum by (gpu_uuid, partition) (gputally_partition_memory_capacity_bytes{` + one + `} @NODES)`, "{{gpu_uuid}} {{partition}}"}),
				ts("Kept from others by grant", gigabyte, 8, "model.md#who-was-given-it", "What each grant keeps from everyone else. Under time-slicing 0: a replica is a turn, not memory.",
					query{`max by (gpu_uuid, partition, mode, workload_namespace, workload_pod) (gputally_memory_reserved_bytes{` + one + `} @NODES)`, "{{mode}} {{workload_namespace}}/{{workload_pod}} {{partition}}"}),
				ts("Limit by grant", gigabyte, 8, "model.md#who-was-given-it", "What a pod may hold by its grant, under MPS and fractions. Above it there is a finding over_limit.",
					query{`max by (gpu_uuid, partition, mode, workload_namespace, workload_pod) (gputally_memory_limit_bytes{` + one + `} @NODES)`, "{{mode}} {{workload_namespace}}/{{workload_pod}} {{partition}}"}),
			}},
			{"Grants, states and events", []panel{
				ts("Pods that are granted it", number, 8, "model.md#who-was-given-it", "Pods with a grant, by partition. Absent while the kubelet's list cannot be read.",
					query{`sum by (gpu_uuid, partition) (gputally_partition_grants{` + one + `} @NODES)`, "{{gpu_uuid}} {{partition}}"}),
				ts("State", number, 8, "model.md#grades", "1 under the state that holds: ok, lost, hung, unreadable or not_supported. Only ok carries readings.",
					query{`max by (gpu_uuid, partition, state) (gputally_partition_state{` + one + `} @NODES)`, "{{state}} {{gpu_uuid}} {{partition}}"}),
				ts("Events", number, 8, "alerts.md#gputallyxid", "Events that the driver told since the agent began. No series: none was seen.",
					query{`sum by (gpu_uuid, kind, xid) (gputally_device_events_total{` + one + `} @NODES)`, "{{kind}} {{xid}} {{gpu_uuid}}"}),
				ts("Way of sharing", number, 12, "model.md#who-was-given-it", "1 under the way in which the partition is shared.",
					query{`max by (gpu_uuid, partition, mode) (gputally_partition_sharing_mode{` + one + `} @NODES)`, "{{mode}} {{gpu_uuid}} {{partition}}"}),
				ts("Replicas offered", number, 12, "model.md#who-was-given-it", "Ids under which a partition is offered, under time-slicing and MPS. Pods may hold fewer.",
					query{`max by (gpu_uuid, partition) (gputally_partition_replicas{` + one + `} @NODES)`, "{{gpu_uuid}} {{partition}}"}),
			}},
			{"Signals: beside, never in the bill", []panel{
				upTo(1, ts("Signals of the device", ratio, 12, "utilization.md", "All on one axis, so that busy 100 % and tensor 3 % are seen, not computed. indivisible: several holders share it, and it is nobody's. "+busyTruth+signal,
					query{`max by (gpu_uuid, partition, signal, grade) (gputally_signal_ratio{` + one + `} @NODES)`, "{{signal}} ({{grade}}) {{partition}}"})),
				upTo(1, ts("Kernels of each holder", ratio, 12, "utilization.md", "The share of time in which kernels of one holder ran, by NVML's samples. These do not add up to busy."+signal,
					query{`max by (gpu_uuid, partition, workload_namespace, workload_pod, workload_unit) (gputally_holder_sm_ratio{` + one + `} @NODES)`, "{{workload_namespace}}/{{workload_pod}}{{workload_unit}} {{partition}}"})),
				ts("Power", "watt", 8, "utilization.md", "What the GPU draws, and the limit that is enforced.",
					query{`max by (gpu_uuid) (gputally_power_watts{` + one + `} @NODES)`, "draws {{gpu_uuid}}"}, query{`max by (gpu_uuid) (gputally_power_limit_watts{` + one + `} @NODES)`, "limit {{gpu_uuid}}"}),
				ts("Temperature", "celsius", 8, "metrics.md", "Temperature of the GPU.",
					query{`max by (gpu_uuid) (gputally_temperature_celsius{` + one + `} @NODES)`, "{{gpu_uuid}}"}),
				ts("SM clock", "hertz", 8, "metrics.md", "Clock of the multiprocessors. It falls where heat or power limits it.",
					query{`max by (gpu_uuid) (gputally_sm_clock_hertz{` + one + `} @NODES)`, "{{gpu_uuid}}"}),
				ts("Traffic over PCIe", "Bps", 12, "utilization.md", "To the device (rx) and from it (tx). Without GPM it is what came in 20 ms of each sample: good for a mean over an hour, not for a moment.",
					query{`max by (gpu_uuid, partition, direction) (gputally_pcie_bytes_per_second{` + one + `} @NODES)`, "{{direction}} {{gpu_uuid}} {{partition}}"}),
				ts("What limits the clocks", number, 12, "metrics.md", "NVML's bit mask of reasons; 0 is nothing, 1 an idle GPU.",
					query{`max by (gpu_uuid) (gputally_clocks_event_reasons{` + one + `} @NODES)`, "{{gpu_uuid}}"}),
			}},
		},
	}
}

func agent() *board {
	return &board{
		name: "agent", title: "gputally / Agents and server", about: "Does the measuring work, do records arrive, are hours rated?", vars: chosen(),
		rows: []row{
			{"Measuring", []panel{
				table("Agents", number, 12, "install.md", "Agents that are scraped, with their version and the node that they measure.",
					query{`max by (cluster, node_name, version, mode) (gputally_agent_info{cluster=~"$cluster", node_name=~"$node"})`, ""}),
				ts("Sources", number, 12, "alerts.md#gputallysourcedown", "1 where the last read of a source succeeded, else 0. What a failing source says is unknown, or as old as its last answer.",
					query{`min by (node_name, source) (gputally_source_up @NODES)`, "{{node_name}} {{source}}"}),
				ts("Age of what sources said", seconds, 8, "alerts.md#gputallysourcedown", "0 where it is fresh.",
					query{`max by (node_name, source) (gputally_source_stale_seconds @NODES)`, "{{node_name}} {{source}}"}),
				ts("Time of one sample", seconds, 8, "cost.md", "From the first read to the published picture. Longer than the interval: samples are left out.",
					query{`max by (node_name) (gputally_agent_sample_duration_seconds @NODES)`, "{{node_name}}"}, query{`max by (node_name) (gputally_agent_interval_seconds @NODES)`, "interval of {{node_name}}"}),
				ts("Samples left out", "cps", 8, "alerts.md#gputallysamplesmissed", "Samples a second that were left out, because the one before took longer than the interval. What lies more than three intervals apart is unmeasured.",
					query{`sum by (node_name) (rate(gputally_agent_missed_ticks_total[$__rate_interval]) @NODES)`, "{{node_name}}"}),
				ts("CPUs of the agent", "suffix: CPUs", 12, "cost.md", "CPUs that the agent itself uses.",
					query{`sum by (node_name) (rate(process_cpu_seconds_total[$__rate_interval]) @NODES)`, "{{node_name}}"}),
				ts("Memory of the agent", gigabyte, 12, "cost.md", "Host memory of the agent itself.",
					query{`sum by (node_name) (process_resident_memory_bytes @NODES)`, "{{node_name}}"}),
			}},
			{"From the agents to the server", []panel{
				ts("Spool", ratio, 8, "alerts.md#gputallyspoolfillsup", "How full the agent's room for records is. When it is full the oldest are given up, and the time is billed as unmeasured.",
					query{`max by (node_name) (gputally_spool_bytes @NODES) / max by (node_name) (gputally_spool_max_bytes @NODES)`, "{{node_name}}"}),
				ts("Records that no server has confirmed", number, 8, "alerts.md#gputallyspoolgrows", "Batches on the node's disk, one a minute or so. They wait for the server, and nothing is lost while they do.",
					query{`max by (node_name) (gputally_spool_unacknowledged_batches @NODES)`, "{{node_name}}"}),
				ts("Since the server last answered", seconds, 8, "alerts.md#gputallyshippinglag", "No series: it never did, or the agent has no server.",
					query{`time() - max by (node_name) (gputally_ship_last_success_timestamp_seconds @NODES)`, "{{node_name}}"}),
				ts("Failed deliveries", "cps", 12, "alerts.md#gputallyshippinglag", "Failed tries a second. Nothing is lost with them.",
					query{`sum by (node_name) (rate(gputally_ship_failures_total[$__rate_interval]) @NODES)`, "{{node_name}}"}),
				ts("Given up or refused", number, 12, "alerts.md#gputallyrecordslost", "Batches since the agent began. Each should stay 0: what was given up is billed as unmeasured, what was refused lies in refused/.",
					query{`sum by (node_name) (gputally_spool_dropped_batches_total @NODES)`, "given up {{node_name}}"}, query{`sum by (node_name) (gputally_ship_refused_batches_total @NODES)`, "refused {{node_name}}"}),
			}},
			{"The server", []panel{
				stat("Nodes that ever sent records", number, 6, "server.md", "Nodes in the ledger.", query{`sum(gputally_server_nodes)`, ""}),
				stat("Of them silent", number, 6, "alerts.md#gputallynodessilent", "Nodes of which nothing came for ten minutes. gputally status names them.", query{`sum(gputally_server_silent_nodes)`, ""}),
				stat("Newest record", seconds, 6, "server.md", "How long ago the newest window of any node ended.", query{`time() - max(gputally_server_last_record_timestamp_seconds)`, ""}),
				stat("Data on disk", gigabyte, 6, "alerts.md#gputallydiskfillsup", "What the data directory takes.", query{`sum(gputally_server_store_bytes)`, ""}),
				ts("Batches", "cps", 8, "server.md", "Batches of records a second: counted, and those that had been counted before (agents deliver at least once).",
					query{`sum(rate(gputally_server_batches_total[$__rate_interval]))`, "counted"}, query{`sum(rate(gputally_server_duplicate_batches_total[$__rate_interval]))`, "again"}),
				ts("Waiting to be written", number, 8, "server.md", "Rows that were taken and wait to be written. Where it stays high the disk is too slow.",
					query{`sum(gputally_server_queued_rows)`, "rows"}),
				ts("Failures", "cps", 8, "server.md#when-something-breaks", "Failures a second in writing, in keeping house, in rating, and in finding what workloads did. The server's log says why.",
					query{`sum(rate(gputally_server_write_errors_total[$__rate_interval]))`, "writing"}, query{`sum(rate(gputally_server_keeper_errors_total[$__rate_interval]))`, "keeping house"}, query{`sum(rate(gputally_rating_errors_total[$__rate_interval]))`, "rating"}, query{`sum(rate(gputally_activity_errors_total[$__rate_interval]))`, "finding what workloads did"}),
				ts("Hours that wait to be rated", number, 8, "alerts.md#gputallyratinglate", "Hours of nodes. Each hour waits a little for records that are late.",
					query{`sum(gputally_rating_due_hours)`, "waiting"}, query{`sum(gputally_rating_failed_hours)`, "could not be rated"}),
				ts("Since hours were last looked for", seconds, 8, "alerts.md#gputallyratingstands", "Grows while rating stands.",
					query{`time() - max(gputally_rating_last_round_timestamp_seconds)`, "ago"}),
				ts("Memory of the server", gigabyte, 8, "server.md", "Host memory of the server.",
					query{`sum by (instance) (process_resident_memory_bytes * on (job, instance) group_left () gputally_server_info)`, "{{instance}}"}),
			}},
		},
	}
}
