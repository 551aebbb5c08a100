// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report is the table with the machine it is of.
func report(rows []row, o options) string {
	var b strings.Builder
	b.WriteString(intro(rows, o))
	b.WriteString("| GPUs × processes | pods | interval | CPU, thousandths of a core | in user mode + kernel | own memory, MiB | mapped files, MiB | RSS, MiB | peak, MiB | a sample takes, ms | series |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d × %d | %d | %s | %.1f | %.1f + %.1f | %s | %s | %s | %s | %.1f | %d |\n", r.gpus, r.pods*r.processes, r.gpus*r.pods,
			r.interval, r.cpu()*1000, r.user*1000, r.kernel*1000, mebibytes(r.anon), mebibytes(r.file), mebibytes(r.rss), mebibytes(r.peak),
			float64(r.taken)/float64(time.Millisecond), r.series)
	}
	for _, r := range rows {
		if r.missed > 0 {
			fmt.Fprintf(&b, "\n%s: %d samples were left out because one took longer than the interval.\n", r.setting, r.missed)
		}
		if r.failed > 0 {
			fmt.Fprintf(&b, "\n%s: %d samples had to do without /proc, which took too long.\n", r.setting, r.failed)
		}
	}
	return b.String()
}

// comparison is the table of two agents that ran at the same time.
func comparison(rows []row, o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s beside %s. ", o.agent, o.against)
	b.WriteString(intro(rows, o))
	b.WriteString("| setting | CPU, thousandths of a core | the other's | share | own memory, MiB | the other's | share | RSS, MiB | the other's | samples without /proc | the other's |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		a := r.against
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.2f | %s | %s | %.2f | %s | %s | %d | %d |\n", r.setting, r.cpu()*1000, a.cpu()*1000, r.cpu()/a.cpu(),
			mebibytes(r.anon), mebibytes(a.anon), float64(r.anon)/float64(a.anon), mebibytes(r.rss), mebibytes(a.rss), r.failed, a.failed)
	}
	return b.String()
}

// intro says how and where rows were measured.
func intro(rows []row, o options) string {
	var loads []float64
	for _, r := range rows {
		loads = append(loads, r.load)
	}
	if len(loads) == 0 {
		return "Nothing was measured.\n\n"
	}
	return fmt.Sprintf("Measured over %s after a warm-up of %s, on %s. Others used the machine too: its load was %.1f to %.1f.\n\n",
		o.measure, o.warmUp, machine(), slices.Min(loads), slices.Max(loads))
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f", float64(n)/mib) }

func selected(s setting, only string) bool { return strings.Contains(s.String(), only) }
