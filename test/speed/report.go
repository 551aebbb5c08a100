// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// row is a row of the table.
type row struct {
	what, figures, aim string
	met                bool
}

// reported is a report beside the bare query.
func reported(r result) row {
	f := r.figures
	return row{
		what: r.name, aim: "p99 1 s, 1.5 × bare, 1 GiB", met: f["p99-ms"] < 1000 && f["of-bare"] <= 1.5 && f["peak-MiB"] < 1024,
		figures: fmt.Sprintf("mean %.0f ms, p99 %.0f ms; bare %.0f ms, %.2f × bare; %.0f MiB", f["ns/op"]/1e6, f["p99-ms"], f["bare-ms"], f["of-bare"], f["peak-MiB"]),
	}
}

// smallReported is one of a small ledger, where what every report costs is more than
// adding up a few lines.
func smallReported(r result) row {
	out := reported(r)
	out.aim, out.met = "mean 100 ms", r.figures["ns/op"] < 100e6
	return out
}

// perSecond is something that is done at a pace; without an aim any is right.
func perSecond(what, unit, aim string, least float64) func(result) row {
	return func(r result) row {
		return row{what: what, aim: aim, met: r.figures[unit] >= least, figures: fmt.Sprintf("%s %s, %.2f s", thousands(r.figures[unit]), unit, r.figures["ns/op"]/1e9)}
	}
}

// rated is an hour from records to lines.
func rated(r result) row {
	f := r.figures
	return row{what: "rated", aim: "5 s", met: f["ns/op"] < 5e9, figures: fmt.Sprintf("%.1f s, %.1f s of CPU; %s lines", f["ns/op"]/1e9, f["cpu-s"], thousands(f["lines"]))}
}

// thousands is a whole number with commas.
func thousands(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// report is the table, under what it was measured on.
func report(rows []row, before, after float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %d cores of %s, %s, the database with 2 threads and 512 MiB for reports. The machine's load was %.1f before and %.1f after.\n\n", runtime.NumCPU(), model(), runtime.Version(), before, after)
	b.WriteString("| what | measured | aim | met |\n|---|---|---|---|\n")
	for _, r := range rows {
		met := "yes"
		switch {
		case r.aim == "":
			met = ""
		case !r.met:
			met = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.figures, r.aim, met)
	}
	return b.String()
}

// load is how many threads ran or waited for a CPU in the last minute.
func load() (l float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &l) // 0 where the kernel does not tell
	}
	return l
}

func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // unreadable: the architecture
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
