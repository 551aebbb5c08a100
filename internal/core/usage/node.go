// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// nodeTrack follows what the node is. What was heard last stands until something
// else is heard: an API server that is away takes nothing back.
type nodeTrack struct {
	machine *attribution.Machine
	// named are the models by slot, of all slots seen since the boot; bare those
	// of the devices without a slot in the last sample.
	named map[string]string
	bare  []string
	// cards are the models whose profiles were told since the boot, others what pods
	// without a GPU ask for, as the last sample says.
	cards  map[string]attribution.Card
	others *attribution.OtherPods
	// told is the shape that a window of this boot had last, toldHour its hour.
	told     *NodeShape
	toldHour int64
	// cordoned are the times of the open window, monotonic, in order.
	cordoned [][2]int64
}

// restart is for when what was held is forgotten. The slots stay: they are the
// node's also while the agent does not look.
func (n *nodeTrack) restart() { n.cordoned, n.others = nil, nil }

// install holds what a sample says of the node.
func (n *nodeTrack) install(r *attribution.Result) {
	if r.Machine != nil {
		n.machine = r.Machine
		n.keep(r.Machine.Cards)
	}
	n.others = r.Others
	n.see(r.Partitions)
}

// keep notes what is known of models. A card that is not read for a while is the
// card that it was.
func (n *nodeTrack) keep(cards []attribution.Card) {
	for _, c := range cards {
		if n.cards == nil {
			n.cards = map[string]attribution.Card{}
		}
		n.cards[c.Model] = c
	}
}

// see notes the places of the devices, once each. A whole device comes before its
// instances.
func (n *nodeTrack) see(parts []attribution.Partition) {
	n.bare = n.bare[:0]
	last := gpu.UUID("")
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Slot != "":
			if n.named == nil {
				n.named = map[string]string{}
			}
			if had, ok := n.named[p.Slot]; !ok || p.Model != "" && had != p.Model {
				n.named[p.Slot] = p.Model
			}
		case p.ID.Device != last:
			n.bare = append(n.bare, p.Model)
		}
		last = p.ID.Device
	}
}

// accrue adds the time from one moment to another, in which what is held stood.
func (n *nodeTrack) accrue(from, to int64) {
	if n.machine == nil || !n.machine.Unschedulable {
		return
	}
	if k := len(n.cordoned) - 1; k >= 0 && n.cordoned[k][1] == from {
		n.cordoned[k][1] = to
		return
	}
	n.cordoned = append(n.cordoned, [2]int64{from, to})
}

func (n *nodeTrack) providerID() string {
	if n.machine == nil {
		return ""
	}
	return n.machine.ProviderID
}

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

// write adds to a window what is to stand in it, and begins the next.
func (n *nodeTrack) write(b *Batch, c *clock) {
	for _, s := range n.cordoned {
		b.Unschedulable = append(b.Unschedulable, c.span(s[0], s[1]))
	}
	n.cordoned = nil
	b.Others = n.others
	if n.machine == nil {
		return // the first shape that is told stands for the time before it
	}
	is, hour := n.shape(), b.StartMS-mod(b.StartMS, hourMS)
	if n.told == nil || n.toldHour != hour || !is.equal(n.told) {
		b.Shape, n.told, n.toldHour = is, is, hour
	}
}

func mod(a, b int64) int64 { return (a%b + b) % b }

// volatileLabels say when something wrote them, and nothing of the node.
var volatileLabels = []string{"nvidia.com/gfd.timestamp"}

// shape is the node as it is now.
func (n *nodeTrack) shape() *NodeShape {
	s := &NodeShape{
		Labels: n.machine.Labels, CPUMilli: n.machine.CPUMilli, MemoryBytes: n.machine.MemoryBytes, CreatedMS: n.machine.CreatedMS,
		AllocatableCPUMilli: n.machine.AllocatableCPUMilli, AllocatableMemoryBytes: n.machine.AllocatableMemoryBytes, Taints: n.machine.Taints,
	}
	for _, model := range slices.Sorted(maps.Keys(n.cards)) {
		s.Cards = append(s.Cards, n.cards[model])
	}
	for _, key := range volatileLabels {
		if _, ok := s.Labels[key]; ok {
			s.Labels = maps.Clone(s.Labels)
			delete(s.Labels, key)
		}
	}
	for slot, model := range n.named {
		s.Slots = append(s.Slots, NodeSlot{Slot: slot, Model: model})
	}
	for _, model := range n.bare {
		s.Slots = append(s.Slots, NodeSlot{Model: model})
	}
	slices.SortFunc(s.Slots, NodeSlot.compare)
	return s
}

func (s NodeSlot) compare(o NodeSlot) int {
	return cmp.Or(cmp.Compare(s.Slot, o.Slot), cmp.Compare(s.Model, o.Model))
}

func (s *NodeShape) equal(o *NodeShape) bool {
	return s.CPUMilli == o.CPUMilli && s.MemoryBytes == o.MemoryBytes && s.CreatedMS == o.CreatedMS &&
		s.AllocatableCPUMilli == o.AllocatableCPUMilli && s.AllocatableMemoryBytes == o.AllocatableMemoryBytes &&
		maps.Equal(s.Labels, o.Labels) && slices.Equal(s.Slots, o.Slots) && slices.Equal(s.Taints, o.Taints) && reflect.DeepEqual(s.Cards, o.Cards)
}
