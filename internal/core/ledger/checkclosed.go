// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// checkClosed verifies the closed months of every scope.
func checkClosed(lines []Line, closed []Closed) *Violation {
	order := byScope(closed)
	for i := range order {
		c, previous := &order[i], before(order, i)
		if v := c.checkLate(lines, previous == nil); v != nil {
			return v
		}
		err := Verify(*c, previous, StatementLines(lines, c.Scope, c.Month, c.Level), nil)
		var v *Violation
		switch {
		case errors.As(err, &v):
			return v
		case err != nil:
			return violation(PeriodChanged, nil, "%v", err)
		}
	}
	return nil
}

// CheckLate is the part of Check that finds lines which were booked into a month
// after it was closed, or before the first closed month of their scope. Lines may
// be some of the journal's; closed are all closed months. Such a line makes its
// month's statement differ, too: this says why.
func CheckLate(lines []Line, closed []Closed) *Violation {
	order := byScope(closed) // so that the answer does not depend on the order given
	for i := range order {
		// A month that followed another is not the first, though that one is gone:
		// this is a gap, which Verify names.
		if v := order[i].checkLate(lines, order[i].Previous == ""); v != nil {
			return v
		}
	}
	return nil
}

// byScope is closed months by their scope, in order.
func byScope(closed []Closed) []Closed {
	order := slices.Clone(closed)
	slices.SortFunc(order, func(a, b Closed) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(string(a.Currency), string(b.Currency)), cmp.Compare(a.Month, b.Month))
	})
	return order
}

// before is the month closed before another of its scope; nil: none was.
func before(order []Closed, i int) *Closed {
	if i > 0 && order[i-1].Scope == order[i].Scope {
		return &order[i-1]
	}
	return nil
}

// checkLate finds lines that were booked into the month after it was closed,
// and, before the first closed month of a scope, lines that no closing covers.
func (c *Closed) checkLate(lines []Line, first bool) *Violation {
	for i := range lines {
		l := &lines[i]
		switch {
		case l.Set != c.Set || l.Priced() && l.Currency != c.Currency:
		case l.Period == c.Month && l.Revision.AtMS > c.AtMS:
			return violation(BookedClosed, l, "it was booked in %s at %s, and that month was closed at %s", l.Period, clock(l.Revision.AtMS), clock(c.AtMS))
		case first && l.Priced() && l.Period < c.Month:
			return violation(BookedClosed, l, "it is booked in %s, which was never closed, and %s was", l.Period, c.Month)
		}
	}
	return nil
}
