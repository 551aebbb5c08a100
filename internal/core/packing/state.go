// SPDX-License-Identifier: Apache-2.0

package packing

import "slices"

// state is a fleet on the way: who is where, and what room is left.
type state struct {
	p           *problem
	cpu, memory []int64 // free, by node
	seats       []int32 // free places for pods, by node
	used        []int64 // units of GPUs taken, by node
	on          [][]int32
	cards       []card
	at          []spot
	log         []change
	moves       []int32 // pods in the order in which they were moved, for the order of steps
	work        int64
}

// card is one GPU on the way.
type card struct {
	pods   int16
	whole  bool // somebody has it whole
	open   bool // nobody of before is on it: its layout can still change
	layout int16
	domain int32 // of who shares it; -1: of several
	milli  int32
	free   counts // instances that nobody has
}

// change can be taken back: a pod's place before, and the cards that it touched.
type change struct {
	pod   int32
	was   spot
	index []int32
	cards []card
}

// start is the fleet as it is.
func start(p *problem) *state {
	s := &state{p: p, cards: make([]card, len(p.cards)), at: slices.Clone(p.home), on: make([][]int32, len(p.Nodes))}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		seats := int32(n.MostPods)
		if seats == 0 {
			seats = 1 << 30
		}
		s.cpu, s.memory, s.seats = append(s.cpu, n.CPUMilli), append(s.memory, n.MemoryBytes), append(s.seats, seats)
	}
	s.used = make([]int64, len(p.Nodes))
	for c := range s.cards {
		s.clear(int32(c))
		if k := &p.kinds[p.kind[c]]; k.geo != nil && p.cards[c].MIG {
			s.cards[c].free = laid(k.geo, p.cards[c].Layout)
		}
	}
	for i := range p.Pods {
		s.enter(int32(i), true)
	}
	for c := range s.cards {
		if s.cards[c].pods == 0 {
			s.clear(int32(c))
		}
	}
	return s
}

func laid(g *geometry, layout []Instance) (c counts) {
	for _, in := range layout {
		if i := g.index(in.Profile); i >= 0 {
			c[i]++
		}
	}
	return c
}

// clear is a card without pods: any layout is open to it, unless it is fixed.
func (s *state) clear(c int32) {
	s.cards[c] = card{open: s.p.cards[c].Fixed == ""}
	if g := s.p.cards[c]; g.Fixed != "" && g.MIG && s.p.kinds[s.p.kind[c]].geo != nil {
		s.cards[c].free = laid(s.p.kinds[s.p.kind[c]].geo, g.Layout)
	}
}

// enter counts a pod in where it is. first: the fleet is being set up.
func (s *state) enter(pod int32, first bool) {
	at, is := &s.at[pod], &s.p.Pods[pod]
	n := at.node
	s.cpu[n], s.memory[n], s.seats[n] = s.cpu[n]-is.CPUMilli, s.memory[n]-is.MemoryBytes, s.seats[n]-1
	s.on[n] = append(s.on[n], pod)
	s.used[n] += s.taken(at)
	for _, i := range at.cards {
		c := &s.cards[i]
		switch {
		case at.profile >= 0 && c.open && !first:
			c.layout = s.p.kinds[s.p.kind[i]].geo.next[c.layout][at.profile]
		case at.profile >= 0:
			c.free[at.profile]--
		case at.milli > 0:
			c.milli += at.milli
		default:
			c.whole = true
		}
		switch {
		case c.pods == 0:
			c.domain = s.p.domain[pod]
		case c.domain != s.p.domain[pod]:
			c.domain = -1
		}
		if first {
			c.open = false
		}
		c.pods++
	}
}

// leave counts a pod out.
func (s *state) leave(pod int32) {
	at, is := &s.at[pod], &s.p.Pods[pod]
	n := at.node
	s.cpu[n], s.memory[n], s.seats[n] = s.cpu[n]+is.CPUMilli, s.memory[n]+is.MemoryBytes, s.seats[n]+1
	i := slices.Index(s.on[n], pod)
	last := len(s.on[n]) - 1
	s.on[n][i] = s.on[n][last]
	s.on[n] = s.on[n][:last]
	s.used[n] -= s.taken(at)
	for _, i := range at.cards {
		c := &s.cards[i]
		c.pods--
		switch {
		case c.pods == 0:
			s.clear(i)
		case at.profile >= 0 && c.open:
			c.layout = s.p.kinds[s.p.kind[i]].geo.prev[c.layout][at.profile]
		case at.profile >= 0:
			c.free[at.profile]++
		case at.milli > 0:
			c.milli -= at.milli
		default:
			c.whole = false
		}
	}
}

// taken is how much of its cards a pod keeps from others, in units.
func (s *state) taken(at *spot) (n int64) {
	for _, c := range at.cards {
		switch {
		case at.profile >= 0:
			n += int64(s.p.kinds[s.p.kind[c]].units(at.profile))
		case at.milli > 0:
			n += int64(at.milli) * int64(unit/1000)
		default:
			n += int64(unit)
		}
	}
	return n
}

// move puts a pod elsewhere.
func (s *state) move(pod int32, to spot) {
	ch := change{pod: pod, was: s.at[pod]}
	for _, list := range [][]int32{s.at[pod].cards, to.cards} {
		for _, c := range list {
			ch.index, ch.cards = append(ch.index, c), append(ch.cards, s.cards[c])
		}
	}
	s.leave(pod)
	s.at[pod] = to
	s.enter(pod, false)
	s.log = append(s.log, ch)
	s.moves = append(s.moves, pod)
}

// undo takes back what was moved since the log had that length.
func (s *state) undo(to int) {
	for len(s.log) > to {
		ch := s.log[len(s.log)-1]
		s.log, s.moves = s.log[:len(s.log)-1], s.moves[:len(s.moves)-1]
		s.leave(ch.pod)
		s.at[ch.pod] = ch.was
		s.enter(ch.pod, false)
		// Cards are restored last, and in reverse, since leaving and entering
		// does not find back what a card was before it became empty.
		for i := len(ch.index) - 1; i >= 0; i-- {
			s.cards[ch.index[i]] = ch.cards[i]
		}
	}
}

// copy is a state that goes its own way.
func (s *state) copy() *state {
	out := *s
	out.cpu, out.memory, out.seats, out.used = slices.Clone(s.cpu), slices.Clone(s.memory), slices.Clone(s.seats), slices.Clone(s.used)
	out.cards, out.at, out.log, out.moves = slices.Clone(s.cards), slices.Clone(s.at), nil, slices.Clone(s.moves)
	out.on = make([][]int32, len(s.on))
	for i := range s.on {
		out.on[i] = slices.Clone(s.on[i])
	}
	return &out
}
