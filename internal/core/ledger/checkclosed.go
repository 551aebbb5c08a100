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
	order := slices.Clone(closed)
	slices.SortFunc(order, func(a, b Closed) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(string(a.Currency), string(b.Currency)), cmp.Compare(a.Month, b.Month))
	})
	for i := range order {
		c := &order[i]
		var previous *Closed
		if i > 0 && order[i-1].Scope == c.Scope {
			previous = &order[i-1]
		}
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
