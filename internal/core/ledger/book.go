// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
)

// Rating is one hour of one node as a rater divided it.
type Rating struct {
	NodeHour
	// Entries are all entries of the hour, in any order. None: nothing is
	// charged for it any more.
	Entries  []allocation.Entry
	Revision Revision
}

// Book says which lines a rating adds. before is every line of the node-hour
// that the journal has, in any order. The first rating of an hour books charges.
// A later one books, for each entry, what changed: a difference; where the
// entry is no longer there, or something other than its numbers changed, the
// whole of it backwards, and then what is there now. Where nothing changed it
// adds nothing, so a rating may be repeated.
//
// A line that concerns a closed month is a correction in the open one.
func Book(before []Line, r Rating, p Periods) ([]Line, error) {
	for i := range before {
		if l := &before[i]; l.NodeHour != r.NodeHour || l.IsDrift() {
			return nil, fmt.Errorf("book %s: line %s is of %s", r.NodeHour, l.ID, l.NodeHour)
		}
	}
	chains, v := chainsOf(before)
	if v != nil {
		return nil, fmt.Errorf("book %s: %w", r.NodeHour, v)
	}
	b := booking{revision: r.Revision, periods: p, number: 1 + lastBooking(before)}
	if len(before) == 0 { // every entry becomes a line
		b.lines = slices.Grow(b.lines, len(r.Entries))
	}
	if err := b.rate(&r, chains); err != nil {
		return nil, fmt.Errorf("book %s: %w", r.NodeHour, err)
	}
	sortLines(b.lines)
	return b.lines, nil
}

// rate adds the lines of a rating to the chains that there are.
func (b *booking) rate(r *Rating, chains map[string]*chain) error {
	rated := make(map[string]bool, len(r.Entries))
	var t target // of one entry after the other
	var none chain
	for i := range r.Entries {
		e := &r.Entries[i]
		if rated[e.ID] {
			return fmt.Errorf("entry %s on account %s is there twice", e.ID, e.Account)
		}
		rated[e.ID] = true
		if err := r.aim(&t, e, b.periods); err != nil {
			return err
		}
		c := chains[e.ID]
		if c == nil {
			none = chain{}
			c = &none
		}
		if err := c.reach(&t, b.add); err != nil {
			return err
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(chains)) {
		if !rated[entry] {
			if err := chains[entry].reach(nil, b.add); err != nil {
				return err
			}
		}
	}
	return nil
}

// sortLines puts lines in order. Those of a first rating come in the order of
// their entries, which is theirs: then none of them is moved.
func sortLines(lines []Line) {
	for i := 1; i < len(lines); i++ {
		if lines[i-1].Compare(&lines[i]) > 0 {
			slices.SortFunc(lines, func(x, y Line) int { return x.Compare(&y) })
			return
		}
	}
}

// aim sets what an entry is to be.
func (r *Rating) aim(t *target, e *allocation.Entry, p Periods) (err error) {
	t.grade, t.basis = e.Grade, e.Basis
	if t.facts, err = factsOf(e, p.SetOf(e.Cluster)); err != nil {
		return err
	}
	if t.facts.NodeHour != r.NodeHour {
		return fmt.Errorf("entry %s on account %s is of %s", e.ID, e.Account, t.facts.NodeHour)
	}
	t.numbers, err = numbersOf(e)
	return err
}

func lastBooking(lines []Line) (n int) {
	for i := range lines {
		n = max(n, lines[i].Booking)
	}
	return n
}

// booking collects the lines that one rating adds.
type booking struct {
	revision Revision
	periods  Periods
	number   int
	lines    []Line
}

// add adds one line to a chain.
func (b *booking) add(c *chain, step Step, t *target) {
	b.lines = append(b.lines, Line{
		ID: idOf(t.facts.Entry, c.seq+1), Step: step, Seq: c.seq + 1, Adjusts: c.last, Booking: b.number,
		Facts: t.facts, Grade: t.grade, Basis: t.basis, Revision: b.revision,
	})
	l := &b.lines[len(b.lines)-1]
	l.Period = b.periods.place(&l.Facts)
	l.Kind = l.kind()
	l.put(&t.numbers)
	c.seq, c.last = l.Seq, l.ID
}
