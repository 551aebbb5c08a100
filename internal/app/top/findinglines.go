// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
)

// findingLines is the list of findings: two or three lines each, with their
// evidence where full is set.
func (v *View) findingLines(width int, full bool) []Line {
	found := v.findings()
	if len(found) == 0 {
		if full {
			return []Line{{plain("No findings.")}}
		}
		return nil
	}
	out := []Line{{styled("title", "FINDINGS")}}
	for _, f := range found {
		head := Line{plain("  "), styled(severityRole(f.Severity), padRight(strings.ToUpper(string(f.Severity)), 9)), styled("bold", string(f.Kind))}
		out = append(out, v.Glyphs.clip(append(head, plain("  "+v.subject(f))), width))
		for _, l := range wrap(f.Detail, width-11) {
			out = append(out, Line{plain(strings.Repeat(" ", 11) + l)})
		}
		if full {
			out = append(out, v.evidence(f, width)...)
		}
	}
	return out
}

func (v *View) evidence(f Found, width int) []Line {
	var out []Line
	if len(f.Victims) > 0 {
		out = append(out, indented("at the expense of "+strings.Join(f.Victims, ", "), width)...)
	}
	for _, e := range f.Evidence {
		out = append(out, indented("evidence: "+e, width)...)
	}
	return append(out, Line{})
}

func indented(text string, width int) []Line {
	var out []Line
	for _, l := range wrap(text, width-11) {
		out = append(out, Line{plain(strings.Repeat(" ", 11)), styled("dim", l)})
	}
	return out
}

func severityRole(s attribution.Severity) string {
	switch s {
	case attribution.Critical:
		return "alert"
	case attribution.Warning:
		return "warning"
	}
	return "dim"
}

// subject is whom a finding is about, and where.
func (v *View) subject(f Found) string {
	var parts []string
	if f.Holder.Kind != "" {
		parts = append(parts, nameOf(f.Holder))
	}
	if place := v.device(f); place != "" {
		parts = append(parts, place)
	}
	if f.Bytes != nil {
		parts = append(parts, thousands(*f.Bytes)+" MiB")
	}
	if f.Resource != "" && len(parts) == 0 {
		parts = append(parts, f.Resource)
	}
	if v.nodes() > 1 {
		parts = append(parts, "on "+f.Node)
	}
	return strings.Join(parts, v.Glyphs.Dot)
}

func (v *View) device(f Found) string {
	for _, b := range v.all {
		if b.Node != f.Node || f.Device != "" && f.Device != b.Device.ID.Device {
			continue
		}
		for _, p := range b.Parts {
			if p.ID.IsInstance() && f.Partition == p.ID.String() {
				return fmt.Sprintf("GPU %d gi %d", b.Device.Index, p.ID.Instance)
			}
		}
		if f.Device != "" || f.Partition == b.Device.ID.String() {
			return fmt.Sprintf("GPU %d", b.Device.Index)
		}
	}
	return ""
}
