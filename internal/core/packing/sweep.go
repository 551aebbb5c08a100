// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"slices"
)

// The window of a fill: so many nodes give pods to one, at least and at most, and
// so many times what it can hold.
const (
	windowLeast = 8
	windowMost  = 64
	windowTimes = 6
)

// sweep fills one node after the other with pods of those that go first, which
// empties them. An empty node is filled in place of one that could never be as
// full as least thousandths, since its cards can have any layout.
func (s *search) sweep(least int64) {
	s.least, s.final = least, make([]bool, len(s.on))
	for _, n := range s.order {
		if s.bound(n) {
			s.fill(n)
			s.final[n] = true
		}
	}
	dead := make([]bool, len(s.on))
	for !s.spent() {
		front, good, empty := s.front(dead)
		if front < 0 {
			return
		}
		if empty >= 0 && !good {
			if s.rebuild(empty, front) {
				s.final[empty] = true
			} else {
				dead[empty] = true
			}
			continue
		}
		s.fill(front)
		s.final[front] = true
	}
}

// front is the first node with pods that is not done and can become full, or the
// first of all; and the first of its kind without any that costs no more for each
// card.
func (s *search) front(dead []bool) (front int32, good bool, empty int32) {
	front = -1
	for _, n := range s.order {
		if s.final[n] || len(s.on[n]) == 0 {
			continue
		}
		if front < 0 {
			front = n
		}
		if good = s.reach(n) >= s.least; good {
			front = n
			break
		}
	}
	if front < 0 || good || s.cardsOf(front) == 0 {
		return front, good, -1
	}
	for _, n := range s.order {
		if !s.final[n] && !dead[n] && len(s.on[n]) == 0 && s.alike(n, front) {
			return front, good, n
		}
	}
	return front, good, -1
}

func (s *search) cardsOf(n int32) int64 { return int64(s.p.first[n+1] - s.p.first[n]) }

// alike: the nodes have the same kind of card, and the first is no dearer.
func (s *search) alike(n, as int32) bool {
	a, b := s.cardsOf(n), s.cardsOf(as)
	if a == 0 || b == 0 || s.p.kind[s.p.first[n]] != s.p.kind[s.p.first[as]] {
		return false
	}
	return float64(s.p.price(n))*float64(b) <= float64(s.p.price(as))*float64(a)
}

// reach is how full a node could become at most, in thousandths. With one card
// empty all can be laid out anew, one after the other.
func (s *search) reach(n int32) int64 {
	all := s.cardsOf(n) * int64(unit)
	if all == 0 {
		return 1000
	}
	room, empty, loose := int64(0), false, int64(0)
	for c := s.p.first[n]; c < s.p.first[n+1]; c++ {
		room += int64(s.roomOf(c))
		empty = empty || s.cards[c].pods == 0 && s.cards[c].open
		if s.loose(c) {
			loose += int64(unit) - int64(s.roomOf(c))
		}
	}
	if empty && s.least > 0 && loose > 0 {
		return 1000
	}
	return 1000 * (s.used[n] + room) / all
}

// loose: the card's layout leaves slices that nobody can have while its pods stay,
// and all of them may move.
func (s *search) loose(c int32) bool {
	k, is := &s.p.kinds[s.p.kind[c]], &s.cards[c]
	if s.least == 0 || k.geo == nil || is.whole || is.open || is.pods == 0 || s.p.cards[c].Fixed != "" {
		return false
	}
	covered := uint32(0)
	for _, in := range s.p.cards[c].Layout {
		covered += in.Placement.Size
	}
	return int64(covered)*1000 < s.least*int64(k.geo.slices)
}

// roomOf is how much of a card could still be taken, in units.
func (s *state) roomOf(c int32) int32 {
	k, is := &s.p.kinds[s.p.kind[c]], &s.cards[c]
	switch {
	case is.whole:
		return 0
	case is.pods == 0:
		return unit
	case k.shared:
		return (1000 - is.milli) * (unit / 1000)
	case k.geo == nil:
		return 0
	case is.open:
		l := &k.geo.states[is.layout]
		return int32(l.best-l.used) * (unit / int32(k.geo.slices))
	}
	n := int32(0)
	for i, free := range is.free[:len(k.geo.profiles)] {
		n += int32(free) * k.units(int32(i))
	}
	return n
}

// rebuild fills an empty node, if it becomes fuller than the front could.
func (s *search) rebuild(empty, front int32) bool {
	mark := len(s.log)
	s.fill(empty)
	all := int64(s.p.first[empty+1]-s.p.first[empty]) * int64(unit)
	if all == 0 || 1000*s.used[empty]/all <= s.reach(front) {
		s.undo(mark)
		return false
	}
	return true
}

// fill takes pods of the nodes that go first until nothing more fits on a node.
func (s *search) fill(n int32) {
	pods := s.window(n)
	for len(pods) > 0 && !s.spent() {
		i, to := s.choose(n, pods)
		if i < 0 {
			return
		}
		s.move(pods[i], to)
		pods = slices.Delete(pods, i, i+1)
	}
}

