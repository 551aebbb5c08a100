// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// sum is an exact sum of amounts; one that nobody knows is none.
type sum struct {
	money.Sum
	known bool
}

func (s *sum) add(n *money.Nano) {
	if n != nil {
		s.Add(*n)
		s.known = true
	}
}

func (s sum) plus(o sum) sum {
	s.AddSum(o.Sum)
	s.known = s.known || o.known
	return s
}

func (s sum) text() string {
	if !s.known {
		return ""
	}
	return s.String()
}

// bill prints what each piece of each hour cost, and to whom.
func (p *printer) bill(r Report) {
	if r.Hours == nil {
		return
	}
	p.line("")
	p.line("COST by policy %s", r.Policy)
	var all []billSum
	pieces := 0
	for i := range r.Hours {
		h := &r.Hours[i]
		for k := range h.Costs {
			c := &h.Costs[k]
			b := billSum{currency: string(c.Currency)}
			if c.Priced {
				b.cost.add(&c.Total)
			}
			for j := range h.Entries {
				if e := &h.Entries[j]; e.StartMS == c.StartMS {
					b.add(e)
				}
			}
			p.line("")
			p.piece(c)
			p.shares(b)
			all = addBill(all, h, c, b)
			pieces++
		}
	}
	if pieces > len(all) {
		for _, b := range all {
			p.line("")
			p.line("  %s together", count(pieces, "piece"))
			p.shares(b)
		}
	}
}

// addBill adds a piece to the sum of its currency.
func addBill(all []billSum, h *Hour, c *pricing.NodeCost, b billSum) []billSum {
	at := slices.IndexFunc(all, func(s billSum) bool { return s.currency == b.currency })
	if at < 0 {
		return append(all, billSum{currency: b.currency, cost: b.cost, shares: slices.Clone(b.shares)})
	}
	s := &all[at]
	s.cost = s.cost.plus(b.cost)
	for j := range h.Entries {
		if e := &h.Entries[j]; e.StartMS == c.StartMS {
			s.add(e)
		}
	}
	return all
}

// piece says when, how much, and by which price.
func (p *printer) piece(c *pricing.NodeCost) {
	head := fmt.Sprintf("  %s for %s: ", time.UnixMilli(c.StartMS).UTC().Format("2006-01-02T15:04:05Z"), span(c.DurationMS))
	if !c.Priced {
		p.wrapped(head+"no price: ", c.Reason)
		return
	}
	text := fmt.Sprintf("%s %s an hour, %s by %s row %s, split %s", c.Basis.Hourly, c.Currency, c.Basis.Grade, c.Basis.Source, c.Basis.Row, c.Basis.Split)
	p.wrapped(head, text)
	for _, note := range c.Basis.Notes {
		p.wrapped("    note: ", note)
	}
}

// billRow is a line of the table. Amounts are exact.
const billRow = "  %-24s %8s %14s %14s %14s"

func (p *printer) shares(b billSum) {
	p.line(billRow, "", "GPU-h", "GPUs", "CPU + memory", "total "+b.currency)
	var total billSum
	ms := int64(0)
	for _, s := range b.sorted() {
		p.line(billRow, shorten(s.name, 24), gpuHours(s.gpuMS), s.gpus.text(), s.beside.text(), s.gpus.plus(s.beside).text())
		total.cost = total.cost.plus(s.gpus).plus(s.beside)
		ms += s.gpuMS
	}
	switch {
	case !b.cost.known:
		p.line(billRow, "total", gpuHours(ms), "", "", "unknown")
	case b.cost.Cmp(total.cost.Sum) == 0:
		p.line(billRow, "total ✓ = cost", gpuHours(ms), "", "", total.cost.text())
	default:
		p.line(billRow, "total ✗ cost is "+b.cost.text(), gpuHours(ms), "", "", total.cost.text())
	}
}

func gpuHours(ms int64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", float64(ms)/hourMS)
}
