// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// WorkDefault is how many places a search looks at. Ten thousand GPUs may take all
// of it (docs/packing-speed.md); the plan then says that it was cut short.
const WorkDefault = 400_000_000

// fullness is how full a node must be able to become, in thousandths, to be
// filled as it is, in one try after the other.
var fullness = []int64{0, 900, 1001}

// Solve finds a plan. It aims at the lowest cost now, then the lowest when
// commitments end, then the fewest nodes without a price, then the least that is
// stranded, then the fewest restarts. The plan is feasible step by step (Replay is
// asked), and never worse than the fleet as it is. work is how many places may be
// looked at, 0 for WorkDefault.
func Solve(f Fleet, work int64) (Plan, error) {
	p, err := prepare(f)
	if err != nil {
		return Plan{}, err
	}
	if err := p.total(); err != nil {
		return Plan{}, err
	}
	c := chooser{p: p, limit: cmp.Or(work, WorkDefault), bound: p.bound()}
	c.run()
	out := c.best.plan
	out.Bound, out.Work, out.Cut = min(c.bound, out.After), c.work, c.cut
	if _, err := Replay(f, out); err != nil {
		return Plan{}, fmt.Errorf("plan: the search made a plan that its check refuses, which is a defect: %w", err)
	}
	return out, nil
}

// total fails where prices add up to more than an amount can be.
func (p *problem) total() error {
	var sum money.Sum
	for i := range p.Nodes {
		if h := p.Nodes[i].Hour; h != nil {
			sum.Add(*h)
		}
	}
	if _, err := sum.Nano(); err != nil {
		return fmt.Errorf("plan: prices of all nodes: %w", err)
	}
	return nil
}

// chooser tries ways to search and keeps the best.
type chooser struct {
	p     *problem
	limit int64
	work  int64
	cut   bool
	bound money.Nano
	least Ask
	best  *candidate
}

// candidate is a plan with what it is judged by.
type candidate struct {
	plan     Plan
	end      *state     // where it leads
	later    money.Nano // paid when all commitments have ended
	unpriced int
}

func (c *chooser) run() {
	c.least, _ = Least(c.p.Fleet)
	begin := start(c.p)
	c.consider(begin)
	c.round(begin)
	c.round(c.try(begin, func(s *search) { s.vacate() }))
	// Once more from the best, as long as that helps: for what was stuck there may be
	// room now.
	for had := (*candidate)(nil); had != c.best && !c.done(); {
		had = c.best
		c.round(had.end)
		c.try(had.end, func(s *search) { s.vacate() })
	}
}

// round tries every way to search on from a state.
func (c *chooser) round(from *state) {
	for _, least := range fullness {
		if c.done() {
			return
		}
		swept := c.try(from, func(s *search) { s.rank(); s.sweep(least) })
		c.try(swept, func(s *search) { s.vacate() })
	}
}

// done: nothing cheaper exists, or the work is used up.
func (c *chooser) done() bool {
	b := c.best
	return c.cut || b.plan.After <= c.bound && b.later <= b.plan.After && b.unpriced == 0
}

func (c *chooser) try(from *state, how func(*search)) *state {
	s := &search{state: from.copy(), limit: c.limit - c.work}
	s.work = 0
	how(s)
	c.work += s.work
	c.cut = c.cut || s.spent()
	c.consider(s.state)
	return s.state
}

// consider makes a plan of where a search ended, and keeps the better one. Pods that
// no order of steps brings there stay where they are: what else moves has room
// beside them.
func (c *chooser) consider(s *state) {
	for {
		s = c.home(s)
		t, ok := concrete(s)
		if !ok {
			return
		}
		moves, stuck := t.steps()
		if len(stuck) == 0 {
			one := c.judge(t, moves)
			one.end = s
			if c.best == nil || one.compare(c.best) < 0 {
				c.best = one
			}
			return
		}
		for _, pod := range slices.Concat(stuck...) {
			s.revert(pod)
		}
	}
}

// home takes back the moves that gave nothing: of pods whose node stays, and to
// which nothing came.
func (c *chooser) home(s *state) *state {
	out := s.copy()
	came, gone := make([]bool, len(s.on)), make([]bool, len(s.on))
	t := target{state: s}
	for pod := range s.at {
		came[s.at[pod].node] = came[s.at[pod].node] || t.moved(int32(pod))
	}
	for n := range s.on {
		gone[n] = len(s.on[n]) == 0 && c.p.Nodes[n].Keep == ""
	}
	for pod := range s.at {
		if h := &c.p.home[pod]; t.moved(int32(pod)) && !came[h.node] && !gone[h.node] {
			out.revert(int32(pod))
		}
	}
	return out
}

