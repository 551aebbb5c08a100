// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// weighed is a line of a pot with its weights as whole numbers of one common
// scale.
type weighed struct {
	*cell
	entry  Entry
	weight big.Int
	// parts are the weights of what was held and what was kept, byGrade those
	// of the grades; both without the exact rests of divisions.
	parts   [charges]big.Int
	byGrade [gpu.GradeCount]big.Int
}

// settle divides a pot's cost among its lines, once, and makes the entries.
// ms is the pot's time, which all weights sum to.
func (r *rater) settle(p *pot, of Resource, slot string, cost *money.Nano, ms int64) error {
	scale := p.common()
	lines := r.weigh(p, scale, of, slot)
	if len(lines) == 0 {
		return nil
	}
	weights := make([]*big.Rat, len(lines))
	sum := new(big.Int)
	for i, l := range lines {
		weights[i] = new(big.Rat).SetInt(&l.weight)
		sum.Add(sum, &l.weight)
	}
	times, amounts, err := divide(weights, sum, scale.all, cost, ms)
	if err != nil {
		return fmt.Errorf("divide %s of node %s, slot %q: %w", of, r.cost.Node, slot, err)
	}
	for i, l := range lines {
		if cost != nil {
			l.entry.Amount, l.entry.Currency = &amounts[i], r.cost.Currency
		}
		l.entry.ShareMS = int64(times[i])
		l.spread()
		r.entries = append(r.entries, l.entry)
		if r.explain {
			r.lines = append(r.lines, explainLine(l, scale, cost, ms))
		}
	}
	return nil
}

// divide apportions time and cost by the weights. It verifies invariant D
// first: the shares are the whole, no more and no less.
func divide(weights []*big.Rat, sum, scale *big.Int, cost *money.Nano, ms int64) (times, amounts []money.Nano, err error) {
	want := new(big.Int).Mul(scale, big.NewInt(ms))
	if sum.Cmp(want) != 0 {
		return nil, nil, fmt.Errorf("shares sum to %s of the whole: a mistake of this program", new(big.Rat).SetFrac(sum, want).FloatString(12))
	}
	if times, err = money.Apportion(money.Nano(ms), weights); err != nil || cost == nil {
		return times, nil, err
	}
	amounts, err = money.Apportion(*cost, weights)
	return times, amounts, err
}

// weigh lists the lines of a pot that have a weight, or a holder with a grant
// or a presence, in order of their keys. To explain, those that asked and got
// nothing are listed too.
func (r *rater) weigh(p *pot, s scale, of Resource, slot string) (lines []*weighed) {
	for _, b := range p.books {
		for _, c := range b.cells {
			w := &weighed{cell: c}
			w.sum(s)
			if w.weight.Sign() > 0 || c.kind != Platform && !c.amounts.none() || r.explain && len(c.terms) > 0 {
				w.entry = r.entry(c, of, slot)
				lines = append(lines, w)
			}
		}
	}
	slices.SortFunc(lines, func(a, b *weighed) int { return a.entry.compare(&b.entry) })
	return lines
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
		Partition: c.book.partition, Kind: c.kind, Account: c.account, Note: c.note, Holder: c.holder,
		Policy: r.name, Model: c.book.model, Profile: c.book.profile, Mode: c.mode(), Basis: &r.cost.Basis, Quantities: c.amounts,
	}
	if c.kind != Platform {
		e.Account = c.holder.Account()
	}
	e.identify()
	return e
}

func mod(a, b int64) int64 { return (a%b + b) % b }

// scale is the common multiple of a pot's denominators, and by how much it is
// more than each.
type scale struct {
	all        *big.Int
	dens, odds []*big.Int
}

func (p *pot) common() scale {
	s := scale{all: big.NewInt(1)}
	for _, d := range p.dens {
		s.dens = append(s.dens, d.big())
	}
	s.odds = slices.Clone(p.odds)
	for _, list := range [][]*big.Int{s.dens, s.odds} {
		for _, d := range list {
			if g := new(big.Int).GCD(nil, nil, s.all, d); g.Cmp(d) != 0 {
				s.all.Mul(s.all, g.Quo(d, g))
			}
		}
	}
	for _, list := range [][]*big.Int{s.dens, s.odds} {
		for i, d := range list {
			list[i] = new(big.Int).Quo(s.all, d)
		}
	}
	return s
}

// sum adds a line's terms up over the scale.
func (w *weighed) sum(s scale) {
	n := new(big.Int)
	for _, t := range w.terms {
		if t.part >= charges {
			continue
		}
		n.Mul(t.n.big(), s.dens[t.den])
		w.weight.Add(&w.weight, n)
		w.parts[t.part].Add(&w.parts[t.part], n)
		w.byGrade[t.grade].Add(&w.byGrade[t.grade], n)
	}
	for _, f := range w.fractions {
		w.weight.Add(&w.weight, n.Mul(f.n, s.odds[f.den]))
	}
}

// spread tells how much of the line's share was held, kept, and of which grade.
func (w *weighed) spread() {
	q := &w.entry.Quantities
	parts := split(q.ShareMS, w.parts[:])
	q.UsedMS, q.UnusedMS = parts[held], parts[kept]
	q.Grade = grades[w.worst]
	if q.ShareMS == 0 {
		return
	}
	byGrade := map[gpu.Grade]int64{}
	for g, ms := range split(q.ShareMS, w.byGrade[:]) {
		if ms > 0 {
			q.Grade, byGrade[grades[g]] = grades[g], ms
		}
	}
	if len(byGrade) > 1 {
		q.GradeMS = byGrade
	}
}

// split divides ms by weights, in whole milliseconds that sum to it.
func split(ms int64, weights []big.Int) []int64 {
	out := make([]int64, len(weights))
	sum, last := new(big.Int), 0
	for i := range weights {
		if weights[i].Sign() > 0 {
			sum.Add(sum, &weights[i])
			last = i
		}
	}
	left := ms
	for i := range last {
		if weights[i].Sign() > 0 {
			n := big.NewInt(ms)
			out[i] = n.Quo(n.Mul(n, &weights[i]), sum).Int64()
			left -= out[i]
		}
	}
	out[last] = left
	return out
}
