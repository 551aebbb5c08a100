// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// dice draws what a random hour is made of.
type dice struct{ *rapid.T }

func (d dice) n(below int) int { return rapid.IntRange(0, below-1).Draw(d.T, "n") }

func (d dice) one(in int) bool { return d.n(in) == 0 }

func (d dice) upTo(most uint64) uint64 { return rapid.Uint64Range(0, most).Draw(d.T, "size") }

// randomHour is an hour with up to three cards, cut into MIG instances or not,
// held and granted in every way, read or not, priced in up to three pieces.
func randomHour(t *rapid.T) Hour {
	d := dice{t}
	cards := d.n(4)
	h := Hour{Costs: d.costs(cards)}
	at := at0 + int64(d.n(5))*7000
	for n := range 1 + d.n(5) {
		b := usage.Batch{
			Version: usage.BatchVersion, Node: "n", Agent: "a", Boot: "b", Seq: uint64(n + 1),
			StartMS: at, DurationMS: 1 + int64(d.n(90_000)), IntervalMS: 5000,
		}
		for c := range cards {
			if !d.one(8) {
				d.card(&b, c)
			}
		}
		slices.SortStableFunc(b.Partitions, func(x, y usage.PartitionRecord) int { return placeOfPartition(&x).compare(placeOfPartition(&y)) })
		d.pods(&b)
		h.Batches = append(h.Batches, b)
		at += b.DurationMS + int64(d.n(3)*d.n(3)*1000)
	}
	if d.one(3) {
		h.Unschedulable = []usage.Span{{StartMS: at0 + int64(d.n(100_000)), DurationMS: 1 + int64(d.n(100_000))}}
	}
	return h
}

// costs are pieces of the first minutes of the hour, some without a price.
func (d dice) costs(cards int) (out []pricing.NodeCost) {
	at := at0 + int64(d.n(3))*11_111
	slots := []int{cards, cards + 1, 0}[d.n(3)]
	for range 1 + d.n(3) {
		c := pricing.NodeCost{
			Node: "n", StartMS: at, DurationMS: 1 + int64(d.n(200_000)), Currency: "USD", Priced: !d.one(6),
			CPUMilli: int64(d.n(3)) * 2000, MemoryBytes: uint64(d.n(3)) * 4001,
		}
		at += c.DurationMS + int64(d.n(2)*5000)
		price := func() money.Nano {
			if !c.Priced {
				return 0
			}
			return money.Nano(d.upTo(uint64(7 * money.Unit)))
		}
		for i := range slots {
			c.Slots = append(c.Slots, pricing.SlotCost{Slot: slotName(i), Cost: price()})
			c.Total += c.Slots[i].Cost
		}
		c.CPU, c.Memory = price(), price()
		c.Total += c.CPU + c.Memory
		out = append(out, c)
	}
	return out
}

func slotName(i int) string { return fmt.Sprintf("00000000:0%d:00.0", i) }

// card adds one card to a batch, in one or two pieces.
func (d dice) card(b *usage.Batch, n int) {
	id := gpu.UUID(fmt.Sprint("GPU-", n))
	for _, span := range d.spans(b) {
		piece := usage.Batch{StartMS: span.StartMS, DurationMS: span.DurationMS}
		if d.one(3) {
			d.mig(&piece, id, n)
		} else {
			d.state(gpu.Whole(id), n, span).add(&piece)
		}
		b.Partitions = append(b.Partitions, piece.Partitions...)
		b.Holders = append(b.Holders, piece.Holders...)
		b.Grants = append(b.Grants, piece.Grants...)
	}
}

func (d dice) spans(b *usage.Batch) []usage.Span {
	if b.DurationMS < 2 || d.one(2) {
		return []usage.Span{{StartMS: b.StartMS, DurationMS: b.DurationMS}}
	}
	cut := 1 + int64(d.n(int(b.DurationMS-1)))
	return []usage.Span{{StartMS: b.StartMS, DurationMS: cut}, {StartMS: b.StartMS + cut, DurationMS: b.DurationMS - cut}}
}

// mig adds a parent and instances in some of its slices.
func (d dice) mig(b *usage.Batch, id gpu.UUID, n int) {
	span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
	parent := d.state(gpu.Whole(id), n, span)
	parent.parent, parent.of, parent.stranded, parent.grants = true, 8, uint32(d.n(3)), nil
	left := uint32(8)
	for i := range d.n(4) {
		size := []uint32{1, 2, 4}[d.n(3)]
		if size > left {
			break
		}
		left -= size
		in := d.state(gpu.PartitionID{Device: id, Instance: uint32(7 + i), SinceMS: at0}, n, span)
		in.slices, in.of = size, 8
		in.add(b)
	}
	parent.add(b)
}

