// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// Reconciliation is the account of drifts: money on the provider's invoice that
// belongs to no node's hour. It stands beside what the nodes cost.
const Reconciliation = "reconciliation"

// Drift is a difference in money alone between a bill and the hours of nodes,
// such as the provider's rounding, which is nobody's in particular.
type Drift struct {
	// Reference names what it comes from, such as a bill's import and line.
	// Another drift with the same reference replaces it.
	Reference string
	Cluster   string // whose set's periods it belongs to
	Currency  money.Currency
	Amount    money.Nano // 0: the drift is no more
	// FromMS and ToMS are the time charged for, within one month.
	FromMS, ToMS int64
	Revision     Revision // with a reason
}

// BookDrift says which lines a drift adds to those that the journal has of the
// same reference. They are adjustments, or, for a closed month, corrections.
func BookDrift(before []Line, d Drift, p Periods) ([]Line, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("book drift %q: %w", d.Reference, err)
	}
	entry := digestID(Reconciliation, d.Reference)
	for i := range before {
		if before[i].Entry != entry {
			return nil, fmt.Errorf("book drift %q: line %s has another reference", d.Reference, before[i].ID)
		}
	}
	chains, v := chainsOf(before)
	if v != nil {
		return nil, fmt.Errorf("book drift %q: %w", d.Reference, v)
	}
	c := chains[entry]
	if c == nil {
		c = &chain{}
	}
	t := &target{facts: Facts{
		Entry: entry, Set: p.SetOf(d.Cluster), NodeHour: NodeHour{Cluster: d.Cluster, HourMS: d.FromMS},
		StartMS: d.FromMS, DurationMS: d.ToMS - d.FromMS, Account: Reconciliation, Note: d.Reference, Currency: d.Currency,
	}, numbers: numbers{amount: d.Amount}}
	if d.Amount == 0 {
		t = nil
	}
	b := booking{revision: d.Revision, periods: p, number: 1 + lastBooking(before)}
	if err := c.reach(t, b.add); err != nil {
		return nil, err
	}
	slices.SortFunc(b.lines, func(x, y Line) int { return x.Compare(&y) })
	return b.lines, nil
}

func (d *Drift) check() error {
	switch {
	case d.Reference == "" || d.Revision.Reason == "":
		return errors.New("it needs a reference and a reason")
	case d.FromMS >= d.ToMS || MonthOf(d.FromMS) != MonthOf(d.ToMS-1):
		return fmt.Errorf("its time, %s to %s, is not within one month", clock(d.FromMS), clock(d.ToMS))
	}
	return d.Currency.Check()
}
