// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

// Machine is a node as records and prices tell of it.
type Machine struct {
	Name, Type  string
	CPUMilli    int64
	MemoryBytes uint64
	Models      []string    // of its GPUs, slot by slot
	Hour        *money.Nano // nil: not known
	// Node is what is known of it beside; nil: nothing is.
	Node *Node
}

// Placed is what a repacking of a cluster is made from: its machines, the cases of its
// workloads, and of these what is advised.
type Placed struct {
	Cluster      string
	FromMS, ToMS int64
	Currency     string
	PriceRef     string
	Grade        string
	Machines     []Machine
	Cases        []*Case
	// Card is a model as its driver describes it, nil where no driver has.
	Card func(model string) *attribution.Card
	// Smaller are MIG profiles that are advised, by the id of the workload's case.
	Smaller map[*Case]advice.Recommendation
}

// Plan looks for nodes that the cluster could give back: with the pods as they are,
// and with what is advised for them. The one that saves more is it; of two that save
// the same, the one that changes less.
func (p *Placed) Plan() (advice.Repacking, error) {
	scope := advice.Scope{Cluster: p.Cluster, FromMS: p.FromMS, ToMS: p.ToMS, Currency: p.Currency, PriceRef: p.PriceRef, Grade: p.Grade}
	f := p.fleet(nil)
	best, _, err := advice.Repack(f, scope, nil)
	if err != nil || len(p.Smaller) == 0 {
		return p.doubt(best), err
	}
	var members []advice.Recommendation
	for _, c := range p.Cases {
		if r, ok := p.Smaller[c]; ok {
			members = append(members, r)
		}
	}
	with, _, err := advice.Repack(p.fleet(p.Smaller), scope, members)
	if err != nil {
		return best, err
	}
	if with.Plan != nil && (best.Plan == nil || with.Plan.Cash > best.Plan.Cash) {
		best = with
	}
	return p.doubt(best), nil
}

// Kept is a node that stays whatever the plan.
type Kept struct{ Node, Why string }

