// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"slices"
)

// target is where a search ended, made concrete: layouts and instances.
type target struct {
	*state
	layouts  [][]Instance // of each card
	relaid   []bool
	instance []int32   // of each pod: its place in the layout, -1 for none
	homes    [][]int32 // the pods that each card has at the start
}

// concrete gives each card the layout that its pods need, and each pod its
// instance. A card whose layout serves as it is keeps it. It is false where that
// cannot be.
func concrete(s *state) (*target, bool) {
	t := &target{state: s, layouts: make([][]Instance, len(s.cards)), relaid: make([]bool, len(s.cards)), homes: make([][]int32, len(s.cards)), instance: slices.Repeat([]int32{-1}, len(s.at))}
	on := make([][]int32, len(s.cards))
	for pod := range s.at {
		for _, c := range s.at[pod].cards {
			on[c] = append(on[c], int32(pod))
		}
		for _, c := range s.p.home[pod].cards {
			t.homes[c] = append(t.homes[c], int32(pod))
		}
	}
	for c := range s.cards {
		if !t.settle(int32(c), on[c]) {
			return nil, false
		}
	}
	return t, true
}

// settle decides a card.
func (t *target) settle(c int32, pods []int32) bool {
	card, is := t.p.cards[c], &t.cards[c]
	t.layouts[c] = card.Layout
	if !card.MIG {
		t.layouts[c] = nil
	}
	if len(pods) == 0 {
		return true
	}
	if t.at[pods[0]].profile < 0 {
		if card.MIG {
			t.layouts[c], t.relaid[c] = nil, true
		}
		return true
	}
	if is.open && (!card.MIG || !t.serves(c, pods)) {
		t.layouts[c], t.relaid[c] = t.p.kinds[t.p.kind[c]].geo.states[is.layout].instances, true
	}
	return t.assign(c, pods)
}

// serves says whether the layout of now has an instance for each pod.
func (t *target) serves(c int32, pods []int32) bool {
	g := t.p.kinds[t.p.kind[c]].geo
	has := laid(g, t.p.cards[c].Layout)
	for _, pod := range pods {
		if has[t.at[pod].profile] == 0 {
			return false
		}
		has[t.at[pod].profile]--
	}
	return true
}

