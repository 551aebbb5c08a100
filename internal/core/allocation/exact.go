// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// weighed is a line of a pot with its weights as whole numbers of one common
// scale.
type weighed struct {
	*cell
	weight big.Int
	// parts are the weights of what was held and what was kept, byGrade those
	// of the grades; both without the exact rests of divisions.
	parts   [charges]big.Int
	byGrade [gpu.GradeCount]big.Int
}

// weigh is the weights of a pot's lines, however large the numbers become.
func (p *pot) weigh(cells []*cell) ([]weighed, scale) {
	s := p.common()
	lines := make([]weighed, len(cells))
	for i, c := range cells {
		lines[i].cell = c
		lines[i].sum(s)
	}
	return lines, s
}

// sharesOf divides time and cost by the weights. It verifies invariant D first: the
// shares are the whole, no more and no less.
func sharesOf(lines []weighed, s scale, cost *money.Nano, ms int64) ([]share, error) {
	weights := make([]*big.Rat, len(lines))
	sum, want := new(big.Int), new(big.Int).Mul(s.all, big.NewInt(ms))
	for i := range lines {
		weights[i] = new(big.Rat).SetInt(&lines[i].weight)
		sum.Add(sum, &lines[i].weight)
	}
	if sum.Cmp(want) != 0 {
		return nil, fmt.Errorf("shares sum to %s of the whole: a mistake of this program", new(big.Rat).SetFrac(sum, want).FloatString(12))
	}
	times, err := money.Apportion(money.Nano(ms), weights)
	if err != nil {
		return nil, err
	}
	amounts := make([]money.Nano, len(lines))
	if cost != nil {
		if amounts, err = money.Apportion(*cost, weights); err != nil {
			return nil, err
		}
	}
	out := make([]share, len(lines))
	for i := range out {
		out[i].ms, out[i].amount = int64(times[i]), amounts[i]
		split(out[i].ms, lines[i].parts[:], out[i].parts[:])
		split(out[i].ms, lines[i].byGrade[:], out[i].byGrade[:])
	}
	return out, nil
}

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

// split divides ms by weights, in whole milliseconds that sum to it. Rounding goes to
// the last that has a weight.
func split(ms int64, weights []big.Int, out []int64) {
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
}
