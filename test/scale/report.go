// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report is the tables, under what they were measured on.
func (m *measured) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %d cores of %s, %s, with all of it on this one machine: control plane, kwok, %s agents' caches, %s nodes with %s GPUs, %s pods. The machine's load was %.1f before and %.1f after.\n",
		runtime.NumCPU(), model(), runtime.Version(), thousands(float64(m.nodes)), thousands(float64(m.nodes)), thousands(float64(m.nodes*gpusPerNode)), thousands(float64(m.pods)), m.load[0], m.load[1])
	b.WriteString("\n### What the agents ask of the API server\n\n| | took | requests | each node and minute | most in a second | received, each node |\n|---|---|---|---|---|---|\n")
	m.phase(&b, "all start at once, until every pod and owner is known", m.start, false)
	m.phase(&b, "at rest", m.rest, true)
	m.phase(&b, fmt.Sprintf("%s pods come and go, %d a second", thousands(float64(m.churned)), m.churnRate), m.churn, true)
	fmt.Fprintf(&b, "\nThe API server had %.0f MiB before the agents came, and %.0f MiB with them at rest. Requests for the objects of all nodes: none.\n", m.apiBefore.nowMiB, m.apiAfter.nowMiB)
	if !m.skipBreaks {
		b.WriteString("\n### When the API server breaks\n\n| | it was ready after | all agents in sync, after that | requests | most in a second |\n|---|---|---|---|---|\n")
		m.broken(&b, "killed, and started again", m.killed)
		m.broken(&b, "killed, its history compacted, 30 s later started again", m.compacted)
	}
	if m.server != nil {
		m.delivery(&b)
	}
	return b.String()
}

func (m *measured) phase(b *strings.Builder, name string, p phase, pace bool) {
	each := ""
	if pace {
		each = fmt.Sprintf("%.2f", float64(len(p.requests.requests()))/float64(m.nodes)/p.took.Minutes())
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %.1f KiB |\n", name, seconds(p.took), p.requests, each, p.requests.peak(), float64(p.bytes)/1024/float64(m.nodes))
}

func (m *measured) broken(b *strings.Builder, name string, x broken) {
	fmt.Fprintf(b, "| %s | %s | %s | %s | %d |\n", name, seconds(x.ready), seconds(x.recovered), x.requests, x.requests.peak())
}

func (m *measured) delivery(b *strings.Builder) {
	d := m.server
	total := 0
	var slowest time.Duration
	for i := range d.reviews {
		total += d.reviews[i]
		slowest = max(slowest, d.reports[i])
	}
	minutes := float64(len(d.reviews))
	b.WriteString("\n### The server, with `--kube-auth`\n\n| what | measured |\n|---|---|\n")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(b, "| %s | "+format+" |\n", append([]any{what}, args...)...)
	}
	row("every node is on the bill of the hour under way (`report --open`), after its first record is there", "%s", seconds(d.firstBill))
	row("an hour of every node delivered at once, taken, rated and booked, after that first record", "%s", seconds(d.rated))
	row("TokenReviews a minute, while every node delivers each minute", "%s: %.2f for each node; at most %d in a second", thousands(float64(total)/minutes), float64(total)/minutes/float64(m.nodes), d.peak)
	row("CPU of the API server for one TokenReview", "%.2f ms", float64(d.review.Microseconds())/1000)
	row("CPU of the server", "%s in a minute", seconds(d.busy))
	row("CPU of the API server in that time, with all that Kubernetes does itself", "%s in a minute", seconds(d.apiBusy))
	row("memory of the server, at most", "%.0f MiB", d.memory.peakMiB)
	row("the bill of an hour by node, the slowest of "+fmt.Sprint(len(d.reports)), "%s", seconds(slowest))
	row("windows delivered, all of them counted once", "%s", thousands(float64(d.batches)))
}

func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// thousands is a whole number with commas.
func thousands(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
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
