// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// cheapestEver is what the cheapest packing costs, by trying all of them. It
// knows no order of steps: pods are taken out and put in again, the layouts of
// cards without a pod that stays are free.
func cheapestEver(f Fleet) money.Nano {
	best := money.Nano(0)
	for _, n := range f.Nodes {
		if n.Hour != nil {
			best += *n.Hour
		}
	}
	p, err := prepare(f)
	if err != nil {
		panic(err)
	}
	stays := p.stays()
	for set := range 1 << len(p.Nodes) {
		goes, cost := make([]bool, len(p.Nodes)), money.Nano(0)
		ok := true
		for n := range p.Nodes {
			goes[n] = set>>n&1 == 1
			ok = ok && !(goes[n] && stays[n])
			if h := p.Nodes[n].Hour; h != nil && (!goes[n] || p.Nodes[n].CommittedUntilMS > p.NowMS) {
				cost += *h
			}
		}
		if ok && cost < best && packs(p, goes) {
			best = cost
		}
	}
	return best
}

// packs says whether all pods fit on the nodes that do not go: each pod stays,
// or goes anywhere.
func packs(p *problem, goes []bool) bool {
	var movers []int32
	choose := func(set int) bool {
		s := start(p)
		movers = movers[:0]
		for pod := range p.home {
			if set>>pod&1 == 1 {
				movers = append(movers, int32(pod))
				s.leave(int32(pod))
			}
		}
		return seat(s, movers, goes)
	}
	for set := range 1 << len(p.home) {
		ok := true
		for pod := range p.home {
			moves := set>>pod&1 == 1
			ok = ok && !(moves && p.stuck[pod]) && (moves || !goes[p.home[pod].node])
		}
		if ok && choose(set) {
			return true
		}
	}
	return false
}

func seat(s *state, movers []int32, goes []bool) bool {
	if len(movers) == 0 {
		return true
	}
	pod := movers[0]
	for n := range goes {
		if goes[n] {
			continue
		}
		for _, to := range s.rooms(int32(n), pod) {
			was := s.at[pod]
			kept := map[int32]card{}
			for _, c := range to.cards {
				kept[c] = s.cards[c]
			}
			s.at[pod] = to
			s.enter(pod, false)
			if seat(s, movers[1:], goes) {
				return true
			}
			s.leave(pod)
			for c, is := range kept {
				s.cards[c] = is
			}
			s.at[pod] = was
		}
	}
	return false
}

// rooms is every place of a pod on a node, one for each card.
func (s *state) rooms(n, pod int32) (out []spot) {
	is := &s.p.Pods[pod]
	if is.Need == (Need{}) || is.Need.GPUs > 1 {
		if to, _, ok := s.room(n, pod); ok {
			return []spot{to}
		}
		return nil
	}
	if !s.p.allowed[s.p.rule[pod]][n] || s.cpu[n] < is.CPUMilli || s.memory[n] < is.MemoryBytes || s.seats[n] < 1 {
		return nil
	}
	for c := s.p.first[n]; c < s.p.first[n+1]; c++ {
		if !s.p.models[s.p.rule[pod]][s.p.kind[c]] {
			continue
		}
		if is.Need.GPUs == 1 {
			if s.canWhole(c, pod) {
				out = append(out, spot{node: n, cards: []int32{c}, profile: -1})
			}
			continue
		}
		if to, _, ok := s.cardRoom(c, pod); ok {
			to.node = n
			out = append(out, to)
		}
	}
	return out
}

// TestSmallFleets: the plan is carried out by a check that shares nothing with
// the search, never costs more than before, and is held beside the cheapest of
// all packings and the bound.
func TestSmallFleets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cheapest, saved, moved := 0, 0, 0
	const fleets = 400
	for i := range fleets {
		f := small(r)
		p := plan(t, f)
		after, err := Replay(f, p)
		if err != nil {
			t.Fatalf("fleet %d: %v", i, err)
		}
		best := cheapestEver(f)
		if p.Bound > best || p.After < best || p.After > p.Before {
			text, _ := json.Marshal(f)
			t.Fatalf("fleet %d: bound %s ≤ cheapest %s ≤ plan %s ≤ before %s is not so\n%s", i, p.Bound, best, p.After, p.Before, text)
		}
		if len(after.Nodes)+len(p.Returns) != len(f.Nodes) || len(after.Pods) != len(f.Pods) {
			t.Fatalf("fleet %d: nodes or pods are lost", i)
		}
		if p.After == best {
			cheapest++
		}
		if p.After < p.Before {
			saved++
		}
		if len(p.Restarts) > 0 {
			moved++
		}
	}
	t.Logf("of %d fleets %d are packed as cheaply as can be, %d save, %d with moves", fleets, cheapest, saved, moved)
	if cheapest < fleets*9/10 || moved < fleets/10 {
		t.Errorf("of %d fleets only %d are packed as cheaply as can be, %d move", fleets, cheapest, moved)
	}
}

// TestOrderOfInput: the same fleet gives the same bytes, in whatever order its
// parts come.
func TestOrderOfInput(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		f := small(r)
		want, _ := json.Marshal(plan(t, f))
		r.Shuffle(len(f.Nodes), func(i, j int) { f.Nodes[i], f.Nodes[j] = f.Nodes[j], f.Nodes[i] })
		r.Shuffle(len(f.Pods), func(i, j int) { f.Pods[i], f.Pods[j] = f.Pods[j], f.Pods[i] })
		for k := range f.Nodes {
			g := f.Nodes[k].GPUs
			r.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
			for j := range g {
				l := append([]Instance{}, g[j].Layout...)
				r.Shuffle(len(l), func(a, b int) { l[a], l[b] = l[b], l[a] })
				g[j].Layout = l
			}
		}
		if got, _ := json.Marshal(plan(t, f)); string(got) != string(want) {
			t.Fatalf("not the same:\n%s\n%s", got, want)
		}
	}
}

// TestLimit: little work makes a worse plan, and one that says so, but never one
// that cannot be carried out.
func TestLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	cut := 0
	for range 100 {
		f := small(r)
		p, err := Solve(f, 1+r.Int64N(30))
		if err != nil {
			t.Fatal(err)
		}
		if p.After > p.Before {
			t.Errorf("%s after, %s before", p.After, p.Before)
		}
		if p.Cut {
			cut++
		}
	}
	if cut < 10 {
		t.Errorf("%d searches were cut short", cut)
	}
}
