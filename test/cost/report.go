// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report is the table with the machine it is of.
func report(rows []row, o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured over %s after a warm-up of %s, on %d cores of %s, Linux %s, %s. Figures of this machine, while others used it too.\n\n",
		o.measure, o.warmUp, runtime.NumCPU(), model(), kernel(), runtime.Version())
	b.WriteString("| GPUs × processes | pods | interval | CPU, thousandths of a core | memory (RSS), MiB | of it its own, MiB | peak, MiB | a sample takes, ms | series |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d × %d | %d | %s | %.1f | %s | %s | %s | %.1f | %d |\n", r.gpus, r.pods*r.processes, r.gpus*r.pods,
			r.interval, r.cpu*1000, mebibytes(r.rss), mebibytes(r.anon), mebibytes(r.peak),
			float64(r.taken)/float64(time.Millisecond), r.series)
	}
	for _, r := range rows {
		if r.missed > 0 {
			fmt.Fprintf(&b, "\n%s: %d samples were left out because one took longer than the interval.\n", r.setting, r.missed)
		}
	}
	return b.String()
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f", float64(n)/mib) }

func selected(s setting, only string) bool { return strings.Contains(s.String(), only) }

func model() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown version"
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(text)), "-")
	return version
}
