// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Balance sets a section's total beside what the nodes cost.
type Balance struct {
	// Assets is what the nodes cost in the time of the report, nil where nobody
	// knows. Total − Assets is the sum of Differences.
	Assets *money.Sum
	// Differences name why the total is another: each by what it adds.
	Differences []Difference
}

// Difference is a named part of the difference between total and assets.
type Difference struct {
	Name   string
	Amount money.Sum
	// Detail says more, such as which hour is the first.
	Detail string
}

// The names of differences, in their order.
const (
	DiffDrift        = "reconciliation"
	DiffOtherMonths  = "corrections of other months"
	DiffLater        = "booked in other months"
	DiffCharges      = "adjustments and corrections left out"
	DiffFiltered     = "filtered out"
	DiffUnrated      = "not rated yet"
	DiffOutOfBalance = "out of balance"
)

// reason is why a line is or is not in the total.
type reason int

const (
	included reason = iota
	elsewhere
	notCharges
	filtered
)

// books follow, for each node's hour, what it cost and what was charged for it.
type books struct {
	from, to int64
	known    bool
	hours    map[bookKey]*bookHour
	last     bookKey
	lastHour *bookHour
	assets   map[money.Currency]*asset
}

// bookKey is a node's hour in one currency.
type bookKey struct {
	ledger.NodeHour
	currency money.Currency
}

type bookHour struct {
	over  money.Sum // charged − cost
	lines bool
}

// asset is what the nodes cost in one currency, and what sets the total apart
// from it: each by what it adds.
type asset struct {
	cost                                   money.Sum
	drift, other, later, charges, filtered money.Sum
	unrated, off                           OddHours
}

func (b *books) of(c money.Currency) *asset {
	a := b.assets[c]
	if a == nil {
		a = &asset{}
		b.assets[c] = a
	}
	return a
}

// hour is the hour of a key. Lines of one hour often follow one another.
func (b *books) hour(k bookKey) *bookHour {
	if b.lastHour != nil && b.last == k {
		return b.lastHour
	}
	h := b.hours[k]
	if h == nil {
		h = &bookHour{}
		b.hours[k] = h
	}
	b.last, b.lastHour = k, h
	return h
}

// line takes a line: charged, if it is for an hour of the report.
func (b *books) line(l *ledger.Line, charged bool, why reason, view View) {
	if !b.known || l.Amount == nil {
		return
	}
	a := b.of(l.Currency)
	switch {
	case l.IsDrift() || !charged:
		if why == included {
			a.add(l, amount(l, view, 1))
		}
	default:
		h := b.hour(bookKey{l.NodeHour, l.Currency})
		h.lines = true
		h.over.AddSum(amount(l, view, 1))
		a.leave(l, why, view)
	}
}

// add takes a line that is in the total and for no hour of the report.
func (a *asset) add(l *ledger.Line, n money.Sum) {
	if l.IsDrift() {
		a.drift.AddSum(n)
	} else {
		a.other.AddSum(n)
	}
}

// leave takes a line that is for an hour of the report, and maybe not in the
// total.
func (a *asset) leave(l *ledger.Line, why reason, view View) {
	switch n := amount(l, view, -1); why {
	case elsewhere:
		a.later.AddSum(n)
	case notCharges:
		a.charges.AddSum(n)
	case filtered:
		a.filtered.AddSum(n)
	}
}

// cost takes what a node cost in a piece of an hour.
func (b *books) cost(c *pricing.NodeCost) {
	if c.StartMS < b.from || c.StartMS >= b.to || !c.Priced {
		return
	}
	b.of(c.Currency).cost.Add(c.Total)
	start := c.StartMS - c.StartMS%hourMS
	b.hour(bookKey{ledger.NodeHour{Cluster: c.Cluster, Node: c.Node, HourMS: start}, c.Currency}).over.Add(-c.Total)
}

// settle finds the hours that do not balance.
func (b *books) settle() {
	for k, h := range b.hours {
		switch {
		case h.over == money.Sum{}:
		case h.lines:
			b.of(k.currency).off.Add(k.NodeHour, h.over)
		default:
			b.of(k.currency).unrated.Add(k.NodeHour, h.over)
		}
	}
	b.hours, b.lastHour = nil, nil
}

// balance is the balance of a currency, after settle.
func (b *books) balance(c money.Currency) (out Balance) {
	a := b.assets[c]
	if a == nil {
		return out
	}
	out.Assets = &a.cost
	add := func(name string, n money.Sum, detail string) {
		if n != (money.Sum{}) {
			out.Differences = append(out.Differences, Difference{name, n, detail})
		}
	}
	add(DiffDrift, a.drift, "")
	add(DiffOtherMonths, a.other, "")
	add(DiffLater, a.later, "")
	add(DiffCharges, a.charges, "")
	add(DiffFiltered, a.filtered, "")
	add(DiffUnrated, a.unrated.Over, a.unrated.String())
	add(DiffOutOfBalance, a.off.Over, a.off.String()+": check the ledger")
	return out
}
