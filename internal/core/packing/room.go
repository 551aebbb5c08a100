// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"slices"
)

// fit is how well a pod fits somewhere: the least is the best.
type fit struct {
	opens int32 // empty cards that are taken
	waste int32 // units of GPUs that nobody could have any more
	left  int32 // units that stay free on the card
}

func (f fit) compare(o fit) int {
	return cmp.Or(cmp.Compare(f.opens, o.opens), cmp.Compare(f.waste, o.waste), cmp.Compare(f.left, o.left))
}

// room finds the best place for a pod on a node.
func (s *state) room(n, pod int32) (to spot, f fit, ok bool) {
	p, is := s.p, &s.p.Pods[pod]
	s.work++
	if !p.allowed[p.rule[pod]][n] || s.cpu[n] < is.CPUMilli || s.memory[n] < is.MemoryBytes || s.seats[n] < 1 {
		return spot{}, fit{}, false
	}
	if is.Need == (Need{}) {
		return spot{node: n, profile: -1}, fit{left: s.freeUnits(n)}, true
	}
	if is.Need.GPUs > 0 {
		return s.wholeRoom(n, pod)
	}
	for c := p.first[n]; c < p.first[n+1]; c++ {
		if !p.models[p.rule[pod]][p.kind[c]] || slices.Contains(p.home[pod].cards, c) {
			continue
		}
		at, g, can := s.cardRoom(c, pod)
		if s.cards[c].pods == 0 {
			g.opens = 1
		}
		if can && (!ok || g.compare(f) < 0) {
			to, f, ok = at, g, true
			to.node = n
		}
	}
	return to, f, ok
}

func (s *state) freeUnits(n int32) int32 {
	return int32(int64(unit)*int64(s.p.first[n+1]-s.p.first[n]) - s.used[n])
}

// wholeRoom finds whole cards. Those whose MIG must be switched off come last.
func (s *state) wholeRoom(n, pod int32) (to spot, f fit, ok bool) {
	p, want := s.p, s.p.Pods[pod].Need.GPUs
	if int(p.first[n+1]-p.first[n]) < want {
		return to, f, false
	}
	to = spot{node: n, profile: -1}
	for _, mig := range []bool{false, true} {
		for c := p.first[n]; c < p.first[n+1] && len(to.cards) < want; c++ {
			if p.cards[c].MIG == mig && s.canWhole(c, pod) {
				to.cards = append(to.cards, c)
			}
		}
	}
	slices.Sort(to.cards)
	return to, fit{opens: int32(want), left: s.freeUnits(n) - unit*int32(want)}, len(to.cards) == want
}

// canWhole: nobody is on the card, and MIG is off or can be switched off.
func (s *state) canWhole(c, pod int32) bool {
	p, is := s.p, &s.cards[c]
	return is.pods == 0 && (is.open || !p.cards[c].MIG) && p.models[p.rule[pod]][p.kind[c]] && !slices.Contains(p.home[pod].cards, c)
}

// cardRoom finds a place for less than a card, or a card for a need in bytes.
func (s *state) cardRoom(c, pod int32) (to spot, f fit, ok bool) {
	p, is := s.p, &s.cards[c]
	o := &p.options[p.need[pod]][p.kind[c]]
	switch {
	case !o.ok() || is.whole:
		return to, f, false
	case o.whole > 0:
		return spot{cards: []int32{c}, profile: -1}, fit{}, s.canWhole(c, pod)
	case o.milli > 0:
		if is.milli+o.milli > 1000 || is.pods > 0 && is.domain != p.domain[pod] {
			return to, f, false
		}
		return spot{cards: []int32{c}, profile: -1, milli: o.milli}, fit{left: (1000 - is.milli - o.milli) * (unit / 1000)}, true
	}
	return s.instanceRoom(c, o)
}

// instanceRoom finds a MIG instance: one that is there and free, or a new one
// where the layout is still open.
func (s *state) instanceRoom(c int32, o *option) (to spot, f fit, ok bool) {
	k, is := &s.p.kinds[s.p.kind[c]], &s.cards[c]
	g := k.geo
	if is.open {
		next := g.next[is.layout][o.profiles[0]]
		if next < 0 {
			return to, f, false
		}
		per := unit / int32(g.slices)
		now, then := &g.states[is.layout], &g.states[next]
		return spot{cards: []int32{c}, profile: o.profiles[0]}, fit{waste: int32(now.best-then.best) * per, left: int32(then.best-then.used) * per}, true
	}
	for _, i := range o.profiles {
		if is.free[i] > 0 {
			return spot{cards: []int32{c}, profile: i}, fit{waste: k.units(i) - o.size}, true
		}
	}
	return to, f, false
}
