// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Replay carries a plan out on a fleet, step by step, and returns the fleet
// afterwards. It fails at the first step that cannot be done, or if the plan's
// figures are not what came out. It knows nothing of how plans are made.
func Replay(f Fleet, plan Plan) (Fleet, error) {
	r, err := newReplay(f, plan)
	if err != nil {
		return Fleet{}, err
	}
	for i := range plan.Steps {
		if err := r.step(&plan.Steps[i]); err != nil {
			return Fleet{}, fmt.Errorf("step %d (%s): %w", i+1, plan.Steps[i].Action, err)
		}
	}
	if err := r.finish(plan); err != nil {
		return Fleet{}, err
	}
	return r.fleet(f), nil
}

// replay is the fleet as it stands between two steps.
type replay struct {
	nodes map[string]*standing
	pods  map[string]*Pod
	gangs map[string][]string
	goes  map[string]bool
	moved map[string]bool
	nowMS int64
}

// standing is a node with who is on it.
type standing struct {
	Node
	pods           map[string]bool
	cordoned, gone bool
}

func newReplay(f Fleet, plan Plan) (*replay, error) {
	r := &replay{nodes: map[string]*standing{}, pods: map[string]*Pod{}, gangs: map[string][]string{}, goes: map[string]bool{}, moved: map[string]bool{}, nowMS: f.NowMS}
	for _, n := range f.Nodes {
		n.GPUs = slices.Clone(n.GPUs)
		r.nodes[n.Name] = &standing{Node: n, pods: map[string]bool{}}
	}
	for _, p := range f.Pods {
		if r.nodes[p.At.Node] == nil {
			return nil, fmt.Errorf("pod %s is on no node of the fleet", p.ID)
		}
		r.pods[p.ID] = &p
		r.nodes[p.At.Node].pods[p.ID] = true
		if p.Gang != "" {
			r.gangs[p.Gang] = append(r.gangs[p.Gang], p.ID)
		}
	}
	for _, n := range plan.Returns {
		r.goes[n.Node] = true
	}
	return r, nil
}

func (r *replay) step(s *Step) error {
	if s.Action == Move {
		return r.move(s.Moves)
	}
	n := r.nodes[s.Node]
	if n == nil || n.gone {
		return fmt.Errorf("node %q is not there", s.Node)
	}
	switch s.Action {
	case Cordon:
		if !r.goes[s.Node] {
			return fmt.Errorf("node %s is cordoned and never given back", s.Node)
		}
		n.cordoned = true
	case Layout:
		return r.layout(n, s)
	case Return:
		return r.giveBack(n)
	default:
		return fmt.Errorf("no such action")
	}
	return nil
}

func (r *replay) giveBack(n *standing) error {
	switch {
	case n.Keep != "":
		return fmt.Errorf("node %s cannot be given back: %s", n.Name, n.Keep)
	case len(n.pods) > 0:
		return fmt.Errorf("node %s has %d pods", n.Name, len(n.pods))
	case !n.cordoned || !r.goes[n.Name]:
		return fmt.Errorf("node %s was not cordoned, or is not among those that go", n.Name)
	}
	n.gone = true
	return nil
}

func (n *standing) card(id gpu.UUID) *GPU {
	for i := range n.GPUs {
		if n.GPUs[i].UUID == id {
			return &n.GPUs[i]
		}
	}
	return nil
}

// holders are the pods on a card.
func (r *replay) holders(n *standing, id gpu.UUID) (out []*Pod) {
	for name := range n.pods {
		if p := r.pods[name]; slices.Contains(p.At.GPUs, id) {
			out = append(out, p)
		}
	}
	return out
}

func (r *replay) layout(n *standing, s *Step) error {
	g := n.card(s.GPU)
	switch {
	case g == nil:
		return fmt.Errorf("node %s has no GPU %s", n.Name, s.GPU)
	case g.Fixed != "":
		return fmt.Errorf("the layout of GPU %s stays: %s", s.GPU, g.Fixed)
	case len(r.holders(n, s.GPU)) > 0:
		return fmt.Errorf("GPU %s has pods", s.GPU)
	}
	if err := legal(g, s.Instances); err != nil {
		return fmt.Errorf("GPU %s: %w", s.GPU, err)
	}
	g.MIG, g.Layout = len(s.Instances) > 0, s.Instances
	return nil
}

