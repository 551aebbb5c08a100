// SPDX-License-Identifier: Apache-2.0

package promexport

import "github.com/prometheus/client_golang/prometheus"

// Kind is a metric's type as OpenMetrics names it.
type Kind string

// The kinds in use. An info metric is a gauge that is always 1.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
	Info    Kind = "info"
)

// Stability says what users may rely on.
type Stability string

// Stable names, labels and meaning stay within a major version; those of
// Alpha may still change.
const (
	Stable Stability = "stable"
	Alpha  Stability = "alpha"
)

// Metric is one row of the list.
type Metric struct {
	Name      string
	Kind      Kind
	Unit      string
	Labels    []string
	Stability Stability
	// Series says how many there are on one node: docs/metrics.md explains P,
	// H, G, D, F, S.
	Series string
	Help   string

	desc *prometheus.Desc
}

// Label names. None of them is one that Prometheus or its usual relabelling
// sets itself (job, instance, namespace, pod, container, node, service,
// endpoint), so honorLabels makes no difference.
const (
	labelGPU       = "gpu_uuid"
	labelPartition = "partition"
	labelKind      = "holder_kind"
	labelNamespace = "workload_namespace"
	labelPod       = "workload_pod"
	labelContainer = "workload_container"
	labelUID       = "workload_uid"
	labelUnit      = "workload_unit"
	labelGrade     = "grade"
)

var (
	onDevice    = []string{labelGPU}
	onPartition = []string{labelGPU, labelPartition}
	ofHolder    = []string{labelGPU, labelPartition, labelKind, labelNamespace, labelPod, labelContainer, labelUID, labelUnit}
	ofPod       = []string{labelNamespace, labelPod, labelUID}
	ofEngine    = []string{labelNamespace, labelPod, labelContainer, labelUID}
)

func with(labels []string, more ...string) []string {
	return append(append([]string(nil), labels...), more...)
}

