// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// filter keeps the GPUs and holders in which a text occurs. A GPU that matches
// itself keeps all its holders; of another, the holders that do not match are
// put together in one row, so that its sum still holds.
func filter(blocks []Block, text string) []Block {
	if text == "" {
		return blocks
	}
	text = strings.ToLower(text)
	var out []Block
	for _, b := range blocks {
		if b.matches(text) || b.narrow(text) {
			out = append(out, b)
		}
	}
	return out
}

func (b Block) matches(text string) bool {
	d := b.Device
	fields := []string{b.Node, string(d.ID.Device), fmt.Sprintf("gpu %d", d.Index), d.Model, string(d.Mode), string(d.State)}
	for _, p := range b.Parts {
		fields = append(fields, p.Profile, string(p.Mode))
		for _, n := range p.Names {
			fields = append(fields, string(n))
		}
	}
	return anyContains(text, fields...)
}

// narrow puts the holders without the text together; false if none has it.
func (b *Block) narrow(text string) bool {
	found := false
	parts := make([]Part, len(b.Parts))
	for i, p := range b.Parts {
		others := Row{Kind: KindOthers, Grade: gpu.Measured}
		hidden := 0
		var rows []Row
		for _, r := range p.Rows {
			switch {
			case r.Kind >= KindReserve:
				rows = append(rows, r)
			case r.matches(text):
				rows, found = append(rows, r), true
			default:
				hidden++
				others.take(r)
			}
		}
		if hidden > 0 {
			others.Name = fmt.Sprintf("(%s not shown)", count(hidden, "other holder"))
			rows = append(rows, others)
		}
		p.Rows = rows
		parts[i] = p
	}
	b.Parts = parts
	return found
}

func (r Row) matches(text string) bool {
	return anyContains(text, append([]string{r.Name, r.Container, r.Source}, r.Notes...)...)
}

// take adds a row to one of several together.
func (r *Row) take(o Row) {
	r.keep += o.keep
	r.Grade = worse(r.Grade, o.Grade)
	switch {
	case o.Bytes == nil:
		r.Grade = gpu.Unmeasured
	case r.Bytes == nil:
		sum := *o.Bytes
		r.Bytes = &sum
	default:
		*r.Bytes += *o.Bytes
	}
}

// worse is the grade of a sum of two figures. No grade is better than any.
func worse(a, b gpu.Grade) gpu.Grade {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

func filterFindings(findings []Found, text string) []Found {
	if text == "" {
		return findings
	}
	text = strings.ToLower(text)
	var out []Found
	for _, f := range findings {
		if f.matches(text) {
			out = append(out, f)
		}
	}
	return out
}

// Found is a finding with its node.
type Found struct {
	Node string
	attribution.Finding
}

func (f Found) matches(text string) bool {
	fields := []string{f.Node, string(f.Kind), string(f.Severity), f.Holder.Account(), f.Holder.Unit, f.Partition, string(f.Device), f.Detail}
	return anyContains(text, append(fields, f.Victims...)...)
}

func anyContains(text string, fields ...string) bool {
	for _, f := range fields {
		if strings.Contains(strings.ToLower(f), text) {
			return true
		}
	}
	return false
}