// legal: each instance lies where NVML says its profile can, no two on one slice.
func legal(g *GPU, layout []Instance) error {
	slice, of := map[uint32]bool{}, map[string]int{}
	for _, in := range layout {
		i := slices.IndexFunc(g.Profiles, func(p Profile) bool { return p.Name == in.Profile })
		if i < 0 || !slices.Contains(g.Profiles[i].Placements, in.Placement) {
			return fmt.Errorf("%s cannot lie at slice %d", in.Profile, in.Placement.Start)
		}
		if of[in.Profile]++; g.Profiles[i].Most > 0 && of[in.Profile] > g.Profiles[i].Most {
			return fmt.Errorf("more than %d of %s", g.Profiles[i].Most, in.Profile)
		}
		for k := range in.Placement.Size {
			if slice[in.Placement.Start+k] {
				return fmt.Errorf("two instances on slice %d", in.Placement.Start+k)
			}
			slice[in.Placement.Start+k] = true
		}
	}
	return nil
}

// move puts pods where they go while all of them are still where they were.
func (r *replay) move(moves []PodMove) error {
	if len(moves) == 0 {
		return fmt.Errorf("nothing moves")
	}
	var shadows []string
	for i, m := range moves {
		p := r.pods[m.Pod]
		if p == nil {
			return fmt.Errorf("pod %q is not there", m.Pod)
		}
		if err := r.mayMove(p, moves); err != nil {
			return err
		}
		if err := r.fits(p, m.To); err != nil {
			return fmt.Errorf("pod %s to node %s: %w", m.Pod, m.To.Node, err)
		}
		// It is at both places until all have arrived.
		shadow := *p
		shadow.ID, shadow.At = fmt.Sprintf("%s\x00%d", m.Pod, i), m.To
		r.pods[shadow.ID] = &shadow
		r.nodes[m.To.Node].pods[shadow.ID] = true
		shadows = append(shadows, shadow.ID)
	}
	for i, m := range moves {
		p := r.pods[m.Pod]
		delete(r.nodes[p.At.Node].pods, m.Pod)
		delete(r.nodes[m.To.Node].pods, shadows[i])
		delete(r.pods, shadows[i])
		p.At, r.moved[m.Pod] = m.To, true
		r.nodes[m.To.Node].pods[m.Pod] = true
	}
	return nil
}

// mayMove: it is not pinned, nor any of its gang, and nobody of another gang
// moves in the same step. A pod moves once.
func (r *replay) mayMove(p *Pod, moves []PodMove) error {
	if r.moved[p.ID] {
		return fmt.Errorf("pod %s moves twice", p.ID)
	}
	if p.Pinned != "" {
		return fmt.Errorf("pod %s cannot move: %s", p.ID, p.Pinned)
	}
	if p.Gang == "" && len(moves) > 1 {
		return fmt.Errorf("pod %s has no gang and moves with others", p.ID)
	}
	for _, id := range r.gangs[p.Gang] {
		if q := r.pods[id]; q.Pinned != "" {
			return fmt.Errorf("pod %s cannot move: %s of its gang cannot: %s", p.ID, id, q.Pinned)
		}
		if r.moved[id] {
			return fmt.Errorf("pod %s moves after %s of its gang, and not with it", p.ID, id)
		}
	}
	for _, m := range moves {
		if q := r.pods[m.Pod]; q != nil && q.Gang != p.Gang {
			return fmt.Errorf("pods of gangs %q and %q move together", p.Gang, q.Gang)
		}
	}
	return nil
}

// fits: the node is there and takes the pod, and has what the pod needs.
func (r *replay) fits(p *Pod, to Place) error {
	n := r.nodes[to.Node]
	if n == nil || n.gone || n.cordoned {
		return fmt.Errorf("the node is cordoned or not there")
	}
	for key, want := range p.NodeLabels {
		if got, ok := n.Labels[key]; !ok || got != want {
			return fmt.Errorf("label %s is %q, it must be %q", key, got, want)
		}
	}
	for _, t := range n.Taints {
		if !slices.Contains(p.Tolerates, t) {
			return fmt.Errorf("it does not tolerate %s", t)
		}
	}
	cpu, memory := p.CPUMilli, p.MemoryBytes
	for id := range n.pods {
		cpu, memory = cpu+r.pods[id].CPUMilli, memory+r.pods[id].MemoryBytes
	}
	if cpu > n.CPUMilli || memory > n.MemoryBytes || n.MostPods > 0 && len(n.pods) >= n.MostPods {
		return fmt.Errorf("%d thousandths of a CPU, %d bytes and %d pods are more than there is", cpu, memory, len(n.pods)+1)
	}
	return r.serves(n, p, to)
}

