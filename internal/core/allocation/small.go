// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"
	"math/bits"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// A whole GPU's or node's weights fit 64 bits nearly always: its memory in bytes times
// the milliseconds of an hour. Then they are divided without big numbers, which make
// most of the garbage and half of the work. Where they do not fit, exact.go divides
// them, and comes to the same.

// smallWeights are the weights of a line, as those of weighed.
type smallWeights struct {
	weight  uint64
	parts   [charges]uint64
	byGrade [gpu.GradeCount]uint64
}

// smallShares divides as sharesOf does; false where a number does not fit, or where
// the weights are not the whole: exact.go tells by how much.
func (p *pot) smallShares(cells []*cell, cost *money.Nano, ms int64) ([]share, bool) {
	all, times, ok := p.smallScale()
	if !ok || ms < 0 {
		return nil, false
	}
	lines, weights, sum := make([]smallWeights, len(cells)), make([]uint64, len(cells)), uint64(0)
	for i, c := range cells {
		if !lines[i].sum(c.terms, times) {
			return nil, false
		}
		weights[i] = lines[i].weight
		if sum += weights[i]; sum < weights[i] {
			return nil, false
		}
	}
	if hi, whole := bits.Mul64(all, uint64(ms)); hi != 0 || sum != whole {
		return nil, false
	}
	return dividedBy(lines, weights, cost, ms)
}

// dividedBy divides time and cost by the weights.
func dividedBy(lines []smallWeights, weights []uint64, cost *money.Nano, ms int64) ([]share, bool) {
	out := make([]share, len(lines))
	times, err := money.ApportionUints(money.Nano(ms), weights)
	if err != nil {
		return nil, false
	}
	for i := range out {
		s := &out[i]
		s.ms = int64(times[i])
		splitSmall(s.ms, lines[i].parts[:], s.parts[:])
		splitSmall(s.ms, lines[i].byGrade[:], s.byGrade[:])
	}
	if cost == nil {
		return out, true
	}
	amounts, err := money.ApportionUints(*cost, weights)
	if err != nil {
		return nil, false
	}
	for i := range out {
		out[i].amount = amounts[i]
	}
	return out, true
}

// smallScale is the common multiple of the pot's denominators, and by how much it is
// more than each.
func (p *pot) smallScale() (all uint64, times []uint64, ok bool) {
	all = 1
	for _, d := range p.dens {
		if d.hi != 0 {
			return 0, nil, false
		}
		if all, ok = multiple(all, d.lo, math.MaxUint64); !ok {
			return 0, nil, false
		}
	}
	times = make([]uint64, len(p.dens))
	for i, d := range p.dens {
		times[i] = all / d.lo
	}
	return all, times, len(p.odds) == 0
}

// sum adds a line's terms up over the scale; false where they do not fit.
func (w *smallWeights) sum(terms []term, times []uint64) bool {
	for _, t := range terms {
		if t.part >= charges {
			continue
		}
		hi, n := bits.Mul64(t.n.lo, times[t.den])
		w.weight += n
		if t.n.hi != 0 || hi != 0 || w.weight < n {
			return false
		}
		w.parts[t.part] += n // never more than the weight
		w.byGrade[t.grade] += n
	}
	return true
}

// splitSmall is split for weights whose sum fits 64 bits.
func splitSmall(ms int64, weights []uint64, out []int64) {
	sum, last := uint64(0), 0
	for i, w := range weights {
		if w > 0 {
			sum += w
			last = i
		}
	}
	left := ms
	for i := range last {
		if weights[i] > 0 {
			hi, lo := bits.Mul64(uint64(ms), weights[i])
			part, _ := bits.Div64(hi, lo, sum)
			out[i] = int64(part)
			left -= out[i]
		}
	}
	out[last] = left
}
