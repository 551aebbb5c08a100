// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// randomPot is a pot of two partitions' denominators, whose weights sum to ms.
func randomPot(t *rapid.T, ms int64) (*pot, []*cell) {
	d := dice{t}
	capacities := rapid.SampledFrom([][2]uint64{
		{1, 1}, {80 << 30, 80 << 30}, {80 << 30, 9856 << 20}, {1<<40 + 15, 1<<40 - 87}, {1 + d.upTo(1<<20), 1 + d.upTo(1<<38)},
	}).Draw(t, "capacities")
	p := &pot{dens: []wide{narrow(capacities[0]), narrow(capacities[1])}}
	b := p.of(gpu.Whole("GPU-0"))
	var cells []*cell
	for range 1 + d.n(40) {
		cells = append(cells, &cell{book: b})
	}
	half := ms / 2
	for den, left := range []int64{half, ms - half} {
		rest := p.dens[den].times(uint64(left))
		for _, c := range cells[1:] {
			n := rest.part(d.upTo(7), 7)
			c.add(uint16(den), d.n(len(grades)), part(d.n(int(charges))), n)
			rest = rest.minus(n)
		}
		cells[0].add(uint16(den), d.n(len(grades)), other, rest)
	}
	return p, cells
}

// TestSmallNumbersComeToTheSame: where weights fit 64 bits their division is that of
// big numbers, to the last millisecond and billionth; and where they do not, it says so.
func TestSmallNumbersComeToTheSame(t *testing.T) {
	t.Parallel()
	fit, large := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ms := 1 + int64(dice{t}.upTo(hourMS-1))
		p, cells := randomPot(t, ms)
		cost := new(money.Nano(rapid.Int64().Draw(t, "cost")))
		if (dice{t}).one(5) {
			cost = nil
		}
		lines, scale := p.weigh(cells)
		want, err := sharesOf(lines, scale, cost, ms)
		if err != nil {
			t.Fatalf("the test's own weights are wrong: %v", err)
		}
		got, ok := p.smallShares(cells, cost, ms)
		if all := new(big.Int).Mul(scale.all, big.NewInt(ms)); ok != (all.BitLen() <= 64) {
			t.Fatalf("the whole has %d bits; it is small: %v", all.BitLen(), ok)
		}
		if !ok {
			large++
			return
		}
		fit++
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(share{})); diff != "" {
			t.Fatalf("shares differ (-big +small):\n%s", diff)
		}
	})
	if fit == 0 || large == 0 {
		t.Errorf("%d divisions fit 64 bits, %d did not: the test is to see both", fit, large)
	}
}

// TestWeightsThatAreNotTheWhole are never divided: a share would be somebody else's.
func TestWeightsThatAreNotTheWhole(t *testing.T) {
	p := &pot{dens: []wide{narrow(80 << 30)}}
	c := &cell{book: p.of(gpu.Whole("GPU-0"))}
	c.add(0, measured, held, narrow(80<<30).times(hourMS).minus(narrow(1)))
	cells := []*cell{c}
	if s, ok := p.smallShares(cells, nil, hourMS); ok {
		t.Errorf("a weight too little was divided: %v", s)
	}
	lines, scale := p.weigh(cells)
	if s, err := sharesOf(lines, scale, nil, hourMS); err == nil {
		t.Errorf("a weight too little was divided with big numbers: %v", s)
	}
}
