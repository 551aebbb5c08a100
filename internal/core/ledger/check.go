// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/gputally/gputally/internal/core/pricing"
)

// Journal is what Check looks at.
type Journal struct {
	// Lines are all lines, in any order.
	Lines []Line
	// Costs are what the nodes cost in all hours that lines are of, as they
	// were when the hours were last rated. Nil: money is not compared with them.
	Costs []pricing.NodeCost
	// Closed are all closed months, in any order.
	Closed []Closed
	// Trail is the whole trail, in order.
	Trail []Event
}

// Check verifies every invariant and returns the first that does not hold, with
// the line that shows it, or nil. It adds nothing to what Book and Close see to:
// it finds what was done behind their backs.
//
// A journal that is too large for memory is checked in parts: all lines of some
// hours of nodes with their costs, without the closed months, the same lines by
// CheckLate, and each closed month by Verify.
func Check(j Journal) *Violation {
	lines := slices.Clone(j.Lines)
	slices.SortFunc(lines, func(a, b Line) int { return a.Compare(&b) })
	if v := checkLines(lines); v != nil {
		return v
	}
	if v := checkBookings(lines); v != nil {
		return v
	}
	chains, v := chainsOf(lines)
	if v != nil {
		return v
	}
	if v := checkNet(lines, chains, j.Costs); v != nil {
		return v
	}
	if v := checkClosed(lines, j.Closed); v != nil {
		return v
	}
	if err := VerifyTrail(j.Trail); err != nil {
		return violation(TrailBroken, nil, "%v", err)
	}
	return nil
}

// checkLines looks at each line alone.
func checkLines(lines []Line) *Violation {
	seen := make(map[string]bool, len(lines))
	for i := range lines {
		l := &lines[i]
		if seen[l.ID] {
			return violation(IDTwice, l, "another line has this id")
		}
		seen[l.ID] = true
	}
	for i := range lines {
		if v := checkLine(&lines[i]); v != nil {
			return v
		}
	}
	return nil
}

func checkLine(l *Line) *Violation {
	charged := l.ChargeMonth()
	switch end := l.StartMS + l.DurationMS; {
	case l.ID != idOf(l.Entry, l.Seq):
		return violation(IDWrong, l, "line %d of entry %s has the id %s", l.Seq, l.Entry, idOf(l.Entry, l.Seq))
	case l.DurationMS <= 0 || !l.IsDrift() && (l.HourMS%hourMS != 0 || l.StartMS < l.HourMS || end > l.HourMS+hourMS):
		return violation(TimeWrong, l, "%d ms from %s are no piece of the hour", l.DurationMS, clock(l.StartMS))
	case l.Period < charged:
		return violation(PeriodWrong, l, "it is for %s and booked in %s", charged, l.Period)
	case l.Kind != l.kind():
		return violation(KindWrong, l, "it is for %s, booked in %s, number %d of its hour, a %q: that is a %s", charged, l.Period, l.Booking, l.Step, l.kind())
	case (l.Amount != nil) != l.Priced() || l.Amount == nil && l.Moved != nil:
		return violation(CurrencyMissing, l, "the amount is %s and the currency %q", text(l.Amount), l.Currency)
	}
	return checkGrades(l)
}

func checkGrades(l *Line) *Violation {
	n, err := l.numbers()
	if err != nil {
		return violation(GradesOff, l, "%v", err)
	}
	var sum gradeNumbers
	for _, g := range n.grades {
		sum.shareMS += g.shareMS
		sum.amount += g.amount
		sum.moved += g.moved
	}
	if !l.IsDrift() && sum != (gradeNumbers{l.ShareMS, n.amount, n.moved}) {
		return violation(GradesOff, l, "by grade it is %d ms, %s and %s moved; it says %d ms, %s and %s", sum.shareMS, sum.amount, sum.moved, l.ShareMS, n.amount, n.moved)
	}
	return nil
}

// subject is what bookings are counted of: a node-hour, or a drift.
type subject struct {
	NodeHour
	drift string
}

func (l *Line) subject() subject {
	if l.IsDrift() {
		return subject{drift: l.Entry}
	}
	return subject{NodeHour: l.NodeHour}
}

// checkBookings sees that no rating of an hour is missing.
func checkBookings(lines []Line) *Violation {
	type booking struct {
		subject
		number int
	}
	there := map[booking]bool{}
	for i := range lines {
		there[booking{lines[i].subject(), lines[i].Booking}] = true
	}
	for i := range lines {
		l := &lines[i]
		if l.Booking < 1 || l.Booking > 1 && !there[booking{l.subject(), l.Booking - 1}] {
			return violation(BookingMissing, l, "it is of booking %d of its hour, and there is no line of booking %d", l.Booking, l.Booking-1)
		}
	}
	return nil
}