// window is the pods that a node could take from those that go first.
func (s *search) window(n int32) (pods []int32) {
	nodes, units := 0, int64(0)
	want := windowTimes * int64(s.p.first[n+1]-s.p.first[n]) * int64(unit)
	for i := len(s.order) - 1; i >= 0 && nodes < windowMost; i-- {
		from := s.order[i]
		if s.final[from] || from == n || len(s.on[from]) == 0 {
			continue
		}
		if nodes >= windowLeast && units >= want {
			break
		}
		had := len(pods)
		for _, pod := range s.on[from] {
			if !s.p.stuck[pod] && s.p.allowed[s.p.rule[pod]][n] && s.p.Pods[pod].CPUMilli <= s.cpu[n] && s.p.Pods[pod].MemoryBytes <= s.memory[n] {
				pods = append(pods, pod)
			}
		}
		s.work += int64(len(s.on[from]))
		slices.Sort(pods[had:])
		if len(pods) > had {
			nodes++
			units += s.used[from]
		}
	}
	return append(pods, s.ownLoose(n)...)
}

// ownLoose is a node's own pods on cards that are to be laid out anew.
func (s *search) ownLoose(n int32) (pods []int32) {
	for _, pod := range s.on[n] {
		if at := &s.at[pod]; at.profile >= 0 && !s.p.stuck[pod] && s.loose(at.cards[0]) {
			pods = append(pods, pod)
		}
	}
	slices.Sort(pods)
	return pods
}

// choose picks the pod that fits best: what begins no further card, wastes least, then the largest, then
// who leaves CPU and memory in proportion to what is left of the GPUs.
func (s *search) choose(n int32, pods []int32) (at int, to spot) {
	type key struct{ need, rule, domain int32 }
	type answer struct {
		to   spot
		f    fit
		ok   bool
		size int64
	}
	known := map[key]answer{}
	left := int64(0)
	for c := s.p.first[n]; c < s.p.first[n+1]; c++ {
		left += int64(s.roomOf(c))
	}
	at = -1
	var best [5]int64
	for i, pod := range pods {
		is := &s.p.Pods[pod]
		s.work++
		if is.CPUMilli > s.cpu[n] || is.MemoryBytes > s.memory[n] {
			continue
		}
		k := key{s.p.need[pod], s.p.rule[pod], s.p.domain[pod]}
		a, seen := known[k]
		if !seen {
			a.to, a.f, a.ok = s.room(n, pod)
			a.size = s.taken(&a.to)
			known[k] = a
		}
		if !a.ok {
			continue
		}
		rank := [5]int64{int64(min(a.f.opens, 1)), int64(a.f.waste), -a.size, s.foreign(n, pod), s.skew(n, pod, a.size, left)}
		if at < 0 || slices.Compare(rank[:], best[:]) < 0 {
			at, to, best = i, a.to, rank
		}
	}
	return at, to
}

// foreign is 0 for a node's own pods: their cards are to become empty.
func (s *search) foreign(n, pod int32) int64 {
	if s.at[pod].node == n {
		return 0
	}
	return 1
}

// skew is how far a pod's CPU and memory are from its part of what is left, in
// thousandths. Without GPUs the largest is the best.
func (s *search) skew(n, pod int32, size, left int64) int64 {
	is := &s.p.Pods[pod]
	if size == 0 {
		return -is.CPUMilli
	}
	off := func(ask, free int64) int64 {
		f := float64(free) * float64(size) / float64(max(left, size))
		return int64(1000 * abs(float64(ask)-f) / max(f, 1))
	}
	return off(is.CPUMilli, s.cpu[n]) + off(is.MemoryBytes, s.memory[n])
}

func abs(f float64) float64 { return max(f, -f) }

// rank orders the nodes: those that stay, then those that cost least for what of
// the scarce they have, the fullest first among equals.
func (s *search) rank() {
	s.order = s.order[:0]
	scarce := s.scarcity()
	value := make([]float64, len(s.on))
	for n := range s.on {
		s.order = append(s.order, int32(n))
		has := scarce[0]*float64(s.p.first[n+1]-s.p.first[n]) + scarce[1]*float64(s.p.Nodes[n].CPUMilli) + scarce[2]*float64(s.p.Nodes[n].MemoryBytes)
		value[n] = float64(s.p.price(int32(n))) / max(has, 1e-12)
	}
	stays := func(n int32) int {
		if s.bound(n) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(s.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(stays(a), stays(b)), cmp.Compare(value[a], value[b]), cmp.Compare(s.used[b], s.used[a]), cmp.Compare(s.cpu[a], s.cpu[b]))
	})
}

// scarcity is how much of each resource is asked for, of what there is, for one
// GPU, thousandth of a CPU and byte. What is asked for more weighs more.
func (s *search) scarcity() (out [3]float64) {
	var has, asked [3]float64
	for n := range s.on {
		has[0] += float64(s.p.first[n+1] - s.p.first[n])
		has[1] += float64(s.p.Nodes[n].CPUMilli)
		has[2] += float64(s.p.Nodes[n].MemoryBytes)
		asked[0] += float64(s.used[n]) / float64(unit)
	}
	for i := range s.p.Pods {
		asked[1] += float64(s.p.Pods[i].CPUMilli)
		asked[2] += float64(s.p.Pods[i].MemoryBytes)
	}
	for i := range out {
		if has[i] > 0 {
			share := asked[i] / has[i]
			out[i] = share * share * share / has[i]
		}
	}
	return out
}
