// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed zh.txt
var chinese string

const docsIntro = `# Metrics of gputally-agent

[中文](zh/metrics.md)

<!-- Made by "make docs" from the list in internal/adapter/promexport. Do not edit. -->

Served on ` + "`/metrics`" + ` as Prometheus text, or as OpenMetrics to a scraper that asks for it. All series of one
scrape are of the same sample.

- **Unknown has no series.** It is never 0. ` + "`gputally_partition_state`" + ` says why readings of a GPU are absent, and
  ` + "`gputally_source_up`" + ` which source fails.
- **Grades.** A figure's ` + "`grade`" + ` says how far it can be trusted: measured, derived (exact by subtraction), estimated,
  indivisible (a device's signal that several holders share), skewed, unmeasured. When a grade changes, another series begins.
- **Who.** A holder is named by ` + "`holder_kind`" + ` (pod, daemon, host, unknown), ` + "`workload_namespace`, `workload_pod`,\n  `workload_container`, `workload_uid`" + ` (a name can be used again, a UID cannot), and for what runs outside of pods ` + "`workload_unit`" + `.
- **honorLabels.** No label is called namespace, pod, container, node, job, instance, service or endpoint, so the scraper's
  own labels never collide and no ` + "`exported_*`" + ` appears, whether honorLabels is on or off. Who wants the usual names in a query
  writes ` + "`label_replace(X, \"namespace\", \"$1\", \"workload_namespace\", \"(.*)\")`" + `; who wants them stored, in the scrape configuration
  under metric_relabel_configs: ` + "`{source_labels: [workload_namespace], regex: (.+), target_label: namespace}`" + `. That overwrites the
  agent's own namespace.
- **Which partition.** ` + "`partition`" + ` is ` + "`whole`" + `, or ` + "`gi7@1764600000000`" + `: the MIG GPU instance id and since when it was seen
  (Unix milliseconds), because ids are used again. ` + "`gputally_partition_info`" + ` has the other names; join on gpu_uuid and partition.
- **When a holder goes**, its series go with the next sample. Its counter ` + "`gputally_memory_byte_seconds_total`" + ` stays for two minutes
  more (three intervals, if that is longer), so that the last value is scraped. Counters begin at 0 when the agent does.
- **Bytes add up.** For each partition the classes of ` + "`gputally_partition_memory_bytes`" + ` sum to its capacity, and the used class is
  the sum of ` + "`gputally_memory_used_bytes`" + ` over its holders but those of holder_kind unknown, whose bytes are unattributed.
- **The agent's own cost** is in ` + "`process_*` and `go_*`" + `, as the Prometheus client gives them; ` + "`promhttp_metric_handler_errors_total`" + ` counts
  series that could not be shown.

## How many series

On one node with D GPUs, P partitions (P = D, plus the MIG instances), H holders over all partitions (a container counts once on each
partition it holds memory on), G grants, F open findings, S sources (6, or 3 in standalone), N pods, and E inference engines that are looked at:

    about 70 + 22 P + 6 D + 3 H + 2 G + F + 4 S + 2 N + 9 E

8 GPUs, each shared by 8 pods: 8 P, 64 H, 64 G, 20 F, 70 N: about 800 where all signals are read. A relabelling rule that drops ` + "`gputally_pod_.*`" + ` takes the 2 N away.
Every new pod brings new series, since a pod's UID is a label.

## The list

`

// WriteDocs prints docs/metrics.md, or its Chinese side.
func WriteDocs(w io.Writer, lang string) error {
	c, err := translation.For(lang, chinese)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(c.Text(docsIntro))
	b.WriteString(c.Text("| metric | type | unit | labels | series | stability |\n|---|---|---|---|---|---|\n"))
	for _, m := range list {
		fmt.Fprintf(&b, "| `%s`<br>%s | %s | %s | %s | %s | %s |\n",
			m.Name, c.Say(m.Help), m.Kind, c.Say(m.Unit), strings.Join(m.Labels, ", "), c.Say(m.Series), m.Stability)
	}
	return c.Print(w, b.String())
}
