// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// sections makes the rows of each currency.
func (r *runner) sections() []Section {
	r.books.settle()
	of := r.byCurrency()
	var out []Section
	for _, c := range slices.Sorted(maps.Keys(of)) {
		s := Section{Currency: c}
		var total sums
		for _, g := range of[c] {
			total.plus(&g.sums)
		}
		s.Total = total.columns()
		s.Balance = r.books.balance(c)
		s.Rows = r.rows(of[c])
		out = append(out, s)
	}
	return out
}

// byCurrency is the rows that have something to say, by currency. What has no
// price goes to the only currency there is.
func (r *runner) byCurrency() map[money.Currency][]*group {
	of := map[money.Currency][]*group{}
	for _, g := range r.groups {
		if !g.nothing() {
			of[g.currency] = append(of[g.currency], g)
		}
	}
	for c, a := range r.books.assets {
		if *a != (asset{}) {
			of[c] = append(of[c], []*group{}...) // also where nothing was charged
		}
	}
	if len(of) != 2 || of[""] == nil {
		return of
	}
	for c := range of {
		if c != "" {
			of[c] = r.merge(of[c], of[""])
			delete(of, "")
		}
	}
	return of
}

// merge adds groups to those of the same row.
func (r *runner) merge(to, from []*group) []*group {
	have := map[string]*group{}
	for _, g := range to {
		have[g.time(r)+g.who(r)] = g
	}
	for _, g := range from {
		if same := have[g.time(r)+g.who(r)]; same != nil {
			same.plus(&g.sums)
		} else {
			to = append(to, g)
		}
	}
	return to
}
