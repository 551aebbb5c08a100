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
	weight *big.Int
	// parts are the weights of what was held and what was kept, byGrade those
	// of the grades; both without the exact rests of divisions.
	parts   [charges]big.Int
	byGrade [len(grades)]big.Int
}

// settle divides a pot's cost among its lines, once, and makes the entries.
// ms is the pot's time, which all weights sum to.
func (r *rater) settle(p *pot, of Resource, slot string, cost *money.Nano, ms int64) error {
	lines := r.weigh(p, of, slot)
	if len(lines) == 0 {
		return nil
	}
	scale := p.scale()
	if err := p.check(lines, scale, ms); err != nil {
		return fmt.Errorf("divide %s of node %s, slot %q: %w", of, r.cost.Node, slot, err)
	}
	weights := make([]*big.Rat, len(lines))
	for i := range lines {
		weights[i] = new(big.Rat).SetInt(lines[i].weight)
	}
	times, err := money.Apportion(money.Nano(ms), weights)
	if err != nil {
		return fmt.Errorf("divide the time of node %s, slot %q: %w", r.cost.Node, slot, err)
	}
	var amounts []money.Nano
	if cost != nil {
		if amounts, err = money.Apportion(*cost, weights); err != nil {
			return fmt.Errorf("divide %s of node %s, slot %q: %w", of, r.cost.Node, slot, err)
		}
	}
	for i := range lines {
		e := &lines[i].entry
		if cost != nil {
			e.Amount, e.Currency = &amounts[i], r.cost.Currency
		}
		e.ShareMS = int64(times[i])
		lines[i].spread()
		r.entries = append(r.entries, *e)
		if r.explain {
			r.lines = append(r.lines, r.explainLine(&lines[i], p, scale, cost, ms))
		}
	}
	return nil
}

// weigh lists the lines of a pot that have a weight, or a holder with a grant
// or a presence, in order of their keys.
func (r *rater) weigh(p *pot, of Resource, slot string) []weighed {
	scale := p.scale()
	var lines []weighed
	for _, b := range p.books {
		for _, c := range b.cells {
			w := weighed{cell: c, entry: r.entry(c, of, slot)}
			w.sum(p, scale)
			if w.weight.Sign() > 0 || c.kind != Platform && !c.amounts.none() {
				lines = append(lines, w)
			}
		}
	}
	slices.SortFunc(lines, func(a, b weighed) int { return a.entry.compare(&b.entry) })
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
		Policy: r.name, Model: c.book.model, Profile: c.book.profile, Basis: &r.cost.Basis, Quantities: c.amounts,
	}
	if c.kind != Platform {
		e.Account = c.holder.Account()
	}
	e.identify()
	return e
}

func mod(a, b int64) int64 { return (a%b + b) % b }

// scale is the common multiple of all denominators.
func (p *pot) scale() *big.Int {
	s := big.NewInt(1)
	for _, d := range p.dens {
		lcm(s, d.big())
	}
	for _, d := range p.odds {
		lcm(s, d)
	}
	return s
}

func lcm(s, d *big.Int) {
	if g := new(big.Int).GCD(nil, nil, s, d); g.Cmp(d) != 0 {
		s.Mul(s, d.Quo(d, g))
	}
}

// sum adds a line's terms up over the scale.
func (w *weighed) sum(p *pot, scale *big.Int) {
	w.weight = new(big.Int)
	n := new(big.Int)
	for _, t := range w.terms {
		if t.part >= charges {
			continue
		}
		n.Mul(t.n.big(), new(big.Int).Quo(scale, p.dens[t.den].big()))
		w.weight.Add(w.weight, n)
		w.parts[t.part].Add(&w.parts[t.part], n)
		w.byGrade[t.grade].Add(&w.byGrade[t.grade], n)
	}
	for _, f := range w.fractions {
		n.Mul(f.n, new(big.Int).Quo(scale, p.odds[f.den]))
		w.weight.Add(w.weight, n)
	}
}

// check verifies invariant D: the shares are the whole, no more and no less.
func (p *pot) check(lines []weighed, scale *big.Int, ms int64) error {
	sum, want := new(big.Int), new(big.Int).Mul(scale, big.NewInt(ms))
	for i := range lines {
		sum.Add(sum, lines[i].weight)
	}
	if sum.Cmp(want) != 0 {
		return fmt.Errorf("shares sum to %s of the whole: a mistake of this program", new(big.Rat).SetFrac(sum, want).FloatString(12))
	}
	return nil
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
	rats, at := make([]*big.Rat, 0, len(weights)), make([]int, 0, len(weights))
	for i := range weights {
		if weights[i].Sign() > 0 {
			rats, at = append(rats, new(big.Rat).SetInt(&weights[i])), append(at, i)
		}
	}
	if len(at) == 1 {
		out[at[0]] = ms
		return out
	}
	parts, err := money.Apportion(money.Nano(ms), rats)
	for i := range at {
		if err == nil { // it cannot be: the weights are above 0
			out[at[i]] = int64(parts[i])
		}
	}
	return out
}