// Kept are the nodes that stay whatever the plan, by name.
func (p *Placed) Kept() (out []Kept) {
	f := p.fleet(nil)
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Keep != "" {
			out = append(out, Kept{n.Name, n.Keep})
		}
	}
	slices.SortFunc(out, func(a, b Kept) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// doubt says what the records do not tell.
func (p *Placed) doubt(r advice.Repacking) advice.Repacking {
	if r.State == advice.Advised {
		r.Confidence = advice.Low
		r.Risk.Notes = append(r.Risk.Notes, advice.Say("plan_unseen"), advice.Say("plan_shared"))
		for _, note := range p.others() {
			r.Risk.Notes = append(r.Risk.Notes, note)
		}
	}
	return r
}

// fleet is the cluster as a repacking sees it, its workloads with what they have, or
// with smaller profiles.
func (p *Placed) fleet(smaller map[*Case]advice.Recommendation) packing.Fleet {
	b := fleetBuilder{f: packing.Fleet{NowMS: p.ToMS}, at: map[string]int{}, slot: map[gpu.UUID]int{}, cards: map[string]gpu.Card{}}
	b.learn(p.Cases)
	b.told = p.Card
	for i := range p.Machines {
		b.machine(&p.Machines[i])
	}
	for _, c := range p.Cases {
		r, ok := smaller[c]
		if ok {
			b.workload(c, r.Proposed.Profile)
		} else {
			b.workload(c, "")
		}
	}
	b.fix()
	return b.f
}

type fleetBuilder struct {
	f    packing.Fleet
	at   map[string]int   // nodes by name
	slot map[gpu.UUID]int // cards by UUID, within their node
	// cards are what is known of each model.
	cards map[string]gpu.Card
	// nodes is what is known of each node of the fleet, in its order, nil where nothing is.
	nodes []*Node
	told  func(model string) *attribution.Card
}

// learn finds out which card a model is, from those whose size was measured.
func (b *fleetBuilder) learn(cases []*Case) {
	for _, c := range cases {
		last := c.hours[len(c.hours)-1]
		card, known := gpu.CardOf(last.Model, c.Device.CapacityBytes)
		if last.Profile != "" {
			card, known = gpu.CardWith(last.Model, last.Profile)
		}
		if known {
			b.cards[last.Model] = card
		}
	}
}

func (b *fleetBuilder) machine(m *Machine) {
	n := packing.Node{Name: m.Name, Type: m.Type, Hour: m.Hour, CPUMilli: m.CPUMilli, MemoryBytes: int64(m.MemoryBytes)}
	for i, model := range m.Models {
		g := packing.GPU{UUID: slotName(m.Name, i), Model: model}
		g.Slices, g.Profiles = b.profiles(model)
		n.GPUs = append(n.GPUs, g)
	}
	b.nodes = append(b.nodes, m.Node)
	if m.Node != nil {
		n.Taints = m.Node.Taints
	}
	b.others(m, &n)
	b.at[m.Name] = len(b.f.Nodes)
	b.f.Nodes = append(b.f.Nodes, n)
}

// slotName stands for a card whose UUID nobody needs to know: it is free.
func slotName(node string, slot int) gpu.UUID { return gpu.UUID(fmt.Sprintf("%s slot %d", node, slot)) }

// card finds the place of a card on its node: the next slot of its model that has none
// yet. nil: the node has no such slot.
func (b *fleetBuilder) card(h *activity.Hour) *packing.GPU {
	n := &b.f.Nodes[b.at[h.Node]]
	id := h.Partition.Device
	if i, known := b.slot[id]; known {
		return &n.GPUs[i]
	}
	for i := range n.GPUs {
		if n.GPUs[i].UUID == slotName(n.Name, i) && n.GPUs[i].Model == h.Model {
			b.slot[id] = i
			n.GPUs[i].UUID = id
			return &n.GPUs[i]
		}
	}
	return nil
}

// workload adds the pods that it has in its last hour. profile is what they would need,
// "" for what they have.
func (b *fleetBuilder) workload(c *Case, profile string) {
	last := c.hours[len(c.hours)-1].HourMS
	byPod := map[string][]*activity.Hour{}
	var order []string
	for _, h := range c.hours {
		if h.HourMS == last {
			k := h.Holder.PodKey() + " on " + h.Node
			if byPod[k] == nil {
				order = append(order, k)
			}
			byPod[k] = append(byPod[k], h)
		}
	}
	for _, k := range order {
		b.pod(c, byPod[k], profile, len(order))
	}
}

func (b *fleetBuilder) pod(c *Case, hours []*activity.Hour, profile string, pods int) {
	first := hours[0]
	node, ok := b.at[first.Node]
	if !ok {
		return
	}
	p := packing.Pod{ID: first.Cluster + "/" + first.Holder.Namespace + "/" + first.Holder.Pod, CPUMilli: first.CPURequestMilli, MemoryBytes: int64(first.HostBytes()),
		Models: []string{first.Model}, Domain: first.Holder.Namespace, At: packing.Place{Node: first.Node}}
	if pods > 1 && c.Work == advice.Training {
		p.Gang = first.Cluster + "/" + first.Holder.Namespace + "/" + c.Target.Owner
	}
	keep := ""
	for _, h := range hours {
		g := b.card(h)
		switch {
		case g == nil:
			b.f.Nodes[node].Keep = advice.Say("keep_slots")
			return
		case h.Profile != "" && !hasProfile(g, plainProfile(h.Profile)):
			keep = advice.Say("keep_profile")
		case h.Profile != "" && len(hours) > 1:
			keep = advice.Say("keep_several")
		case h.Profile == "" && h.Mode != gpu.ModeExclusive:
			keep = advice.Say("keep_shared")
		}
		p.At.GPUs = append(p.At.GPUs, g.UUID)
		if h.Profile != "" {
			in := packing.Instance{Profile: plainProfile(h.Profile), Placement: h.Placement}
			g.MIG = true
			g.Layout = append(g.Layout, in)
			p.Need.Profile, p.At.Instance = in.Profile, &in
		}
	}
	if keep != "" {
		b.keep(node, keep, p.At.GPUs)
		return
	}
	switch {
	case profile != "":
		p.Need = packing.Need{Profile: profile}
	case first.Profile == "":
		p.Need.GPUs = len(hours)
	}
	b.rule(&p, first.About.Place)
	b.f.Pods = append(b.f.Pods, p)
}

// keep has a node stay, and takes cards that cannot be planned with out of the plan.
func (b *fleetBuilder) keep(node int, why string, cards []gpu.UUID) {
	n := &b.f.Nodes[node]
	n.Keep = why
	for i := range n.GPUs {
		if slices.Contains(cards, n.GPUs[i].UUID) {
			n.GPUs[i].Fixed = why
		}
	}
}

func hasProfile(g *packing.GPU, name string) bool {
	return slices.ContainsFunc(g.Profiles, func(p packing.Profile) bool { return p.Name == name })
}

func plainProfile(name string) string {
	plain, _, _ := strings.Cut(name, "+")
	return plain
}

// fix takes out cards that stay as they are, with all who are on them, and pods of one
// name with their cards: which of them is which nobody could tell.
func (b *fleetBuilder) fix() {
	fixed := map[gpu.UUID]bool{}
	for i := range b.f.Nodes {
		for _, g := range b.f.Nodes[i].GPUs {
			fixed[g.UUID] = g.Fixed != ""
		}
	}
	count := map[string]int{}
	for _, p := range b.f.Pods {
		count[p.ID]++
	}
	// Whoever shares a card with one that is taken out goes, too.
	for before := -1; before != len(b.f.Pods); {
		before = len(b.f.Pods)
		b.takeOut(fixed, count)
	}
	for i := range b.f.Nodes {
		n := &b.f.Nodes[i]
		n.GPUs = slices.DeleteFunc(n.GPUs, func(g packing.GPU) bool { return fixed[g.UUID] })
		for j := range n.GPUs {
			slices.SortFunc(n.GPUs[j].Layout, func(x, y packing.Instance) int { return cmp.Compare(x.Placement.Start, y.Placement.Start) })
		}
	}
}

// takeOut takes out pods on cards that stay as they are, and their other cards.
func (b *fleetBuilder) takeOut(fixed map[gpu.UUID]bool, count map[string]int) {
	b.f.Pods = slices.DeleteFunc(b.f.Pods, func(p packing.Pod) bool {
		out := count[p.ID] > 1 || slices.ContainsFunc(p.At.GPUs, func(id gpu.UUID) bool { return fixed[id] })
		if out {
			b.f.Nodes[b.at[p.At.Node]].Keep = advice.Say("keep_stays")
			for _, id := range p.At.GPUs {
				fixed[id] = true
			}
		}
		return out
	})
}
