// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/packing"
	"github.com/gputally/gputally/internal/core/workload"
)

// others says how far pods without GPUs are known.
func (p *Placed) others() (notes []string) {
	unknown, movable := false, false
	for i := range p.Machines {
		n := p.Machines[i].Node
		known := n != nil && n.known()
		unknown = unknown || !known
		movable = movable || known && n.Others.Movable.Pods > 0
	}
	if movable {
		// Whether they fit one by one where they do not fit at once is not asked.
		notes = append(notes, advice.Say("plan_whole"))
	}
	if unknown {
		notes = append(notes, advice.Say("plan_without"))
	}
	return notes
}

// others takes off what a node's DaemonSets and static pods ask for, and has its other
// pods without GPUs as one pod that must go somewhere.
func (b *fleetBuilder) others(m *Machine, n *packing.Node) {
	if m.Node == nil || !m.Node.known() {
		return
	}
	o := m.Node.Others
	fixedCPU, fixedBytes := o.CPUMilli-o.Movable.CPUMilli, int64(o.MemoryBytes-min(o.Movable.MemoryBytes, o.MemoryBytes))
	n.CPUMilli = max(m.Node.Allocatable.CPUMilli-fixedCPU, 0)
	n.MemoryBytes = max(int64(m.Node.Allocatable.MemoryBytes)-fixedBytes, 0)
	if o.Movable.Pods > 0 {
		b.f.Pods = append(b.f.Pods, packing.Pod{ID: advice.Say("pods_without", m.Name, o.Movable.Pods), CPUMilli: o.Movable.CPUMilli,
			MemoryBytes: int64(o.Movable.MemoryBytes), At: packing.Place{Node: m.Name}, Tolerates: m.Node.Taints})
	}
}

// rule has a pod go only to nodes that it asks for and whose taints it stands, or stay.
// Nodes of which nothing is known are as any. What it asks for of labels becomes one
// label of ours, since a packing knows no more of labels than that they are equal.
func (b *fleetBuilder) rule(p *packing.Pod, place workload.Placement) {
	key := ""
	if place.Selector != "" || place.Affinity != "" {
		key = "may be here: " + place.Selector + "; " + place.Affinity
		p.NodeLabels = map[string]string{key: "yes"}
	}
	tolerated := map[string]bool{}
	for i, n := range b.nodes {
		if n == nil || n.Labels == nil {
			b.label(i, key)
			continue
		}
		home := b.f.Nodes[i].Name == p.At.Node
		if home || place.Allows(n.Labels) {
			b.label(i, key)
		}
		for _, t := range n.Taints {
			if place.Tolerates(t) || home {
				tolerated[t] = true
			}
		}
	}
	p.Tolerates = slices.Sorted(maps.Keys(tolerated))
}

func (b *fleetBuilder) label(node int, key string) {
	n := &b.f.Nodes[node]
	if key == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[key] = "yes"
}

// profiles are how a model can be cut: as its driver says, else as NVIDIA's tables do.
func (b *fleetBuilder) profiles(model string) (slices uint32, out []packing.Profile) {
	if b.told != nil {
		if card := b.told(model); card != nil {
			if out = toldProfiles(card); len(out) > 0 {
				return card.MemorySlices, out
			}
		}
	}
	card, ok := b.cards[model]
	if !ok {
		return 0, nil
	}
	return card.Slices(), profilesOf(&card)
}

// toldProfiles are those that a driver told, without those that have other engines.
func toldProfiles(card *attribution.Card) (out []packing.Profile) {
	for i := range card.Profiles {
		if p := &card.Profiles[i]; plainSize(p) {
			out = append(out, packing.Profile{Name: p.Name, Bytes: p.Bytes, Placements: p.Placements})
		}
	}
	return out
}

// plainSize: an instance of it is compute and memory alone, and how much is known.
func plainSize(p *gpu.ProfilePlacements) bool {
	return !strings.ContainsAny(p.Name, "+-") && len(p.Placements) > 0 && p.Bytes > 0 && p.SMs > 0
}

// profilesOf are a card's profiles with their places, by its number of slices.
func profilesOf(c *gpu.Card) (out []packing.Profile) {
	for _, p := range c.Profiles {
		parsed, err := gpu.ParseProfile(p.Name)
		if err != nil {
			continue
		}
		for _, l := range gpu.LegalPlacements(c.Slices()) {
			if len(l.Placements) > 0 && l.Placements[0].Size == p.Slices && strings.HasPrefix(l.Name, fmt.Sprintf("%dg", parsed.Slices)) {
				out = append(out, packing.Profile{Name: p.Name, Bytes: p.Bytes, Placements: l.Placements})
				break
			}
		}
	}
	return out
}
