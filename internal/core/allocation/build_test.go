// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// at0 is the hour of the tests: 2026-11-03T10:00:00Z.
const at0 int64 = 1793700000000

const minuteMS = 60_000

// pod is a pod with one container.
func pod(name string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + name, Namespace: "t", Pod: name, Container: "c"}
}

func hostUnit(unit string) workload.Holder {
	return workload.Holder{Kind: workload.KindHost, Unit: unit}
}

var daemon = workload.Holder{Kind: workload.KindDaemon, Namespace: "mon", Pod: "dcgm"}

// part of a device's memory that a test gives a holder, in bytes.
type holding struct {
	who   workload.Holder
	bytes uint64
	leak  bool
}

func grantOf(name string, mode gpu.Mode, r gpu.Ratio) attribution.Grant {
	h := pod(name)
	h.Container = ""
	return attribution.Grant{Holder: h, Source: "kubelet", Mode: mode, Replicas: 1, Reserved: r}
}

// state is one partition through one window.
type state struct {
	id                     gpu.PartitionID
	slot                   string
	capacity, reserve, gap uint64 // gap: unattributed
	holdings               []holding
	grants                 []attribution.Grant
	replicas               int64
	slices, of, stranded   uint32
	parent                 bool
	unmeasured, lost       int64 // ms of the window
	grantsUnknown          bool
	noMemory               bool
	estimated              uint64
	mode                   gpu.Mode
}

// add writes the state's records into a batch, for all of its time.
func (s state) add(b *usage.Batch) {
	span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
	r := usage.PartitionRecord{
		Partition: s.id, Span: span, Slot: s.slot, Model: "A100", Slices: s.slices, DeviceSlices: s.of,
		StrandedSlices: s.stranded, MIGParent: s.parent, UnmeasuredMS: s.unmeasured, UnavailableMS: s.lost,
		MeasuredMS: b.DurationMS - s.unmeasured - s.lost, Grade: gpu.Measured, Mode: s.mode,
	}
	if s.unmeasured+s.lost > 0 {
		r.Reasons = []string{"test"}
	}
	if s.grantsUnknown {
		r.GrantsUnknownMS = b.DurationMS
	}
	if s.replicas > 0 {
		r.Replicas = &s.replicas
	}
	s.fill(&r)
	b.Partitions = append(b.Partitions, r)
	for _, h := range s.holdings {
		if r.MeasuredMS > 0 {
			b.Holders = append(b.Holders, usage.Record{
				Partition: s.id, Span: span, Holder: h.who, Leak: h.leak, PresentMS: r.MeasuredMS, KnownMS: r.MeasuredMS,
				ByteMS: h.bytes * uint64(r.MeasuredMS), PeakBytes: h.bytes, Grade: gpu.Measured,
			})
		}
	}
	for _, g := range s.grants {
		b.Grants = append(b.Grants, usage.GrantRecord{Partition: s.id, Span: span, Grant: g, GrantedMS: span.DurationMS})
	}
}

func (s state) fill(r *usage.PartitionRecord) {
	ms := uint64(r.MeasuredMS)
	if s.parent || s.noMemory {
		r.NoMemoryMS = r.MeasuredMS
		if s.estimated > 0 {
			r.EstimatedCapacityBytes = &s.estimated
		}
		return
	}
	used := s.gap
	for _, h := range s.holdings {
		used += h.bytes
	}
	r.CapacityBytes = &s.capacity
	r.CapacityByteMS, r.ReservedByteMS, r.UnattributedByteMS = s.capacity*ms, s.reserve*ms, s.gap*ms
	r.UsedByteMS, r.FreeByteMS = used*ms, (s.capacity-s.reserve-used)*ms
	if ms == 0 {
		r.Grade = gpu.Unmeasured
	}
}

// batch is the window number n of an agent, one minute long.
func batch(n int, states ...state) usage.Batch {
	b := usage.Batch{
		Version: usage.BatchVersion, Node: "n", Agent: "a", Boot: "b", Seq: uint64(n + 1),
		StartMS: at0 + int64(n)*minuteMS, DurationMS: minuteMS, IntervalMS: 5000,
	}
	for _, s := range states {
		s.add(&b)
	}
	slices.SortStableFunc(b.Partitions, func(x, y usage.PartitionRecord) int { return x.Partition.Compare(y.Partition) })
	return b
}

// wholeHour is the same states for sixty windows.
func wholeHour(states ...state) []usage.Batch {
	var out []usage.Batch
	for n := range 60 {
		out = append(out, batch(n, states...))
	}
	return out
}

// costOf is a whole hour's cost: each slot the same, in whole units.
func costOf(perSlot money.Nano, slots int) pricing.NodeCost {
	c := pricing.NodeCost{Node: "n", StartMS: at0, DurationMS: hourMS, Priced: true, Currency: "USD"}
	for i := range slots {
		c.Slots = append(c.Slots, pricing.SlotCost{Slot: fmt.Sprintf("gpu%d", i), Cost: perSlot})
		c.Total += perSlot
	}
	return c
}

// card0 is a device of 40000 bytes.
func card0(holdings ...holding) state {
	return state{id: gpu.Whole("GPU-0"), capacity: 40000, holdings: holdings}
}

func (s state) granted(g ...attribution.Grant) state {
	s.grants = g
	return s
}

func (s state) shared(m gpu.Mode) state {
	s.mode = m
	return s
}

func (s state) offered(n int64) state {
	s.replicas = n
	return s
}
