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
	targets, err := r.targets(p)
	if err != nil {
		return nil, fmt.Errorf("book %s: %w", r.NodeHour, err)
	}
	b := booking{revision: r.Revision, periods: p, number: 1 + lastBooking(before)}
	for _, entry := range slices.Sorted(maps.Keys(chains)) {
		if err := chains[entry].reach(targets[entry], b.add); err != nil {
			return nil, fmt.Errorf("book %s: %w", r.NodeHour, err)
		}
		delete(targets, entry)
	}
	b.lines = slices.Grow(b.lines, len(targets))
	for _, t := range targets {
		b.add(&chain{}, Booked, t)
	}
	slices.SortFunc(b.lines, func(x, y Line) int { return x.Compare(&y) })
	return b.lines, nil
}

// targets are what the entries are to be, by id.
func (r *Rating) targets(p Periods) (map[string]*target, error) {
	out := map[string]*target{}
	for i := range r.Entries {
		e := &r.Entries[i]
		f, err := factsOf(e, p.SetOf(e.Cluster))
		if err != nil {
			return nil, err
		}
		if f.NodeHour != r.NodeHour {
			return nil, fmt.Errorf("entry %s on account %s is of %s", e.ID, e.Account, f.NodeHour)
		}
		if out[e.ID] != nil {
			return nil, fmt.Errorf("entry %s on account %s is there twice", e.ID, e.Account)
		}
		n, err := numbersOf(e)
		if err != nil {
			return nil, err
		}
		out[e.ID] = &target{facts: f, numbers: n, grade: e.Grade, basis: e.Basis}
	}
	return out, nil
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
	l := Line{
		ID: idOf(t.facts.Entry, c.seq+1), Step: step, Seq: c.seq + 1, Adjusts: c.last, Booking: b.number,
		Facts: t.facts, Grade: t.grade, Basis: t.basis, Revision: b.revision,
	}
	l.Period = b.periods.place(&l.Facts)
	l.Kind = l.kind()
	l.put(&t.numbers)
	c.seq, c.last = l.Seq, l.ID
	b.lines = append(b.lines, l)
}
