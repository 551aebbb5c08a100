// SPDX-License-Identifier: Apache-2.0

package top

import "strings"

// legend explains the characters of bars and figures, in a few lines.
func (v *View) legend(width int) []Line {
	g := v.Glyphs
	bar := []string{
		"bar:", "letter = its row below,", string(g.Used) + " used,", string(g.Estimated) + " used (estimate),", string(g.Reserved) + " reserved and unused,",
		string(g.Overhead) + " driver and daemons,", string(g.Unattributed) + " unattributed,", "blank free,", string(g.Leak) + " leak,",
		string(g.Stranded) + " stranded MIG slice,", string(g.Cut) + " MIG cut,", string(g.Nothing) + " not read",
	}
	figures := []string{
		"figures:", "no mark measured,", "= derived,", "~ estimated,", "* of the whole GPU, not divisible by holder,",
		"! skewed,", "? unmeasured,", g.Unknown + " unknown", "(never 0)",
	}
	var out []Line
	for _, items := range [][]string{bar, figures} {
		for i, l := range wrapItems(items, width) {
			if i > 0 {
				l = "  " + l
			}
			out = append(out, Line{styled("dim", l)})
		}
	}
	return out
}

// wrapItems breaks between items only.
func wrapItems(items []string, n int) []string {
	var out []string
	line := ""
	for _, item := range items {
		if line != "" && width(line)+1+width(item) > n-2 {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + item)
	}
	return append(out, line)
}

var helpKeys = [][2]string{
	{"s", "sort: gpu, memory, pod, sm (what is unknown comes last)"},
	{"g", "group: GPUs with their holders, or pods over all GPUs"},
	{"/", "filter by text: pod, namespace, node, GPU, model, mode, finding"},
	{"f", "findings only, with their evidence"},
	{"c", "compact: bars without rows"},
	{"arrows, j k", "scroll; page up, page down, space, home and end too"},
	{"esc", "back: closes this help, the findings, the filter"},
	{"q", "quit"},
}

var helpRows = [][2]string{
	{"host", "a process outside Kubernetes: a unit, a user, another engine"},
	{"daemon", "GPU infrastructure, such as the MPS server: a platform cost"},
	{"driver reserve", "kept by the driver for itself; no pod can have it"},
	{"unattributed", "used on the device, by nobody that can be named"},
	{"free", "the capacity less all of the above, never NVML's own figure"},
	{"RESERVED", "what a grant keeps from everyone else; none where a GPU is shared freely"},
	{"SM", "share of the time in which kernels of the holder ran: a signal, no price"},
}

// helpText is the page behind the ? key.
func (v *View) helpText(width int) []Line {
	out := []Line{{styled("title", "KEYS")}}
	out = append(out, table(helpKeys, width)...)
	out = append(out, Line{}, Line{styled("title", "READING THE TABLE")})
	out = append(out, table(helpRows, width)...)
	out = append(out, Line{})
	return append(out, v.legend(width)...)
}

func table(rows [][2]string, n int) []Line {
	const first = 16
	var out []Line
	for _, r := range rows {
		head := padRight(r[0], first)
		for _, l := range wrap(r[1], n-first-2) {
			out = append(out, Line{plain("  "), styled("bold", head), plain(l)})
			head = strings.Repeat(" ", first)
		}
	}
	return out
}