// assign gives pods their instances: those that stay the one they have, the
// others first those that nobody has at the start.
func (t *target) assign(c int32, pods []int32) bool {
	layout, taken := t.layouts[c], make([]bool, len(t.layouts[c]))
	for _, pod := range pods {
		if in := t.p.Pods[pod].At.Instance; in != nil && !t.moved(pod) {
			i := slices.Index(layout, *in)
			if i < 0 || taken[i] || t.relaid[c] {
				return false
			}
			taken[i], t.instance[pod] = true, int32(i)
		}
	}
	busy := make([]bool, len(layout))
	if !t.relaid[c] {
		for _, pod := range t.homes[c] {
			if in := t.p.Pods[pod].At.Instance; in != nil {
				busy[slices.Index(layout, *in)] = true
			}
		}
	}
	for _, pod := range pods {
		if !t.moved(pod) {
			continue
		}
		name := t.p.kinds[t.p.kind[c]].geo.profiles[t.at[pod].profile].Name
		best := -1
		for i := range layout {
			if layout[i].Profile == name && !taken[i] && (best < 0 || busy[best] && !busy[i]) {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		taken[best], t.instance[pod] = true, int32(best)
	}
	return true
}

// moved: the pod is elsewhere than at the start.
func (t *target) moved(pod int32) bool {
	h, at := &t.p.home[pod], &t.at[pod]
	return h.node != at.node || h.profile != at.profile || h.milli != at.milli || !slices.Equal(h.cards, at.cards)
}

// world is the fleet while steps are put in order.
type world struct {
	*target
	cpu, memory []int64
	seats       []int32
	pods        []int16 // on each card
	milli       []int32
	domain      []int32
	whole       []bool
	busy        [][]bool // instances of each card
	laid        []bool
}

func newWorld(t *target) *world {
	s := start(t.p)
	w := &world{target: t, cpu: s.cpu, memory: s.memory, seats: s.seats, laid: make([]bool, len(t.cards)), busy: make([][]bool, len(t.cards))}
	for c := range s.cards {
		is := &s.cards[c]
		w.pods, w.milli, w.domain, w.whole = append(w.pods, is.pods), append(w.milli, is.milli), append(w.domain, is.domain), append(w.whole, is.whole)
		w.busy[c] = make([]bool, len(t.p.cards[c].Layout))
	}
	for pod := range t.p.home {
		if h := &t.p.home[pod]; h.profile >= 0 {
			w.busy[h.cards[0]][w.homeInstance(int32(pod))] = true
		}
	}
	return w
}

func (w *world) homeInstance(pod int32) int {
	return slices.Index(w.p.cards[w.p.home[pod].cards[0]].Layout, *w.p.Pods[pod].At.Instance)
}

// ready says whether there is room for a pod where it goes.
func (w *world) ready(pod int32) bool {
	at, is := &w.at[pod], &w.p.Pods[pod]
	n := at.node
	if w.cpu[n] < is.CPUMilli || w.memory[n] < is.MemoryBytes || w.seats[n] < 1 {
		return false
	}
	for _, c := range at.cards {
		switch {
		case w.relaid[c] && !w.laid[c]:
			if w.pods[c] > 0 {
				return false
			}
		case at.profile >= 0:
			if w.busy[c][w.instance[pod]] {
				return false
			}
		case at.milli > 0:
			if w.whole[c] || w.milli[c]+at.milli > 1000 || w.pods[c] > 0 && w.domain[c] != w.p.domain[pod] {
				return false
			}
		case w.pods[c] > 0:
			return false
		}
	}
	return true
}

// arrive takes a pod's new place, and returns the layouts to be made before.
func (w *world) arrive(pod int32) (steps []Step) {
	at, is := &w.at[pod], &w.p.Pods[pod]
	n := at.node
	w.cpu[n], w.memory[n], w.seats[n] = w.cpu[n]-is.CPUMilli, w.memory[n]-is.MemoryBytes, w.seats[n]-1
	for _, c := range at.cards {
		if w.relaid[c] && !w.laid[c] {
			w.laid[c], w.busy[c] = true, make([]bool, len(w.layouts[c]))
			steps = append(steps, Step{Action: Layout, Node: w.p.Nodes[n].Name, GPU: w.p.cards[c].UUID, Instances: w.layouts[c]})
		}
		switch {
		case at.profile >= 0:
			w.busy[c][w.instance[pod]] = true
		case at.milli > 0:
			w.milli[c] += at.milli
		default:
			w.whole[c] = true
		}
		if w.pods[c] == 0 {
			w.domain[c] = w.p.domain[pod]
		}
		w.pods[c]++
	}
	return steps
}

// depart gives up a pod's old place.
func (w *world) depart(pod int32) {
	h, is := &w.p.home[pod], &w.p.Pods[pod]
	n := h.node
	w.cpu[n], w.memory[n], w.seats[n] = w.cpu[n]+is.CPUMilli, w.memory[n]+is.MemoryBytes, w.seats[n]+1
	for _, c := range h.cards {
		w.pods[c]--
		switch {
		case h.profile >= 0:
			w.busy[c][w.homeInstance(pod)] = false
		case h.milli > 0:
			w.milli[c] -= h.milli
		default:
			w.whole[c] = false
		}
	}
}

// steps puts the moves in an order in which each finds room. What cannot move is
// stuck: it waits for room that something stuck has.
func (t *target) steps() (out []Step, stuck [][]int32) {
	w := newWorld(t)
	units := t.units()
	for len(units) > 0 {
		var left [][]int32
		for _, u := range units {
			if s, ok := w.try(u); ok {
				out = append(out, s...)
			} else {
				left = append(left, u)
			}
		}
		if len(left) == len(units) {
			return out, left
		}
		units = left
	}
	return out, nil
}

// try moves pods at once: all arrive before one departs. Where one has no room,
// those that arrived go back.
func (w *world) try(unit []int32) (out []Step, ok bool) {
	move := Step{Action: Move}
	before := w.snapshot(unit)
	for _, pod := range unit {
		if !w.ready(pod) {
			before()
			return nil, false
		}
		out = append(out, w.arrive(pod)...)
		move.Moves = append(move.Moves, PodMove{w.p.Pods[pod].ID, w.destination(pod)})
	}
	for _, pod := range unit {
		w.depart(pod)
	}
	return append(out, move), true
}

// snapshot keeps what the arrival of several pods changes, and returns what
// brings it back. One pod arrives only where there is room for it.
func (w *world) snapshot(unit []int32) (back func()) {
	if len(unit) == 1 {
		return func() {}
	}
	is := *w
	is.cpu, is.memory, is.seats = slices.Clone(w.cpu), slices.Clone(w.memory), slices.Clone(w.seats)
	is.pods, is.milli, is.domain, is.whole, is.laid = slices.Clone(w.pods), slices.Clone(w.milli), slices.Clone(w.domain), slices.Clone(w.whole), slices.Clone(w.laid)
	is.busy = slices.Clone(w.busy)
	for _, pod := range unit {
		for _, c := range w.at[pod].cards {
			is.busy[c] = slices.Clone(w.busy[c])
		}
	}
	return func() { *w = is }
}

// destination is where a pod goes, by names.
func (t *target) destination(pod int32) Place {
	at := &t.at[pod]
	out := Place{Node: t.p.Nodes[at.node].Name, Milli: int(at.milli)}
	for _, c := range at.cards {
		out.GPUs = append(out.GPUs, t.p.cards[c].UUID)
	}
	if at.profile >= 0 {
		out.Instance = new(t.layouts[at.cards[0]][t.instance[pod]])
	}
	return out
}

// units is what moves together, in the order in which the search moved it.
func (t *target) units() (out [][]int32) {
	last := map[int32]int{}
	for i, pod := range t.moves {
		last[pod] = i
	}
	seen := map[int32]bool{}
	for i, pod := range t.moves {
		if last[pod] != i || !t.moved(pod) || seen[pod] {
			continue
		}
		unit := []int32{pod}
		if g := t.p.gang[pod]; g >= 0 {
			unit = slices.DeleteFunc(slices.Clone(t.p.gangs[g]), func(m int32) bool { return !t.moved(m) })
		}
		for _, m := range unit {
			seen[m] = true
		}
		out = append(out, unit)
	}
	return out
}

// whole is the plan's steps: nodes that go are cordoned first, and given back
// when their last pod is gone.
func (t *target) whole(moves []Step, goes []bool) (out []Step) {
	left := make([]int, len(t.p.Nodes))
	home := map[string]int32{}
	for pod := range t.p.home {
		left[t.p.home[pod].node]++
		home[t.p.Pods[pod].ID] = t.p.home[pod].node
	}
	name := func(n int) string { return t.p.Nodes[n].Name }
	for n := range goes {
		if goes[n] {
			out = append(out, Step{Action: Cordon, Node: name(n)})
		}
	}
	for n := range goes {
		if goes[n] && left[n] == 0 {
			out = append(out, Step{Action: Return, Node: name(n)})
		}
	}
	for _, s := range moves {
		out = append(out, s)
		var gone []int
		for _, m := range s.Moves {
			n := home[m.Pod]
			if left[n]--; left[n] == 0 && goes[n] {
				gone = append(gone, int(n))
			}
		}
		slices.SortFunc(gone, cmp.Compare)
		for _, n := range gone {
			out = append(out, Step{Action: Return, Node: name(n)})
		}
	}
	return out
}
