// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// search is a state and what is being tried with it.
type search struct {
	*state
	limit int64
	// order is the nodes from those that stay to those that go first.
	order []int32
	final []bool
	// least is how full cards must be to be left as they are, in thousandths.
	least int64
}

func (s *search) spent() bool { return s.work >= s.limit }

// bound: whether a node stays whatever happens.
func (s *search) bound(n int32) bool {
	return s.p.Nodes[n].Keep != "" || slices.ContainsFunc(s.on[n], func(pod int32) bool { return s.p.stuck[pod] })
}

// vacate empties nodes one after the other, as long as that saves money. A node's
// pods go where others are, or to empty nodes that cost less together.
func (s *search) vacate() {
	for range 4 {
		nodes := s.emptiest()
		saved := false
		for _, n := range nodes {
			saved = s.empty(n) || saved
		}
		if !saved || s.spent() {
			return
		}
	}
}

// emptiest is the nodes that could go, those first that give most for the least.
func (s *search) emptiest() (out []int32) {
	for n := range s.on {
		if len(s.on[n]) > 0 && !s.bound(int32(n)) {
			out = append(out, int32(n))
		}
	}
	load := func(n int32) int64 {
		cards := int64(s.p.first[n+1]-s.p.first[n]) * int64(unit)
		return max(1000*s.used[n]/max(cards, 1), 1000-1000*s.cpu[n]/max(s.p.Nodes[n].CPUMilli, 1))
	}
	slices.SortStableFunc(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(load(a)/50, load(b)/50), cmp.Compare(s.p.price(b), s.p.price(a)), cmp.Compare(load(a), load(b)))
	})
	return out
}

// empty moves all pods of a node elsewhere, or none.
func (s *search) empty(n int32) bool {
	mark := len(s.log)
	pods := slices.Clone(s.on[n])
	s.largestFirst(pods)
	budget := s.p.price(n)
	opened := map[int32]bool{}
	for _, pod := range pods {
		to, ok := s.elsewhere(n, pod, budget, opened)
		if !ok || s.spent() {
			s.undo(mark)
			return false
		}
		if len(s.on[to.node]) == 0 && !s.bound(to.node) {
			budget -= s.p.price(to.node)
			opened[to.node] = true
		}
		s.move(pod, to)
	}
	return len(pods) > 0
}

func (s *state) largestFirst(pods []int32) {
	slices.SortFunc(pods, func(a, b int32) int {
		x, y := &s.p.Pods[a], &s.p.Pods[b]
		return cmp.Or(cmp.Compare(s.taken(&s.at[b]), s.taken(&s.at[a])), cmp.Compare(y.CPUMilli, x.CPUMilli), cmp.Compare(y.MemoryBytes, x.MemoryBytes), cmp.Compare(a, b))
	})
}

// elsewhere finds the best place for a pod on any other node. An empty one is
// taken only where it leaves something of the budget.
func (s *search) elsewhere(from, pod int32, budget money.Nano, opened map[int32]bool) (best spot, ok bool) {
	var bestRank [6]int64
	for w := range s.on {
		n := int32(w)
		if n == from {
			continue
		}
		price := money.Nano(0)
		if len(s.on[n]) == 0 && !s.bound(n) {
			if price = s.p.price(n); price >= budget {
				continue
			}
		}
		to, f, can := s.room(n, pod)
		if !can {
			continue
		}
		rank := [6]int64{int64(price), int64(f.opens), int64(f.waste), int64(f.left), int64(s.freeUnits(n)), s.cpu[n]}
		if !ok || slices.Compare(rank[:], bestRank[:]) < 0 {
			best, bestRank, ok = to, rank, true
		}
	}
	return best, ok
}