// state is a partition's state for a piece.
func (d dice) state(id gpu.PartitionID, n int, span usage.Span) state {
	s := state{id: id, slot: slotName(n), capacity: 1 + d.upTo(1<<20), of: 8}
	switch d.n(6) {
	case 0:
		s.unmeasured = int64(d.upTo(uint64(span.DurationMS)))
	case 1:
		s.unmeasured = span.DurationMS
	case 2:
		s.lost = int64(d.upTo(uint64(span.DurationMS)))
	}
	s.mode = []gpu.Mode{gpu.ModeNone, gpu.ModeMPS, gpu.ModeShared}[d.n(3)]
	s.grantsUnknown = d.one(6)
	s.reserve = d.upTo(s.capacity / 8)
	s.gap = d.upTo((s.capacity - s.reserve) / 4)
	left := s.capacity - s.reserve - s.gap
	for i := range d.n(5) {
		h := holding{who: d.holder(i), bytes: d.upTo(left)}
		h.leak = h.who.Kind == workload.KindPod && d.one(4)
		left -= h.bytes
		s.holdings = append(s.holdings, h)
	}
	if d.one(8) {
		s.noMemory = true
		if d.one(2) {
			s.estimated = s.capacity
		}
	}
	s.replicas = int64(d.n(5))
	for i := range d.n(4) {
		s.grants = append(s.grants, d.grant(i))
	}
	return s
}

// holder is one that a piece can name once: number i of its holders.
func (d dice) holder(i int) workload.Holder {
	switch d.n(6) {
	case 0:
		return hostUnit(fmt.Sprint("unit-", i))
	case 1:
		return workload.Holder{Kind: workload.KindDaemon, Pod: fmt.Sprint("daemon-", i)}
	case 2:
		return workload.Holder{Kind: workload.KindUnknown, Unit: fmt.Sprint(i)}
	}
	h := pod(fmt.Sprint("p", d.n(3)))
	h.Container = fmt.Sprint("c", i)
	return h
}

func (d dice) grant(i int) attribution.Grant {
	den := 1 + d.upTo([]uint64{1, 8, 1000, 1 << 50}[d.n(4)])
	if d.one(4) {
		i = d.n(3) // perhaps a second grant of one pod
	}
	g := grantOf(fmt.Sprint("p", i), gpu.ModeFraction, gpu.Ratio{Num: d.upTo(den), Den: den})
	switch d.n(7) {
	case 0:
		g.Mode, g.Reserved = gpu.ModeExclusive, gpu.One
	case 1:
		g.Mode, g.Reserved, g.Replicas = gpu.ModeTimeSlicing, gpu.Ratio{}, int64(1+d.n(3))
	case 2:
		g.Mode, g.Claim = gpu.ModeSharedClaim, "t/claim"
		g.Reserved = gpu.Ratio{Num: 5, Den: 7}
	case 3:
		g.Admin = true
	}
	return g
}

func (d dice) pods(b *usage.Batch) {
	for i := range d.n(4) {
		ms := int64(d.upTo(uint64(b.DurationMS)))
		b.Pods = append(b.Pods, usage.PodRecord{
			Span: usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}, Holder: pod(fmt.Sprint("p", i)),
			PresentMS: ms, UnmeasuredMS: int64(d.upTo(uint64(b.DurationMS - ms))),
			CPUNanos: d.upTo(5e10), MemoryByteMS: d.upTo(4001 * 60_000),
			CPURequestMilliMS: int64(d.upTo(2000 * 60_000)), MemoryRequestByteMS: d.upTo(4001 * 60_000),
		})
	}
}

func randomPolicy(t *rapid.T) Policy {
	d := dice{t}
	p := Policy{Basis: []Basis{"", Held, Memory, Reserved}[d.n(4)], TurnsReserve: d.one(3)}
	for _, account := range PlatformAccounts() {
		switch d.n(6) {
		case 0:
			p.Distribute = append(p.Distribute, Distribution{Account: account, How: Proportional})
		case 1:
			p.Distribute = append(p.Distribute, Distribution{Account: account, How: Even})
		case 2:
			p.Distribute = append(p.Distribute, Distribution{Account: account, How: Fixed, Shares: []Share{{"x", 1 + d.upTo(9)}, {"y", 3}}})
		case 3:
			p.Distribute = append(p.Distribute, Distribution{Account: account, How: Owner, Shares: []Share{{"platform-team", 1}}})
		}
	}
	return p
}
