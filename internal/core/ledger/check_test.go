// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// books is a journal with something of everything: May and June 2025 closed, an
// hour that was rated three times, a correction, an unpriced node, a drift, a
// device that is in no slot.
func books(t *testing.T) Journal {
	t.Helper()
	j := newJournal()
	rate := func(h *hour, atMS int64) {
		r, costs := h.rating(t, atMS)
		j.rate(t, r, costs)
	}
	a, b := resource("a", 1), resource("b", 2)
	h := may(1000, a, b, idle(3))
	h.pots = append(h.pots, potOf{resource: allocation.ResourceCPU, cost: 500, parts: []partOf{resource("a", 1)}})
	rate(h, at("2025-05-01 02:00"))
	h.pots[0].cost = 2000
	rate(h, at("2025-05-01 03:00"))
	j.close(t, closing("2025-05"))
	h.pots[0].parts = []partOf{a, idle(5)}
	rate(h, at("2025-06-10 00:00"))
	j.add(t, bulk(t, j, 3))
	j.close(t, closing("2025-06"))

	july := may(700, a, b)
	july.HourMS = at("2025-07-01 10:00")
	rate(july, at("2025-07-01 12:00"))
	unpriced := may(700, a)
	unpriced.HourMS, unpriced.Node, unpriced.currency = july.HourMS, "u", ""
	rate(unpriced, at("2025-07-01 12:00"))
	extra := may(700, a)
	extra.HourMS, extra.Node = july.HourMS, "x"
	r, costs := extra.rating(t, at("2025-07-01 12:00"))
	spare := r.Entries[0]
	spare.ID, spare.Slot, spare.Amount, spare.Currency, spare.Basis, spare.Partition = "spare", "", nil, "", nil, gpu.Whole("GPU-spare")
	r.Entries = append(r.Entries, spare)
	j.rate(t, r, costs)
	out := Journal{Lines: j.lines, Costs: j.allCosts(), Closed: j.closed}
	for i := range j.closed {
		var previous *Event
		if i > 0 {
			previous = &out.Trail[i-1]
		}
		e, err := j.closed[i].Event().Follow(previous)
		if err != nil {
			t.Fatal(err)
		}
		out.Trail = append(out.Trail, e)
	}
	return out
}

