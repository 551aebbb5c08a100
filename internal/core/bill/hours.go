// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

const hourMS = 3_600_000

// Hour is what one machine costs in one UTC hour by the bill, in one currency.
type Hour struct {
	Instance     Instance       `json:"instance"`
	InstanceType string         `json:"instance_type,omitempty"`
	StartMS      int64          `json:"start_ms"`
	Currency     money.Currency `json:"currency"`
	// Effective is the machine's amortised cost: the sum of those Parts that
	// belong to a machine. Beside is the sum of the others: traffic, disks.
	Effective money.Nano `json:"effective"`
	Beside    money.Nano `json:"beside"`
	// List is Effective at list prices; nil where a line does not tell it.
	List  *money.Nano `json:"list,omitempty"`
	Parts []PartCost  `json:"parts"`
	// SpanMS is the longest charge period among the lines. More than an hour
	// says that the bill does not tell the hours: its cost was spread evenly.
	SpanMS int64 `json:"span_ms"`
	// OfSet is the scale set whose cost this is a share of.
	OfSet Instance `json:"of_set,omitempty"`
	// Sources are the sources of the lines, sorted. Two of them bill the same
	// machine twice, unless each tells a part of its own.
	Sources []string `json:"sources"`
	// Lines are where it comes from, in the order they were read.
	Lines []Row `json:"lines"`
}

// PartCost is one part of an hour.
type PartCost struct {
	Part      Part        `json:"part"`
	Effective money.Nano  `json:"effective"`
	List      *money.Nano `json:"list,omitempty"`
}

// Where says what became of a line.
type Where string

// Where lines go. Only OfHours are in hours; Repeated ones are no money of
// their own, and the sum of all others is the bill.
const (
	OfHours  Where = "hours"
	Apart    Where = "apart"      // a category that is never spread: tax, credit, support, …
	Elsewhat Where = "no_machine" // usage of what is no machine: a bucket, a volume
	Repeated Where = "repeated"   // a provider's split-cost line
)

// Total sums the lines of one category that went to one place.
type Total struct {
	Category  Category       `json:"category"`
	Where     Where          `json:"where"`
	Currency  money.Currency `json:"currency"`
	Lines     int64          `json:"lines"`
	Effective money.Sum      `json:"-"`
}

// Hours gathers lines into hours, one line at a time, so that a bill need not
// fit into memory. The zero value is empty.
type Hours struct {
	hours  map[hourKey]*gathered
	totals map[totalKey]*Total
}

type hourKey struct {
	instance Instance
	startMS  int64
	currency money.Currency
}

type totalKey struct {
	category Category
	where    Where
	currency money.Currency
}

type gathered struct {
	instanceType string
	spanMS       int64
	parts        map[Part]*partSum
	rows         []Row
	sources      []string
}

type partSum struct {
	effective, list money.Sum
	listUnknown     bool
}

// place decides what becomes of a line.
func (l *Line) place() Where {
	switch {
	case l.SplitOf != "":
		return Repeated
	case l.Category != Usage:
		return Apart
	case l.Instance == "":
		return Elsewhat
	}
	return OfHours
}

// Add takes a line in. A line that spans several hours is divided over them in
// proportion to the time it has in each, to the last billionth.
func (h *Hours) Add(l *Line) error {
	if err := l.Check(); err != nil {
		return err
	}
	where := l.place()
	h.total(l, where)
	if where != OfHours {
		return nil
	}
	first, weights := hoursOf(l.StartMS, l.EndMS)
	effective, err := money.ApportionInts(l.Effective, weights...)
	if err != nil {
		return fmt.Errorf("bill line at %s: %w", l.Row, err)
	}
	var list []money.Nano
	if l.List != nil {
		if list, err = money.ApportionInts(*l.List, weights...); err != nil {
			return fmt.Errorf("bill line at %s: list cost: %w", l.Row, err)
		}
	}
	for n := range weights {
		g := h.at(hourKey{l.Instance, first + int64(n)*hourMS, l.Currency})
		g.instanceType = cmp.Or(g.instanceType, l.InstanceType)
		g.spanMS = max(g.spanMS, l.EndMS-l.StartMS)
		g.rows = append(g.rows, l.Row)
		if at, found := slices.BinarySearch(g.sources, l.Source); !found {
			g.sources = slices.Insert(g.sources, at, l.Source)
		}
		p := g.part(l.Part)
		p.effective.Add(effective[n])
		if list == nil {
			p.listUnknown = true
		} else {
			p.list.Add(list[n])
		}
	}
	return nil
}

