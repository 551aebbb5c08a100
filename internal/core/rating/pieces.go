// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

const hourMS = 3_600_000

// bootMS is how long before its first window a machine is taken to have been
// paid for, where its object was there: it boots, and drivers are installed. An
// older object says that gputally is newer than the machine.
const bootMS = hourMS

// Pieces are what a node was in an hour: one piece for each time in which its
// machine and its shape did not change, in order. There is none where no machine
// is known: before the first window, after the last, between two machines.
//
// machines are those that stood behind the node's name, batches the records that
// touch the hour.
func Pieces(at ledger.NodeHour, machines []Machine, batches []usage.Batch) []Piece {
	var out []Piece
	stays := joined(machines)
	for i := range stays {
		m := &stays[i]
		if i+1 < len(stays) && m.LastMS+m.IntervalMS > stays[i+1].FirstMS {
			m.LastMS = stays[i+1].FirstMS - m.IntervalMS // the name was another's from then on
		}
		from, to := max(m.PaidFrom(), at.HourMS), min(m.LastMS+m.IntervalMS, at.HourMS+hourMS)
		if len(out) > 0 {
			from = max(from, out[len(out)-1].ToMS)
		}
		if from < to {
			out = append(out, m.pieces(from, to, batches)...)
		}
	}
	return out
}

// PaidFrom is from when the machine was paid for, as far as is known, Unix
// milliseconds.
func (m *Machine) PaidFrom() int64 {
	if m.CreatedMS < m.FirstMS && m.CreatedMS >= m.FirstMS-bootMS {
		return m.CreatedMS
	}
	return m.FirstMS
}

// Boot is the hours before the one of its first window in which a machine was
// paid for already.
func (m *Machine) Boot() []ledger.NodeHour {
	var out []ledger.NodeHour
	for h := m.PaidFrom() - m.PaidFrom()%hourMS; h < m.FirstMS-m.FirstMS%hourMS; h += hourMS {
		out = append(out, ledger.NodeHour{Cluster: m.Cluster, Node: m.Node, HourMS: h})
	}
	return out
}

// joined is the machines in order of time. A time in which nobody said which
// machine it is belongs to the one that is named next, or else before: the API
// server was away.
func joined(machines []Machine) []Machine {
	var named, unnamed []Machine
	for _, m := range machines {
		if m.ProviderID == "" {
			unnamed = append(unnamed, m)
		} else {
			named = append(named, m)
		}
	}
	byTime := func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.FirstMS, b.FirstMS), cmp.Compare(a.ProviderID, b.ProviderID))
	}
	slices.SortFunc(named, byTime)
	if len(named) == 0 {
		slices.SortFunc(unnamed, byTime)
		return unnamed
	}
	for _, u := range unnamed {
		next := slices.IndexFunc(named, func(m Machine) bool { return m.LastMS > u.FirstMS })
		if next < 0 {
			next = len(named) - 1
		}
		named[next].take(u)
	}
	return named
}

// take extends the machine by a time in which it was not named.
func (m *Machine) take(u Machine) {
	m.FirstMS, m.LastMS = min(m.FirstMS, u.FirstMS), max(m.LastMS, u.LastMS)
	m.CreatedMS = earlier(m.CreatedMS, u.CreatedMS)
	m.Shapes = append(slices.Clone(m.Shapes), u.Shapes...)
	slices.SortStableFunc(m.Shapes, func(a, b ShapeAt) int { return cmp.Compare(a.FromMS, b.FromMS) })
}

// earlier is the earlier of two times, of which 0 is not known.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// pieces cuts a stay where the shape changed.
func (m *Machine) pieces(from, to int64, batches []usage.Batch) (out []Piece) {
	cut := from
	shape := m.at(from)
	slots := m.slots(batches, &shape)
	for _, s := range m.Shapes {
		switch {
		case s.FromMS <= from:
		case s.FromMS < to && !samePriced(&shape, &s.NodeShape):
			out = append(out, Piece{cut, s.FromMS, m.node(&shape, slots)})
			cut, shape = s.FromMS, s.NodeShape
		}
	}
	return append(out, Piece{cut, to, m.node(&shape, slots)})
}

// at is the shape that stood at a moment: the last that was told, or else the
// first that was told later.
func (m *Machine) at(ms int64) (out usage.NodeShape) {
	for i, s := range m.Shapes {
		if i == 0 || s.FromMS <= ms {
			out = s.NodeShape
		}
	}
	return out
}

// samePriced says that two shapes cannot differ in price. Slots are those of the
// whole hour.
func samePriced(a, b *usage.NodeShape) bool {
	return a.CPUMilli == b.CPUMilli && a.MemoryBytes == b.MemoryBytes && reflect.DeepEqual(a.Labels, b.Labels)
}

// The labels by which Kubernetes says what a node is; the older ones are still
// written (k8s.io/api/core/v1 well_known_labels.go).
var (
	typeLabels   = []string{"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"}
	regionLabels = []string{"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"}
	zoneLabels   = []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}
)

func first(labels map[string]string, keys []string) string {
	for _, k := range keys {
		if v := labels[k]; v != "" {
			return v
		}
	}
	return ""
}

// node is what is to be priced.
func (m *Machine) node(s *usage.NodeShape, slots []pricing.Slot) pricing.Node {
	return pricing.Node{
		Cluster: m.Cluster, Name: m.Node, ProviderID: m.ProviderID,
		InstanceType: first(s.Labels, typeLabels), Region: first(s.Labels, regionLabels), Zone: first(s.Labels, zoneLabels),
		Labels: s.Labels, Slots: slots, CPUMilli: s.CPUMilli, MemoryBytes: s.MemoryBytes,
		Life: pricing.Life{FirstSeen: m.PaidFrom(), LastSeen: m.LastMS, Interval: m.IntervalMS},
	}
}

// slots are the places of GPUs that the node has in the hour: those that its
// records name, and, since a node without records was paid for too, those that
// were known before. A device without an address takes a place without one.
func (m *Machine) slots(batches []usage.Batch, shape *usage.NodeShape) []pricing.Slot {
	models := map[string]string{}
	note := func(slot, model string) {
		if model != "" || models[slot] == "" {
			models[slot] = model
		}
	}
	nameless, model := 0, ""
	for i := range batches {
		if b := &batches[i]; b.ProviderID == m.ProviderID || b.ProviderID == "" {
			n := 0
			for slot, of := range slotsOf(b) {
				if slot.bare {
					n, model = n+1, max(model, of)
				} else {
					note(slot.name, of)
				}
			}
			nameless = max(nameless, n)
		}
	}
	if len(models) == 0 && nameless == 0 {
		for _, s := range shape.Slots {
			if s.Slot == "" {
				nameless, model = nameless+1, max(model, s.Model)
			} else {
				note(s.Slot, s.Model)
			}
		}
	}
	for i := range nameless {
		note("gpu"+strconv.Itoa(i), model)
	}
	var out []pricing.Slot
	for name, of := range models {
		out = append(out, pricing.Slot{Name: name, Model: of})
	}
	slices.SortFunc(out, func(a, b pricing.Slot) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// place is where a device sits: its address, or, of a device without one, the
// device itself.
type place struct {
	name string
	bare bool
}

// slotsOf is the places of a batch, and the models of the cards in them.
func slotsOf(b *usage.Batch) map[place]string {
	out := map[place]string{}
	for i := range b.Partitions {
		p := &b.Partitions[i]
		at := place{name: p.Slot}
		if p.Slot == "" {
			at = place{name: string(p.Partition.Device), bare: true}
		}
		out[at] = max(out[at], p.Model)
	}
	return out
}