// copyOf is a deep copy.
func copyOf(t *testing.T, j Journal) (out Journal) {
	t.Helper()
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fault finds lines to spoil.
type fault struct {
	t *testing.T
	*Journal
}

// line is the first line of an account in a month of booking.
func (f fault) line(period, account string) *Line {
	f.t.Helper()
	i := slices.IndexFunc(f.Lines, func(l Line) bool { return l.Account == account && l.Period == month(period) })
	if i < 0 {
		f.t.Fatalf("no line of %s in %s", account, period)
	}
	return &f.Lines[i]
}

// charge alters a line's amount and its parts, as a forger would.
func charge(l *Line, by money.Nano) {
	*l.Amount += by
	l.Grades[0].Amount += by
}

func share(l *Line, by int64) {
	l.ShareMS += by
	l.Grades[0].ShareMS += by
}

// faults plant one fault of each kind behind Book's and Close's backs.
var faults = map[Invariant]func(fault){
	IDTwice:         func(f fault) { f.Lines = append(f.Lines, f.Lines[0]) },
	IDWrong:         func(f fault) { f.line("2025-07", "ns-a/a").ID = strings.Repeat("0", 32) },
	TimeWrong:       func(f fault) { f.line("2025-07", "ns-a/a").StartMS += hourMS },
	KindWrong:       func(f fault) { f.line("2025-06", "idle").Kind = Adjustment },
	PeriodWrong:     func(f fault) { f.line("2025-07", "ns-a/a").Period = month("2025-06") },
	CurrencyMissing: func(f fault) { f.line("2025-07", "ns-a/a").Amount = nil },
	GradesOff:       func(f fault) { *f.line("2025-07", "ns-a/a").Amount++ },
	BookingMissing:  func(f fault) { f.line("2025-06", "idle").Booking = 7 },
	ChainBroken: func(f fault) { // a line in the middle of an entry's
		l := f.line("2025-05", "idle")
		f.Lines = slices.DeleteFunc(f.Lines, func(o Line) bool { return o.Entry == l.Entry && o.Seq == 2 })
	},
	AdjustsNothing:  func(f fault) { f.line("2025-06", "idle").Adjusts = "nothing" },
	StepWrong:       func(f fault) { charge(f.line("2025-06", "ns-b/b"), 1) },
	Negative:        func(f fault) { charge(f.line("2025-07", "ns-a/a"), -500); charge(f.line("2025-07", "ns-b/b"), 500) },
	UsedBeyondShare: func(f fault) { f.line("2025-07", "ns-a/a").UsedMS = hourMS },
	CurrencyMixed:   func(f fault) { f.line("2025-07", "ns-a/a").Currency = "CNY" },
	CostMissing:     func(f fault) { f.Costs = f.Costs[:len(f.Costs)-1] },
	CostWrong:       func(f fault) { f.Costs[0].Total++ },
	HourUnrated: func(f fault) {
		c := f.Costs[0]
		c.Node = "new"
		f.Costs = append(f.Costs, c)
	},
	SharesOff: func(f fault) { share(f.line("2025-07", "ns-a/a"), 1) },
	SlotOff:   func(f fault) { charge(f.line("2025-07", "ns-a/a"), 1) },
	NodeOff: func(f fault) { // money on a slot that nobody pays for
		l := *f.line("2025-07", "ns-a/a")
		l.Entry, l.Slot, l.Grades = "forged", "gpu9", slices.Clone(l.Grades)
		l.ID = idOf(l.Entry, 1)
		share(&l, hourMS-l.ShareMS)
		f.Lines = append(f.Lines, l)
	},
	BookedClosed: func(f fault) { f.line("2025-05", "ns-a/a").Revision.AtMS = at("2025-06-20 00:00") },
	PeriodGap:    func(f fault) { f.Closed = f.Closed[1:]; f.dropMay() },
	PeriodChanged: func(f fault) {
		f.Closed[1].Amount = "1000000.00"
	},
	TrailBroken:  func(f fault) { f.Trail[0].By = "somebody else" },
	StatementOff: func(f fault) { f.line("2025-05", "ns-a/a").Revision.Reason = "it looks better" },
}

// dropMay takes the first month away with its lines, so that only the chain of
// closed months tells of it.
func (f fault) dropMay() {
	may := map[string]bool{}
	for _, l := range f.Lines {
		may[l.Entry] = may[l.Entry] || l.Period == month("2025-05")
	}
	f.Lines = slices.DeleteFunc(f.Lines, func(l Line) bool { return may[l.Entry] })
	f.Costs = slices.DeleteFunc(f.Costs, func(c pricing.NodeCost) bool { return c.StartMS < month("2025-06").StartMS() })
}

func TestCheckFindsEveryKindOfFault(t *testing.T) {
	sound := books(t)
	if v := Check(sound); v != nil {
		t.Fatal(v)
	}
	for _, i := range Invariants() {
		plant := faults[i]
		if plant == nil {
			t.Errorf("no fault is planted for %s", i)
			continue
		}
		j := copyOf(t, sound)
		plant(fault{t, &j})
		v := Check(j)
		if v == nil || v.Invariant != i {
			t.Errorf("planted %s, found %v", i, v)
		}
	}
	if v := Check(copyOf(t, sound)); v != nil {
		t.Errorf("the books do not survive being written and read: %v", v)
	}
	if len(faults) != len(Invariants()) {
		t.Errorf("%d faults, %d invariants", len(faults), len(Invariants()))
	}
}

// More ways to break the same invariants.
func TestCheckFindsOtherFaults(t *testing.T) {
	sound := books(t)
	for name, c := range map[string]struct {
		is    Invariant
		plant func(fault)
	}{
		"a line of a closed month is gone": {StatementOff, func(f fault) { // the whole hour with it, so that nothing else shows
			f.Closed = f.Closed[:1]
			f.dropMay()
		}},
		"a closed month's hour was never closed": {BookedClosed, func(f fault) {
			f.Closed = f.Closed[1:]
		}},
		"a correction is gone":       {SharesOff, func(f fault) { f.dropLast("2025-06", "idle") }},
		"nothing is left of a node":  {HourUnrated, func(f fault) { f.dropNode("u") }},
		"half a slot is gone":        {SharesOff, func(f fault) { f.dropLast("2025-07", "ns-b/b") }},
		"a device for nothing":       {SlotOff, func(f fault) { f.spare().Currency = "USD"; f.spare().Amount = new(money.Nano) }},
		"a device for too long":      {SharesOff, func(f fault) { share(f.spare(), 1) }},
		"a cost is there twice":      {CostWrong, func(f fault) { f.Costs = append(f.Costs, f.Costs[0]) }},
		"a cost in another currency": {CurrencyMixed, func(f fault) { f.costOf("x").Currency = "CNY" }},
		"a price that is not there":  {CurrencyMixed, func(f fault) { f.costOf("u").Priced, f.costOf("u").Currency = true, "USD" }},
		"a piece of another length":  {SharesOff, func(f fault) { f.costOf("u").DurationMS-- }},
		"a slot that nobody charges": {SlotOff, func(f fault) {
			f.costOf("u").Slots = append(f.costOf("u").Slots, pricing.SlotCost{Slot: "gpu8"})
		}},
		"a drift for no time": {TimeWrong, func(f fault) { f.line("2025-06", Reconciliation).DurationMS = 0 }},
		"negative memory":     {Negative, func(f fault) { f.line("2025-07", "ns-a/a").ByteMS = WideOf(-1) }},
		"negative presence":   {Negative, func(f fault) { f.line("2025-07", "ns-a/a").PresentMS = -1 }},
		"a grade that is not": {GradesOff, func(f fault) { f.line("2025-07", "ns-a/a").Grades[0].Grade = "good" }},
		"facts that change":   {StepWrong, func(f fault) { f.line("2025-06", "idle").Note = "unschedulable" }},
		"a step too many":     {StepWrong, func(f fault) { f.line("2025-06", "idle").Step = Booked }},
		"a booking of 0":      {BookingMissing, func(f fault) { f.spare().Booking = 0; f.spare().Kind = Adjustment }},
		"a passing on without a price": {CurrencyMissing, func(f fault) {
			f.spare().Moved = new(money.Nano(1))
		}},
	} {
		j := copyOf(t, sound)
		c.plant(fault{t, &j})
		if v := Check(j); v == nil || v.Invariant != c.is {
			t.Errorf("%s: found %v, want %s", name, v, c.is)
		}
	}
}

func (f fault) dropLast(period, account string) {
	l := *f.line(period, account)
	f.Lines = slices.DeleteFunc(f.Lines, func(o Line) bool { return o.ID == l.ID })
}

func (f fault) dropNode(node string) {
	f.Lines = slices.DeleteFunc(f.Lines, func(o Line) bool { return o.Node == node })
}

func (f fault) spare() *Line {
	return &f.Lines[slices.IndexFunc(f.Lines, func(l Line) bool { return l.Entry == "spare" })]
}

func (f fault) costOf(node string) *pricing.NodeCost {
	return &f.Costs[slices.IndexFunc(f.Costs, func(c pricing.NodeCost) bool { return c.Node == node })]
}

// Without costs the money is not compared, and all else is.
func TestCheckWithoutCosts(t *testing.T) {
	j := books(t)
	j.Costs = nil
	if v := Check(j); v != nil {
		t.Fatal(v)
	}
	faults[GradesOff](fault{t, &j})
	if v := Check(j); v == nil || v.Invariant != GradesOff {
		t.Errorf("found %v", v)
	}
}