// The list of metrics, in the order of docs/metrics.md. To add one: a row
// here, a line in the collector, `make docs`.
var (
	memoryUsed = add(Metric{Name: "gputally_memory_used_bytes", Kind: Gauge, Unit: "bytes", Labels: with(ofHolder, labelGrade), Stability: Stable, Series: "H",
		Help: "GPU memory that one holder has on one partition now. Absent where the size is not known."})
	memoryByteSeconds = add(Metric{Name: "gputally_memory_byte_seconds_total", Kind: Counter, Unit: "byte seconds", Labels: ofHolder, Stability: Stable, Series: "H",
		Help: "GPU memory over time that one holder had on one partition since the agent began. Kept two minutes after the holder is gone."})
	memoryReserved = add(Metric{Name: "gputally_memory_reserved_bytes", Kind: Gauge, Unit: "bytes", Labels: with(onPartition, labelNamespace, labelPod, labelUID, "source", "resource", "mode"), Stability: Stable, Series: "G",
		Help: "GPU memory that a pod's grant keeps from everyone else. 0 under time-slicing, where a replica is a turn and no memory."})
	memoryLimit = add(Metric{Name: "gputally_memory_limit_bytes", Kind: Gauge, Unit: "bytes", Labels: with(onPartition, labelNamespace, labelPod, labelUID, "source", "resource", "mode"), Stability: Alpha, Series: "G",
		Help: "GPU memory that a pod may use by its grant. Absent where the grant sets no limit."})

	partitionInfo = add(Metric{Name: "gputally_partition_info", Kind: Info, Labels: with(onPartition, "index", "minor", "pci_bus_id", "model", "profile", "mig_uuid"), Stability: Stable, Series: "P",
		Help: "Names of a partition: a whole GPU or one MIG GPU instance. mig_uuid lists the MIG devices of the instance, comma-separated."})
	partitionState = add(Metric{Name: "gputally_partition_state", Kind: Info, Labels: with(onPartition, "state"), Stability: Stable, Series: "P",
		Help: "The state of a partition: ok, lost, hung, unreadable or not_supported. Only ok carries readings."})
	partitionCapacity = add(Metric{Name: "gputally_partition_memory_capacity_bytes", Kind: Gauge, Unit: "bytes", Labels: onPartition, Stability: Stable, Series: "P",
		Help: "Memory of a partition. Absent on GPUs without memory of their own."})
	partitionMemory = add(Metric{Name: "gputally_partition_memory_bytes", Kind: Gauge, Unit: "bytes", Labels: with(onPartition, "class", labelGrade), Stability: Stable, Series: "4 P",
		Help: "Memory of a partition by class: reserved (driver; absent where an old driver does not tell it, which is unattributed then), used (by named holders), unattributed (used, by nobody that can be named), free. The classes sum to the capacity."})
	sharingMode = add(Metric{Name: "gputally_partition_sharing_mode", Kind: Info, Labels: with(onPartition, "mode"), Stability: Stable, Series: "P",
		Help: "How a partition is shared: none, exclusive, time-slicing, mps, mig, shared-claim, fraction, or shared where nothing proves which."})
	replicas = add(Metric{Name: "gputally_partition_replicas", Kind: Gauge, Labels: onPartition, Stability: Stable, Series: "P",
		Help: "Number of ids under which a partition is offered. Absent where it is not known."})
	grants = add(Metric{Name: "gputally_partition_grants", Kind: Gauge, Labels: onPartition, Stability: Stable, Series: "P",
		Help: "Pods that are granted a partition. Absent while the kubelet's list cannot be read, or does not name all pods that run yet: grants of before then stand for the pods that are seen to run."})
	stranded = add(Metric{Name: "gputally_partition_stranded_memory_slices", Kind: Gauge, Labels: onPartition, Stability: Alpha, Series: "D",
		Help: "Memory slices of a GPU in MIG mode that no further instance could cover."})

	findings = add(Metric{Name: "gputally_findings", Kind: Gauge, Labels: []string{"kind"}, Stability: Stable, Series: "one per kind",
		Help: "Open findings by kind (docs/findings.md). Every kind has a series while NVML can be used."})
	findingInfo = add(Metric{Name: "gputally_finding_info", Kind: Info, Labels: with(ofHolder, "kind", "severity", "resource"), Stability: Alpha, Series: "F",
		Help: "One open finding: what it is about. Evidence is in /api/v1/node."})

	signal = add(Metric{Name: "gputally_signal_ratio", Kind: Gauge, Unit: "ratio", Labels: with(onPartition, "signal", labelGrade), Stability: Stable, Series: "up to 10 P",
		Help: "How hard a partition works: busy, memory_busy, engine_active, sm_active, sm_occupancy, tensor_active, dram_active, fp64_active, fp32_active, fp16_active. Grade indivisible: several holders share it."})
	pcie = add(Metric{Name: "gputally_pcie_bytes_per_second", Kind: Gauge, Unit: "bytes per second", Labels: with(onPartition, "direction", labelGrade), Stability: Alpha, Series: "up to 2 P",
		Help: "Traffic over PCIe to a partition (direction rx) and from it (tx). Without GPM it is what came in 20 ms, rx alone, and only while a process is there."})
	holderSM = add(Metric{Name: "gputally_holder_sm_ratio", Kind: Gauge, Unit: "ratio", Labels: with(ofHolder, labelGrade), Stability: Alpha, Series: "H",
		Help: "Share of time in which kernels of one holder ran, by NVML's samples. These do not add up to the GPU's busy ratio."})
	power = add(Metric{Name: "gputally_power_watts", Kind: Gauge, Unit: "watts", Labels: onDevice, Stability: Stable, Series: "D",
		Help: "Power that a GPU draws."})
	powerLimit = add(Metric{Name: "gputally_power_limit_watts", Kind: Gauge, Unit: "watts", Labels: onDevice, Stability: Stable, Series: "D",
		Help: "Power limit that is enforced on a GPU."})
	energy = add(Metric{Name: "gputally_energy_joules_total", Kind: Counter, Unit: "joules", Labels: onDevice, Stability: Stable, Series: "D",
		Help: "Energy that a GPU used since its driver was loaded."})
	temperature = add(Metric{Name: "gputally_temperature_celsius", Kind: Gauge, Unit: "celsius", Labels: onDevice, Stability: Stable, Series: "D",
		Help: "Temperature of a GPU."})
	smClock = add(Metric{Name: "gputally_sm_clock_hertz", Kind: Gauge, Unit: "hertz", Labels: onDevice, Stability: Stable, Series: "D",
		Help: "SM clock of a GPU."})
	clockReasons = add(Metric{Name: "gputally_clocks_event_reasons", Kind: Gauge, Labels: onDevice, Stability: Alpha, Series: "D",
		Help: "NVML's bit mask of what limits the clocks of a GPU now; 0 is nothing."})
	events = add(Metric{Name: "gputally_device_events_total", Kind: Counter, Labels: with(onDevice, "kind", "xid"), Stability: Stable, Series: "those seen",
		Help: "Events of a GPU since the agent began: xid, gpu_unavailable, recovery_action, driver_reload, mig_layout."})

	engineInfo = add(Metric{Name: "gputally_engine_info", Kind: Info, Labels: with(ofEngine, "engine", "model"), Stability: Alpha, Series: "E",
		Help: "An inference engine that answered the last look (docs/engines.md). model is empty where it serves several."})
	engineProblem = add(Metric{Name: "gputally_engine_problem", Kind: Info, Labels: with(ofEngine, "problem"), Stability: Alpha, Series: "up to E",
		Help: "Why the last look at an inference engine came to nothing. Absent where it answered."})
	enginePoolUse = add(Metric{Name: "gputally_engine_pool_used_ratio", Kind: Gauge, Unit: "ratio", Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "How much of the memory pool of an engine is in use, of its fullest rank. What is kept for reuse alone is not in use."})
	enginePoolBytes = add(Metric{Name: "gputally_engine_pool_bytes", Kind: Gauge, Unit: "bytes", Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Size of the memory pool of an engine, of its smallest rank, as the engine or an annotation says."})
	enginePoolTokens = add(Metric{Name: "gputally_engine_pool_tokens", Kind: Gauge, Unit: "tokens", Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Size of the memory pool of an engine in tokens, of its smallest rank."})
	engineLoaded = add(Metric{Name: "gputally_engine_loaded_bytes", Kind: Gauge, Unit: "bytes", Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "GPU memory of the models that an engine has loaded, where it loads and unloads them by itself (Ollama)."})
	engineRequests = add(Metric{Name: "gputally_engine_requests", Kind: Gauge, Labels: with(ofEngine, "state"), Stability: Alpha, Series: "2 E",
		Help: "Requests that an engine runs, or lets wait."})
	enginePreemptions = add(Metric{Name: "gputally_engine_preemptions_total", Kind: Counter, Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Requests that lost their place in the pool since the engine began, as it counts them."})
	enginePrefixHits = add(Metric{Name: "gputally_engine_prefix_cache_hits_total", Kind: Counter, Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Hits of the prefix cache since the engine began, in its own unit, that of the queries."})
	enginePrefixQueries = add(Metric{Name: "gputally_engine_prefix_cache_queries_total", Kind: Counter, Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Queries of the prefix cache since the engine began, in its own unit."})
	enginePrefixRate = add(Metric{Name: "gputally_engine_prefix_cache_hit_ratio", Kind: Gauge, Unit: "ratio", Labels: ofEngine, Stability: Alpha, Series: "E",
		Help: "Hit rate of the prefix cache of late, as an engine says that does not count."})

	podCPU = add(Metric{Name: "gputally_pod_cpu_seconds_total", Kind: Counter, Unit: "seconds", Labels: ofPod, Stability: Alpha, Series: "pods",
		Help: "CPU time of a pod since its cgroup began."})
	podMemory = add(Metric{Name: "gputally_pod_memory_working_set_bytes", Kind: Gauge, Unit: "bytes", Labels: ofPod, Stability: Alpha, Series: "pods",
		Help: "Host memory of a pod: in use, less inactive file cache."})

	nvmlInfo = add(Metric{Name: "gputally_nvml_info", Kind: Info, Labels: []string{"driver_version", "nvml_version", "cuda_version"}, Stability: Stable, Series: "1",
		Help: "Versions of the driver. Absent where NVML cannot be used."})
	sourceUp = add(Metric{Name: "gputally_source_up", Kind: Gauge, Labels: []string{"source"}, Stability: Stable, Series: "S",
		Help: "1 if the last read of a source succeeded, else 0."})
	sourceDuration = add(Metric{Name: "gputally_source_duration_seconds", Kind: Gauge, Unit: "seconds", Labels: []string{"source"}, Stability: Stable, Series: "S",
		Help: "How long the last read of a source took."})
	sourceStale = add(Metric{Name: "gputally_source_stale_seconds", Kind: Gauge, Unit: "seconds", Labels: []string{"source"}, Stability: Stable, Series: "S",
		Help: "How old a source's answer is; 0 when fresh."})
	sourceFailures = add(Metric{Name: "gputally_source_failures_total", Kind: Counter, Labels: []string{"source"}, Stability: Stable, Series: "S",
		Help: "Failed reads of a source since the agent began."})

	windows = add(Metric{Name: "gputally_windows_closed_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Windows of usage records closed since the agent began."})
	spoolBytes = add(Metric{Name: "gputally_spool_bytes", Kind: Gauge, Unit: "bytes", Stability: Stable, Series: "1",
		Help: "Size of the spool on disk."})
	spoolMaxBytes = add(Metric{Name: "gputally_spool_max_bytes", Kind: Gauge, Unit: "bytes", Stability: Stable, Series: "1",
		Help: "Size that the spool may have on disk."})
	spoolDepth = add(Metric{Name: "gputally_spool_unacknowledged_batches", Kind: Gauge, Stability: Stable, Series: "1",
		Help: "Batches on disk that no server has acknowledged."})
	spoolPending = add(Metric{Name: "gputally_spool_pending_batches", Kind: Gauge, Stability: Stable, Series: "1",
		Help: "Batches that wait in memory because the disk takes none."})
	spoolDropped = add(Metric{Name: "gputally_spool_dropped_batches_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Batches given up because the spool or the disk was full. Each is named in a gap record."})
	spoolWriteErrors = add(Metric{Name: "gputally_spool_write_errors_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Failed writes to the spool since the agent began."})
	spoolProblems = add(Metric{Name: "gputally_spool_problems", Kind: Gauge, Stability: Stable, Series: "1",
		Help: "Damaged stretches that were found when the spool was opened."})

	shipUp = add(Metric{Name: "gputally_ship_up", Kind: Gauge, Stability: Stable, Series: "1 with --server, as all of ship",
		Help: "1 if the server took or answered the last request, else 0. Absent before the first, and, as all of ship, without --server."})
	shipLastSuccess = add(Metric{Name: "gputally_ship_last_success_timestamp_seconds", Kind: Gauge, Unit: "seconds", Stability: Stable, Series: "1",
		Help: "When the server last took or answered a request, Unix time. Absent before the first."})
	shipSent = add(Metric{Name: "gputally_ship_sent_batches_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Batches that the server has accepted since the agent began; those it had already when sent again count, too."})
	shipDurable = add(Metric{Name: "gputally_ship_durable_batches_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Batches that the spool may forget since the agent began, because they are durable at the server, or kept aside."})
	shipRefused = add(Metric{Name: "gputally_ship_refused_batches_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Batches that the server refused for good since the agent began. They lie in refused/ in the spool's directory, with the reason, and are not billed."})
	shipWaiting = add(Metric{Name: "gputally_ship_waiting_batches", Kind: Gauge, Stability: Stable, Series: "1",
		Help: "Batches that the server has accepted and not yet made durable."})
	shipFailures = add(Metric{Name: "gputally_ship_failures_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Failed tries to ship since the agent began. Nothing is lost with them."})
	shipDamaged = add(Metric{Name: "gputally_ship_damaged_stretches_total", Kind: Counter, Stability: Alpha, Series: "1",
		Help: "Stretches of the spool that could not be read to be shipped."})
	shipLost = add(Metric{Name: "gputally_ship_lost_total", Kind: Counter, Stability: Alpha, Series: "1",
		Help: "How often the server no longer had what it had accepted, and got it again."})
	shipRewinds = add(Metric{Name: "gputally_ship_rewinds_total", Kind: Counter, Stability: Alpha, Series: "1",
		Help: "How often the server no longer had what had been durable (an older backup was restored), and got again what the spool still had."})

	agentInfo = add(Metric{Name: "gputally_agent_info", Kind: Info, Labels: []string{"version", "agent_id", "cluster", "node_name", "mode"}, Stability: Stable, Series: "1",
		Help: "The agent: its version, and the node it measures. mode is kubernetes or standalone."})
	interval = add(Metric{Name: "gputally_agent_interval_seconds", Kind: Gauge, Unit: "seconds", Stability: Stable, Series: "1",
		Help: "Time between two samples on average, as set."})
	samples = add(Metric{Name: "gputally_agent_samples_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Samples taken since the agent began."})
	missedTicks = add(Metric{Name: "gputally_agent_missed_ticks_total", Kind: Counter, Stability: Stable, Series: "1",
		Help: "Samples left out because the one before took longer than the interval."})
	lastSample = add(Metric{Name: "gputally_agent_last_sample_timestamp_seconds", Kind: Gauge, Unit: "seconds", Stability: Stable, Series: "1",
		Help: "When the last sample was taken, Unix time."})
	sampleDuration = add(Metric{Name: "gputally_agent_sample_duration_seconds", Kind: Gauge, Unit: "seconds", Stability: Stable, Series: "1",
		Help: "How long the last sample took, from the first read to the published picture."})
	busy = add(Metric{Name: "gputally_agent_sampling_seconds_total", Kind: Counter, Unit: "seconds", Stability: Stable, Series: "1",
		Help: "Time spent sampling since the agent began, waiting for sources included."})
)

var list []*Metric

func add(m Metric) *Metric {
	m.desc = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	list = append(list, &m)
	return &m
}

// Metrics is the list.
func Metrics() []Metric {
	out := make([]Metric, len(list))
	for i, m := range list {
		out[i] = *m
	}
	return out
}