// serves: the GPUs are of a model that the pod takes, free, and what it needs.
func (r *replay) serves(n *standing, p *Pod, to Place) error {
	seen := map[gpu.UUID]bool{}
	for _, id := range to.GPUs {
		g := n.card(id)
		if g == nil || seen[id] {
			return fmt.Errorf("GPU %s is not there, or twice", id)
		}
		seen[id] = true
		if len(p.Models) > 0 && !slices.Contains(p.Models, g.Model) {
			return fmt.Errorf("GPU %s is a %s", id, g.Model)
		}
		if err := free(g, p, to, r.holders(n, id)); err != nil {
			return fmt.Errorf("GPU %s: %w", id, err)
		}
	}
	return p.enough(n, to)
}

// free: nobody has that part of the card.
func free(g *GPU, p *Pod, to Place, others []*Pod) error {
	milli := to.Milli
	for _, o := range others {
		both := to.Instance != nil && o.At.Instance != nil || to.Milli > 0 && o.At.Milli > 0
		if milli += o.At.Milli; !both || to.Instance != nil && *to.Instance == *o.At.Instance {
			return fmt.Errorf("pod %s has it", o.ID)
		}
		if to.Milli > 0 && o.Domain != p.Domain {
			return fmt.Errorf("pod %s is of trust domain %q, not %q", o.ID, o.Domain, p.Domain)
		}
	}
	switch {
	case to.Instance != nil && (!g.MIG || !slices.Contains(g.Layout, *to.Instance)):
		return fmt.Errorf("it has no instance %s at slice %d", to.Instance.Profile, to.Instance.Placement.Start)
	case to.Instance == nil && g.MIG:
		return fmt.Errorf("MIG is on")
	case to.Milli > 0 && (!g.Shared || milli > 1000):
		return fmt.Errorf("%d thousandths of it are asked for, or it is not shared", milli)
	}
	return nil
}

// enough: the place is what the pod needs.
func (p *Pod) enough(n *standing, to Place) error {
	ok := false
	switch need := p.Need; {
	case need == Need{}:
		ok = len(to.GPUs) == 0 && to.Instance == nil && to.Milli == 0
	case need.GPUs > 0:
		ok = len(to.GPUs) == need.GPUs && to.Instance == nil && to.Milli == 0
	case need.Milli > 0:
		ok = len(to.GPUs) == 1 && to.Milli == need.Milli
	case len(to.GPUs) == 1 && to.Milli == 0:
		g := n.card(to.GPUs[0])
		if to.Instance == nil {
			ok = need.Bytes > 0 && g.Bytes >= need.Bytes
			break
		}
		i := slices.IndexFunc(g.Profiles, func(q Profile) bool { return q.Name == to.Instance.Profile })
		ok = i >= 0 && (need.Profile == to.Instance.Profile || need.Bytes > 0 && g.Profiles[i].Bytes >= need.Bytes)
	}
	if !ok {
		return fmt.Errorf("it needs %+v", p.Need)
	}
	return nil
}

// finish compares the plan's figures with what came out.
func (r *replay) finish(plan Plan) error {
	var before, after money.Sum
	for name, n := range r.nodes {
		if n.gone != r.goes[name] {
			return fmt.Errorf("node %s: given back %v, the plan says %v", name, n.gone, r.goes[name])
		}
		if n.Hour == nil {
			continue
		}
		before.Add(*n.Hour)
		if !n.gone || n.CommittedUntilMS > r.nowMS {
			after.Add(*n.Hour)
		}
	}
	b, err := before.Nano()
	if err != nil {
		return err
	}
	a, err := after.Nano()
	if err != nil || a != plan.After || b != plan.Before || a > b {
		return fmt.Errorf("the nodes cost %s before and %s after, the plan says %s and %s: %w", b, a, plan.Before, plan.After, err)
	}
	return r.restarts(plan)
}

// restarts: who moved and who is of their gangs, and nobody else.
func (r *replay) restarts(plan Plan) error {
	want := map[string]bool{}
	for id := range r.moved {
		want[id] = true
		for _, other := range r.gangs[r.pods[id].Gang] {
			want[other] = true
		}
	}
	for _, id := range plan.Restarts {
		if !want[id] {
			return fmt.Errorf("pod %s is said to restart, or twice, and does not", id)
		}
		delete(want, id)
	}
	for id := range want {
		return fmt.Errorf("pod %s restarts, which the plan does not say", id)
	}
	return nil
}

// fleet is what is left of one.
func (r *replay) fleet(f Fleet) Fleet {
	out := Fleet{NowMS: f.NowMS}
	for i := range f.Nodes {
		if n := r.nodes[f.Nodes[i].Name]; !n.gone {
			out.Nodes = append(out.Nodes, n.Node)
		}
	}
	for i := range f.Pods {
		out.Pods = append(out.Pods, *r.pods[f.Pods[i].ID])
	}
	return out
}
