// SPDX-License-Identifier: Apache-2.0

package ledgermetrics

import "github.com/prometheus/client_golang/prometheus"

// metric is one name.
type metric struct {
	name, kind, unit, help string
	labels                 []string
	desc                   *prometheus.Desc
}

var list []*metric

func add(kind, name, unit, help string, labels ...string) *metric {
	m := &metric{name: name, kind: kind, unit: unit, help: help, labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
	list = append(list, m)
	return m
}

func counter(name, unit, help string, labels ...string) *metric {
	return add("counter", name, unit, help, labels...)
}

func gauge(name, unit, help string, labels ...string) *metric {
	return add("gauge", name, unit, help, labels...)
}

var (
	serverInfo = gauge("gputally_server_info", "1", "Always 1; the label says which version runs.", "version")

	deliveries   = counter("gputally_server_deliveries_total", "1", "Deliveries of agents that were taken.")
	batches      = counter("gputally_server_batches_total", "1", "Batches of records that were counted.")
	duplicates   = counter("gputally_server_duplicate_batches_total", "1", "Batches that had been counted before: agents deliver at least once.")
	refused      = counter("gputally_server_refused_batches_total", "1", "Batches that break a rule, whoever sends them how often. Agents keep them aside.", "code")
	busy         = counter("gputally_server_busy_total", "1", "Deliveries that were told to come again.")
	queued       = gauge("gputally_server_queued_rows", "rows", "Rows that wait to be written.")
	writeErrors  = counter("gputally_server_write_errors_total", "1", "Writes to the store that failed. Agents send again.")
	checkpoints  = counter("gputally_server_checkpoints_total", "1", "Checkpoints: what was written before is safe from a lost log.")
	checkErrors  = counter("gputally_server_checkpoint_errors_total", "1", "Checkpoints that failed.")
	lastWrite    = gauge("gputally_server_last_write_timestamp_seconds", "seconds since 1970", "When records were last written.")
	storeBytes   = gauge("gputally_server_store_bytes", "bytes", "What the data directory takes on disk.")
	sealed       = counter("gputally_server_sealed_hours_total", "hours", "Hours of records that were moved to Parquet.")
	dropped      = counter("gputally_server_dropped_batches_total", "1", "Batches deleted at the end of their retention.")
	keeperErrors = counter("gputally_server_keeper_errors_total", "1", "Failures in moving or deleting old hours.")

	nodes      = gauge("gputally_server_nodes", "nodes", "Nodes that ever sent records.")
	silent     = gauge("gputally_server_silent_nodes", "nodes", "Nodes of which nothing came for ten minutes.")
	lastRecord = gauge("gputally_server_last_record_timestamp_seconds", "seconds since 1970", "End of the newest window of any node.")

	due        = gauge("gputally_rating_due_hours", "hours of nodes", "Hours of nodes that wait to be rated.")
	oldestDue  = gauge("gputally_rating_oldest_due_timestamp_seconds", "seconds since 1970", "The first of them. No series: none waits.")
	failed     = gauge("gputally_rating_failed_hours", "hours of nodes", "Hours of nodes that could not be rated; gputally status says why.")
	rated      = counter("gputally_rating_hours_total", "hours of nodes", "Hours of nodes that were rated, each time again.")
	booked     = counter("gputally_rating_lines_total", "lines", "Lines that were booked.")
	rateErrors = counter("gputally_rating_errors_total", "1", "Failures while rating.")
	lastRound  = gauge("gputally_rating_last_round_timestamp_seconds", "seconds since 1970", "When it was last looked for hours to rate.")

	cost = gauge("gputally_cost", "currency", "Cost of this month so far (span=month) or of the hour last rated (span=hour). For display: the ledger is exact, this is not. No series: no price is known.",
		costLabels...)
	gpuHours  = gauge("gputally_cost_gpu_hours", "GPU-hours", "Share of GPUs × time that the account was charged for.", costLabels...)
	allocated = gauge("gputally_cost_allocated_gpu_hours", "GPU-hours", "Of that, what workloads used or kept from others.", costLabels...)
	unused    = gauge("gputally_cost_unused_gpu_hours", "GPU-hours", "Of that, what grants kept from others and nobody used.", costLabels...)
	unpriced  = gauge("gputally_cost_unpriced_gpu_hours", "GPU-hours", "Of that, what has no price.", costLabels...)
	held      = gauge("gputally_cost_held_memory_gibibyte_hours", "GiB-hours", "GPU memory × time that workloads held.", costLabels...)
)

var (
	classHours = gauge("gputally_workload_class_hours", "partitions × hours", "How long pods had partitions in the last 24 hours that were looked at, by the class of the hour (docs/utilization.md). A class is no money.",
		"workload_cluster", "namespace", "class")
	activityHours  = counter("gputally_activity_hours_total", "hours of nodes", "Hours of nodes of which it was found what their workloads did.")
	activityErrors = counter("gputally_activity_errors_total", "1", "Failures while finding it.")
	adviceCount    = gauge("gputally_advice", "recommendations", "Workloads and kinds of change for which there is advice today, by what was said to it. Refusals are not counted.", "workload_cluster", "namespace", "kind", "state")
	adviceCash     = gauge("gputally_advice_cash", "currency", "By how much invoices of a month of 730 hours would fall by single changes that are advised: the first of each workload. Plans of clusters are not in it.", "workload_cluster", "namespace", "currency")
	adviceFreed    = gauge("gputally_advice_freed", "currency", "What these changes would free for others in a month, at what it costs. No invoice falls by it.", "workload_cluster", "namespace", "currency")
)

var costLabels = []string{"span", "workload_cluster", "class", "account", "resource", "currency"}