// revert puts a pod back where it was at the start, on a node to which nothing
// came.
func (s *state) revert(pod int32) {
	s.leave(pod)
	s.at[pod] = s.p.home[pod]
	at, n := &s.at[pod], s.at[pod].node
	s.on[n] = append(s.on[n], pod)
	for _, i := range at.cards {
		// Nobody else came to the card: it has its first layout again.
		s.cards[i].open = false
		s.cards[i].pods++
	}
	s.cpu[n] -= s.p.Pods[pod].CPUMilli
	s.memory[n] -= s.p.Pods[pod].MemoryBytes
	s.seats[n]--
	s.used[n] += s.taken(at)
}

func (c *chooser) judge(t *target, moves []Step) *candidate {
	p := c.p
	goes := make([]bool, len(p.Nodes))
	out := &candidate{}
	for n := range p.Nodes {
		node := &p.Nodes[n]
		goes[n] = node.Keep == "" && len(t.on[n]) == 0
		out.account(node, goes[n], p.NowMS)
	}
	out.plan.Steps = t.whole(moves, goes)
	out.plan.Restarts = restarts(t)
	out.plan.StrandedBefore = allStranded(p.Fleet, c.least)
	out.plan.StrandedAfter = allStranded(t.fleet(goes), c.least)
	return out
}

func (c *candidate) account(n *Node, goes bool, nowMS int64) {
	committed := n.CommittedUntilMS > nowMS
	if n.Hour != nil {
		c.plan.Before += *n.Hour
		if !goes || committed {
			c.plan.After += *n.Hour
		}
		if !goes {
			c.later += *n.Hour
		}
	} else if !goes {
		c.unpriced++
	}
	if !goes {
		return
	}
	r := Returned{Node: n.Name, Type: n.Type, Hour: n.Hour}
	if committed {
		r.CommittedUntilMS = n.CommittedUntilMS
	}
	if n.Hour == nil {
		c.plan.Unpriced++
	}
	c.plan.Returns = append(c.plan.Returns, r)
}

func (c *candidate) compare(o *candidate) int {
	return cmp.Or(cmp.Compare(c.plan.After, o.plan.After), cmp.Compare(c.later, o.later), cmp.Compare(c.unpriced, o.unpriced),
		cmp.Compare(c.plan.StrandedAfter, o.plan.StrandedAfter), cmp.Compare(len(c.plan.Restarts), len(o.plan.Restarts)))
}

// restarts are the pods that move, and those of their gangs.
func restarts(t *target) (out []string) {
	touched := make([]bool, len(t.p.gangs))
	for pod := range t.at {
		if g := t.p.gang[pod]; g >= 0 && t.moved(int32(pod)) {
			touched[g] = true
		}
	}
	for pod := range t.at {
		if g := t.p.gang[pod]; t.moved(int32(pod)) || g >= 0 && touched[g] {
			out = append(out, t.p.Pods[pod].ID)
		}
	}
	return out
}

// fleet is the fleet where the search ended.
func (t *target) fleet(goes []bool) Fleet {
	out := Fleet{NowMS: t.p.NowMS, Pods: slices.Clone(t.p.Pods)}
	for n := range t.p.Nodes {
		if goes[n] {
			continue
		}
		node := t.p.Nodes[n]
		node.GPUs = slices.Clone(node.GPUs)
		for j := range node.GPUs {
			c := t.p.first[n] + int32(j)
			if t.relaid[c] {
				node.GPUs[j].Layout, node.GPUs[j].MIG = t.layouts[c], len(t.layouts[c]) > 0
			}
		}
		out.Nodes = append(out.Nodes, node)
	}
	for pod := range out.Pods {
		if t.moved(int32(pod)) {
			out.Pods[pod].At = t.destination(int32(pod))
		}
	}
	return out
}

// Bound is the sum in an hour that no packing of the fleet's pods on its nodes
// costs less than.
func Bound(f Fleet) (money.Nano, error) {
	p, err := prepare(f)
	if err != nil {
		return 0, err
	}
	return p.bound(), p.total()
}
