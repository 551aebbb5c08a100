// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// settled is a pot whose cost is divided among its lines.
type settled struct {
	of     Resource
	slot   string
	cost   *money.Nano
	ms     int64
	cells  []*cell
	shares []share
	// lines and scale are there to explain.
	lines []weighed
	scale scale
}

// settle divides a pot's cost among its lines, once. ms is the pot's time, which all
// weights sum to.
func (r *rater) settle(p *pot, of Resource, slot string, cost *money.Nano, ms int64) error {
	s := settled{of: of, slot: slot, cost: cost, ms: ms, cells: r.listed(p)}
	if len(s.cells) == 0 {
		return nil
	}
	if err := s.divide(p, r.explain); err != nil {
		return fmt.Errorf("divide %s of node %s, slot %q: %w", of, r.cost.Node, slot, err)
	}
	r.settled = append(r.settled, s)
	return nil
}

// divide finds the shares. Explaining takes the weights as they are, of any size.
func (s *settled) divide(p *pot, explain bool) (err error) {
	if !explain {
		var small bool
		if s.shares, small = p.smallShares(s.cells, s.cost, s.ms); small {
			return nil
		}
	}
	s.lines, s.scale = p.weigh(s.cells)
	s.shares, err = sharesOf(s.lines, s.scale, s.cost, s.ms)
	return err
}

// enter makes the entries of the pots that were settled. All at once: entries are
// large, and a list of them is not to grow pot by pot.
func (r *rater) enter() {
	n := 0
	for i := range r.settled {
		n += len(r.settled[i].cells)
	}
	r.entries = slices.Grow(r.entries, n)
	for i := range r.settled {
		s := &r.settled[i]
		for k, c := range s.cells {
			e := r.entry(c, s.of, s.slot)
			if s.cost != nil {
				e.Amount, e.Currency = &s.shares[k].amount, r.cost.Currency
			}
			s.shares[k].spread(&e.Quantities, c.worst)
			r.entries = append(r.entries, e)
			if r.explain {
				r.lines = append(r.lines, s.explain(k, e))
			}
		}
	}
	r.settled = r.settled[:0]
}

// share is what of a pot falls to one line.
type share struct {
	// ms is its share of the time, amount of the cost.
	ms     int64
	amount money.Nano
	// parts and byGrade divide ms.
	parts   [charges]int64
	byGrade [gpu.GradeCount]int64
}

// spread tells how much of the line's share was held, kept, and of which grade.
func (s *share) spread(q *Quantities, worst int) {
	q.ShareMS, q.UsedMS, q.UnusedMS = s.ms, s.parts[held], s.parts[kept]
	q.Grade = grades[worst]
	if s.ms == 0 {
		return
	}
	several := 0
	for g, ms := range s.byGrade {
		if ms > 0 {
			q.Grade = grades[g]
			several++
		}
	}
	if several < 2 {
		return
	}
	q.GradeMS = make(map[gpu.Grade]int64, several)
	for g, ms := range s.byGrade {
		if ms > 0 {
			q.GradeMS[grades[g]] = ms
		}
	}
}

// listed are the lines of a pot that have a weight, or a holder with a grant
// or a presence, in the order of their entries. To explain, those that asked and got
// nothing are listed too.
func (r *rater) listed(p *pot) []*cell {
	n := 0
	for _, b := range p.books {
		n += len(b.cells)
	}
	out := make([]*cell, 0, n)
	for _, b := range p.books {
		for _, c := range b.cells {
			if c.weighs() || c.kind != Platform && !c.amounts.none() || r.explain && len(c.terms) > 0 {
				c.title = c.account
				if c.kind != Platform {
					c.title = c.holder.Account()
				}
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, (*cell).compare)
	return out
}

// weighs: something was given to the line.
func (c *cell) weighs() bool {
	return len(c.fractions) > 0 || slices.ContainsFunc(c.terms, func(t term) bool { return t.part < charges })
}

// compare orders the lines of a pot as Entry.compare orders their entries, which
// have the rest of their keys in common.
func (c *cell) compare(o *cell) int {
	if d := cmp.Or(
		c.book.partition.Compare(o.book.partition), cmp.Compare(c.kind, o.kind), strings.Compare(c.title, o.title), strings.Compare(c.note, o.note),
	); d != 0 {
		return d
	}
	return strings.Compare(c.who(), o.who())
}

func (c *cell) who() string {
	e := Entry{Holder: c.holder, Account: c.title}
	return e.who()
}

func (q *Quantities) none() bool {
	return q.PresentMS == 0 && q.GrantedMS == 0 && q.CPUNanos == 0 && q.CPURequestMilliMS == 0 &&
		q.ByteMS == usage.Total{} && q.RequestByteMS == usage.Total{}
}

// entry is a line's entry, without amounts.
func (r *rater) entry(c *cell, of Resource, slot string) Entry {
	e := Entry{
		Cluster: r.cost.Cluster, Node: r.cost.Node, HourMS: r.cost.StartMS - mod(r.cost.StartMS, hourMS),
		StartMS: r.cost.StartMS, DurationMS: r.cost.DurationMS, Resource: of, Slot: slot,
		Partition: c.book.partition, Kind: c.kind, Account: c.title, Note: c.note, Holder: c.holder,
		Policy: r.name, Model: c.book.model, Profile: c.book.profile, Mode: c.mode(), Basis: &r.cost.Basis, Quantities: c.amounts,
	}
	e.identify()
	return e
}

func mod(a, b int64) int64 { return (a%b + b) % b }
