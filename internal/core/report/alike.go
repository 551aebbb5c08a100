// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// A store that can add up lines itself hands over lines that are alike, already
// summed, instead of each line; everything after that is the same. This file is the
// seam between the two steps.

// Alike is lines that a report need not tell apart, added up. Which lines are in it
// is decided by Plan.
type Alike struct {
	// Line is one of the lines, as far as they are alike: its set, kind, resource,
	// entry kind, kind of holder, note, policy, mode, currency, price and rule of
	// splitting (of its Basis nothing else is read), the account it comes from and, where it is no workload's, its account; and what Plan.Needs
	// names. Its numbers are not read, but for StartMS, the beginning of any hour of
	// the same Plan.Time, and Period.
	Line *ledger.Line
	// Pod is what the lines' pod was, nil where nobody knows; read where Plan needs it.
	Pod *PodDimensions
	// Charged says that the lines are for hours of the report. Else they are booked
	// in its month only.
	Charged bool
	Tally
}

// Tally is the numbers of lines that are alike. Amounts are as the view has them
// (Plan.View): apart, with what platform accounts passed on.
type Tally struct {
	Lines int
	// Priced: the lines have amounts.
	Priced bool
	Amount money.Sum
	// Grades are the amounts by grade, in the order of gpu.Grades.
	Grades [gpu.GradeCount]money.Sum

	ShareMS, UsedMS, UnusedMS, PresentMS, GrantedMS int64
	CPUNanos, CPURequestMilliMS                     ledger.Wide
	ByteMS, RequestByteMS                           ledger.Wide
}

// of is the numbers of one line.
func (t *Tally) of(l *ledger.Line, view View) {
	*t = Tally{
		Lines: 1, Priced: l.Amount != nil, ShareMS: l.ShareMS, UsedMS: l.UsedMS, UnusedMS: l.UnusedMS, PresentMS: l.PresentMS,
		GrantedMS: l.GrantedMS, CPUNanos: ledger.WideOf(l.CPUNanos), CPURequestMilliMS: ledger.WideOf(l.CPURequestMilliMS), ByteMS: l.ByteMS, RequestByteMS: l.RequestByteMS,
	}
	if !t.Priced {
		return
	}
	t.Amount = amount(l, view, 1)
	for i := range l.Grades {
		p := &l.Grades[i]
		rank := p.Grade.Rank()
		if rank < 0 {
			continue
		}
		t.Grades[rank].Add(p.Amount)
		if view == Apart {
			t.Grades[rank].Add(p.Moved)
		}
	}
}

// Plan is what of a spec decides which lines are in a report, and which are alike.
type Plan struct {
	Spec Spec
	View View
	// The hours of the report: [FromMS, ToMS).
	FromMS, ToMS int64
	// Charges: only lines of the kind charge count.
	Charges bool
	// Needs are the dimensions of rows that Line has to have: those of place and of
	// workloads. Lines that differ in one of them are not alike.
	Needs []Dimension
	// Time is the shortest time that rows are told apart by: Hour, Day or "". Weeks
	// and months are told from days.
	Time Dimension
	// Booked: lines of other months of booking are not alike.
	Booked bool
	// NeedsPod says that Alike.Pod is read.
	NeedsPod bool
}

// PlanOf checks a spec and says what its lines are to be told apart by.
func PlanOf(spec Spec) (Plan, error) {
	if err := spec.Check(true); err != nil {
		return Plan{}, err
	}
	p := Plan{Spec: spec, View: spec.view(), Charges: spec.cost() == Charged}
	p.FromMS, p.ToMS = spec.between()
	for _, d := range spec.By {
		switch {
		case d == BookedMonth:
			p.Booked = true
		case d == Hour:
			p.Time = Hour
		case d.isTime():
			if p.Time == "" {
				p.Time = Day
			}
		default:
			p.Needs = append(p.Needs, d)
			p.NeedsPod = p.NeedsPod || d.LookedUp()
		}
	}
	return p, nil
}

// Takes says whether lines of a sort can be in the total, whatever else they are:
// they are in the view, and of a kind that counts.
func (p *Plan) Takes(entry allocation.Kind, kind ledger.Kind) bool {
	return p.Shows(entry) && (!p.Charges || kind == ledger.Charge)
}

// Shows says whether lines of an entry kind are in the view at all. Those that are
// not count for nothing.
func (p *Plan) Shows(entry allocation.Kind) bool {
	return p.View != Apart || entry != allocation.Shared
}

// Assets is what the nodes cost in one currency in the hours of a report, and what
// sets its total apart from that. There is one for each currency in which lines that
// the view shows, or costs, have amounts.
type Assets struct {
	Currency money.Currency
	Cost     money.Sum
	// Later, Charges and Filtered are amounts of lines for hours of the report that
	// are not in its total: booked in another month; of another kind; filtered out.
	Later, Charges, Filtered money.Sum
	// Unrated are hours that cost something and have no lines, Off those whose lines
	// sum to something else than their cost.
	Unrated, Off OddHours
}

// OddHours are hours of nodes, added up.
type OddHours struct {
	// Over is what was charged beyond the cost.
	Over  money.Sum
	N     int
	First ledger.NodeHour
}

// Add takes an hour in.
func (h *OddHours) Add(at ledger.NodeHour, over money.Sum) {
	h.Over.AddSum(over)
	if h.N == 0 || at.Compare(h.First) < 0 {
		h.First = at
	}
	h.N++
}

// String counts the hours and names the first.
func (h *OddHours) String() string {
	return fmt.Sprintf("%d hours of nodes, the first is of %s", h.N, h.First)
}

// Adder makes the same report as Run, of lines that were added up.
type Adder struct{ runner *runner }

// NewAdder begins a report.
func NewAdder(p Plan) *Adder { return &Adder{newRunner(p.Spec, true, true, nil)} }

// Add takes lines that are in the total, in any order. Nothing of it is kept.
func (a *Adder) Add(g *Alike) {
	r, class := a.runner, g.Line.Class()
	r.values.give(g.Pod)
	r.books.tally(g.Line, &g.Tally, g.Charged)
	r.group(g.Line, class).add(g.Line, class, &g.Tally)
}

// Report is the report of all that was added. It ends the adder.
func (a *Adder) Report(assets []Assets) Report {
	for i := range assets {
		a.runner.books.asset(&assets[i])
	}
	return Report{Spec: a.runner.spec, Sections: a.runner.sections()}
}

// asset takes what is known of a currency's hours.
func (b *books) asset(from *Assets) {
	a := b.of(from.Currency)
	a.cost, a.later, a.charges, a.filtered = from.Cost, from.Later, from.Charges, from.Filtered
	a.unrated, a.off = from.Unrated, from.Off
}

// tally takes the part of the total that is not for hours of the report.
func (b *books) tally(l *ledger.Line, t *Tally, charged bool) {
	if t.Priced && (l.IsDrift() || !charged) {
		b.of(l.Currency).add(l, t.Amount)
	}
}
