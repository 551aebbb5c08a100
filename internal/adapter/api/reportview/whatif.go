// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

// WhatIf sets a report as it was booked and as variants would have it side by
// side.
func WhatIf(w *v1.WhatIf) string {
	var b strings.Builder
	fmt.Fprintf(&b, "What if: %s\n%s\n", title(&w.Booked), terms(&w.Booked))
	for _, v := range w.Variants {
		fmt.Fprintf(&b, "  %s: policy %s, split %s\n", Plain(v.Name), orElse(Plain(v.Policy), "as in force"), orElse(Plain(v.Split), "as in force"))
	}
	if w.Missing > 0 {
		fmt.Fprintf(&b, "OF %s HAVE NO RECORDS ANY MORE: they are in what was booked and in no variant.\n", strings.ToUpper(count(w.Hours, "hour of a node,", "hours of nodes,"))+" "+whole(w.Missing))
	}
	for _, currency := range currencies(w) {
		b.WriteString("\n")
		if currency == "" {
			fmt.Fprintf(&b, "WITHOUT A PRICE: %s. No amount here has them.\n", unpriced(&section(&w.Booked, "").Unpriced))
			continue
		}
		sideBySide(&b, w, currency)
	}
	b.WriteString("\nNothing was changed. In brackets: the difference from what was booked.\n")
	return b.String()
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// currencies are those in which anything was charged, and "" where what was
// booked has something without a price.
func currencies(w *v1.WhatIf) (out []string) {
	reports := []*v1.Report{&w.Booked}
	for i := range w.Variants {
		reports = append(reports, &w.Variants[i].Report)
	}
	for _, r := range reports {
		for _, s := range r.Sections {
			if s.Total.Lines > 0 && (s.Currency != "" || r == &w.Booked) && !slices.Contains(out, s.Currency) {
				out = append(out, s.Currency)
			}
		}
	}
	slices.Sort(out)
	return out
}

// sideBySide is one currency: a column for each variant.
func sideBySide(b *strings.Builder, w *v1.WhatIf, currency string) {
	by := w.Booked.By
	reports, heads := []*v1.Report{&w.Booked}, []string{"BOOKED"}
	for i := range w.Variants {
		reports, heads = append(reports, &w.Variants[i].Report), append(heads, Plain(w.Variants[i].Name))
	}
	var columns []column
	for _, d := range by {
		columns = append(columns, left(heading(d)))
	}
	if len(by) == 0 {
		columns = append(columns, left(""))
	}
	for i, h := range heads {
		columns = append(columns, right(strings.TrimSpace(h+" "+currency)))
		if i > 0 {
			columns = append(columns, right(""))
		}
	}
	g := newGrid(columns...)
	places := placesOf(reports, currency)
	if len(by) > 0 {
		for _, row := range union(reports, currency, by) {
			g.add(append(row.names, versus(row.costs, places)...)...)
		}
		g.rule()
	}
	first := make([]string, max(len(by), 1))
	first[0] = "TOTAL"
	var totals []*money.Sum
	for _, r := range reports {
		totals = append(totals, totalOf(r, currency))
	}
	g.add(append(first, versus(totals, places)...)...)
	g.text(b)
}

func section(r *v1.Report, currency string) *v1.Section {
	for i := range r.Sections {
		if r.Sections[i].Currency == currency {
			return &r.Sections[i]
		}
	}
	return nil
}

func totalOf(r *v1.Report, currency string) *money.Sum {
	s := section(r, currency)
	if s == nil || s.Total.Cost == nil {
		return nil
	}
	return &s.Total.Cost.Total
}

func placesOf(reports []*v1.Report, currency string) int {
	var largest money.Sum
	for _, r := range reports {
		if t := totalOf(r, currency); t != nil && t.Cmp(largest) > 0 {
			largest = *t
		}
	}
	return places(largest)
}

// joined is a row of several reports.
type joined struct {
	names []string
	costs []*money.Sum
}

// union is the rows of all reports, in the order of the first that has them.
func union(reports []*v1.Report, currency string, by []string) []*joined {
	var out []*joined
	index := map[string]*joined{}
	for n, r := range reports {
		s := section(r, currency)
		if s == nil {
			continue
		}
		for i := range s.Rows {
			row := &s.Rows[i]
			of := names(row, by)
			key := row.Class + "\x00" + row.Account
			for _, d := range by {
				key += "\x00" + row.Keys[d]
			}
			j := index[key]
			if j == nil {
				j = &joined{names: of, costs: make([]*money.Sum, len(reports))}
				index[key] = j
				out = append(out, j)
			}
			if row.Cost != nil {
				j.costs[n] = &row.Cost.Total
			}
		}
	}
	return out
}

// versus is costs, each but the first with its difference from the first. A row
// that a report does not have is "-".
func versus(costs []*money.Sum, places int) []string {
	var out []string
	for i, c := range costs {
		text := "-"
		if c != nil {
			text = amount(*c, places)
		}
		out = append(out, text)
		if i == 0 {
			continue
		}
		out = append(out, difference(costs[0], c, places))
	}
	return out
}

func difference(booked, c *money.Sum, places int) string {
	var d money.Sum
	if c != nil {
		d = *c
	}
	if booked != nil {
		d.AddSum(booked.Neg())
	}
	if d == (money.Sum{}) {
		return "(=)"
	}
	return "(" + signed(d, places) + ")"
}