// hoursOf is the start of the first UTC hour that the period touches, and the
// milliseconds it has in that hour and each one after. A period without length
// belongs to the hour it stands in.
func hoursOf(startMS, endMS int64) (firstMS int64, weights []int64) {
	firstMS = floorHour(startMS)
	if endMS <= firstMS+hourMS {
		return firstMS, []int64{1}
	}
	for at := firstMS; at < endMS; at += hourMS {
		weights = append(weights, min(endMS, at+hourMS)-max(startMS, at))
	}
	return firstMS, weights
}

func floorHour(ms int64) int64 {
	into := ms % hourMS
	if into < 0 {
		into += hourMS
	}
	return ms - into
}

func (h *Hours) total(l *Line, where Where) {
	k := totalKey{l.Category, where, l.Currency}
	t := h.totals[k]
	if t == nil {
		t = &Total{Category: l.Category, Where: where, Currency: l.Currency}
		if h.totals == nil {
			h.totals = map[totalKey]*Total{}
		}
		h.totals[k] = t
	}
	t.Lines++
	t.Effective.Add(l.Effective)
}

func (h *Hours) at(k hourKey) *gathered {
	g := h.hours[k]
	if g == nil {
		g = &gathered{parts: map[Part]*partSum{}}
		if h.hours == nil {
			h.hours = map[hourKey]*gathered{}
		}
		h.hours[k] = g
	}
	return g
}

func (g *gathered) part(p Part) *partSum {
	if p == "" {
		p = Other
	}
	s := g.parts[p]
	if s == nil {
		s = &partSum{}
		g.parts[p] = s
	}
	return s
}

// Result is the hours by instance, time and currency, and the totals by
// category. The totals' sum, the repeated lines left out, is the bill.
func (h *Hours) Result() ([]Hour, []Total, error) {
	hours := make([]Hour, 0, len(h.hours))
	for k, g := range h.hours {
		hour, err := g.hour(k)
		if err != nil {
			return nil, nil, err
		}
		hours = append(hours, hour)
	}
	slices.SortFunc(hours, compareHours)
	totals := make([]Total, 0, len(h.totals))
	for _, k := range slices.SortedFunc(maps.Keys(h.totals), compareTotals) {
		totals = append(totals, *h.totals[k])
	}
	return hours, totals, nil
}

func compareHours(a, b Hour) int {
	return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.StartMS, b.StartMS), cmp.Compare(a.Currency, b.Currency))
}

func compareTotals(a, b totalKey) int {
	order := Categories()
	return cmp.Or(cmp.Compare(slices.Index(order, a.category), slices.Index(order, b.category)),
		cmp.Compare(a.where, b.where), cmp.Compare(a.currency, b.currency))
}

func (g *gathered) hour(k hourKey) (Hour, error) {
	out := Hour{Instance: k.instance, InstanceType: g.instanceType, StartMS: k.startMS, Currency: k.currency, SpanMS: g.spanMS, Sources: g.sources, Lines: g.rows}
	var effective, beside, list money.Sum
	listKnown := true
	for _, p := range Parts() {
		s := g.parts[p]
		if s == nil {
			continue
		}
		cost, err := s.cost(p)
		if err != nil {
			return Hour{}, fmt.Errorf("cost of %s in the hour of %s: %w", k.instance, clock(k.startMS), err)
		}
		out.Parts = append(out.Parts, cost)
		if !p.OfMachine() {
			beside.Add(cost.Effective)
			continue
		}
		effective.Add(cost.Effective)
		if cost.List == nil {
			listKnown = false
		} else {
			list.Add(*cost.List)
		}
	}
	var err error
	if out.Effective, err = effective.Nano(); err == nil {
		out.Beside, err = beside.Nano()
	}
	if n, tooLarge := list.Nano(); tooLarge == nil && listKnown {
		out.List = &n
	}
	if err != nil {
		return Hour{}, fmt.Errorf("cost of %s in the hour of %s: %w", k.instance, clock(k.startMS), err)
	}
	return out, nil
}

func (s *partSum) cost(p Part) (PartCost, error) {
	effective, err := s.effective.Nano()
	if err != nil {
		return PartCost{}, err
	}
	c := PartCost{Part: p, Effective: effective}
	if n, tooLarge := s.list.Nano(); tooLarge == nil && !s.listUnknown {
		c.List = &n
	}
	return c, nil
}
