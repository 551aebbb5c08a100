// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// busyNode is an hour of a node with eight GPUs: four held by one pod each, two
// shared by four pods each, two cut into seven MIG instances; thirty pods in all.
func busyNode() Hour {
	const gib = 1 << 30
	var states []state
	for g := range 8 {
		id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", g)))
		s := state{id: id, slot: fmt.Sprintf("00000000:%02X:00.0", g), capacity: 80 * gib, reserve: gib / 2, gap: 300 << 20, of: 8}
		switch {
		case g < 4:
			s.holdings = []holding{{who: pod(fmt.Sprint("whole-", g)), bytes: 61*gib + uint64(g)}}
			s = s.granted(grantOf(fmt.Sprint("whole-", g), gpu.ModeExclusive, gpu.One))
		case g < 6:
			var grants []attribution.Grant
			for i := range 4 {
				name := fmt.Sprintf("shared-%d-%d", g, i)
				s.holdings = append(s.holdings, holding{who: pod(name), bytes: uint64(7+i) * gib})
				grants = append(grants, grantOf(name, gpu.ModeMPS, gpu.Ratio{Num: 1, Den: 4}))
			}
			s = s.granted(grants...).offered(4)
		default:
			s.parent, s.stranded = true, 1
			for i := range 7 {
				name := fmt.Sprintf("mig-%d-%d", g, i)
				in := state{id: gpu.PartitionID{Device: id.Device, Instance: uint32(7 + i), SinceMS: at0}, slot: s.slot, capacity: 9856 << 20, reserve: 40 << 20, slices: 1, of: 8}
				in.holdings = []holding{{who: pod(name), bytes: uint64(1+i) * gib}}
				states = append(states, in.granted(grantOf(name, gpu.ModeMIG, gpu.One)))
			}
			s.gap = 0
		}
		states = append(states, s)
	}
	h := Hour{Batches: wholeHour(states...)}
	c := costOf(2_744_705_250, 0)
	for g := range 8 {
		c.Slots = append(c.Slots, costOf(2_744_705_250, 1).Slots[0])
		c.Slots[g].Slot = fmt.Sprintf("00000000:%02X:00.0", g)
		c.Total += c.Slots[g].Cost
	}
	c.CPU, c.Memory, c.CPUMilli, c.MemoryBytes = 3_168_000_000, 4_320_000_000, 96_000, 1152*gib
	c.Total += c.CPU + c.Memory
	h.Costs = append(h.Costs, c)
	for i := range h.Batches {
		b := &h.Batches[i]
		for k := range 30 {
			b.Pods = append(b.Pods, usage.PodRecord{
				Span: usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}, Holder: pod(fmt.Sprint("pod-", k)), PresentMS: b.DurationMS,
				CPUNanos: uint64(k+i) * 1e9, MemoryByteMS: uint64(k+1) * gib * minuteMS,
				CPURequestMilliMS: 1000 * minuteMS, MemoryRequestByteMS: 16 * gib * minuteMS,
			})
		}
	}
	return h
}

// BenchmarkHour allocates one hour of one node with eight GPUs. The metric is
// scaled to 10,000 GPUs, on one CPU.
func BenchmarkHour(b *testing.B) {
	h := busyNode()
	res, err := Allocate(h, Policy{})
	if err != nil {
		b.Fatal(err)
	}
	sum := money.Sum{}
	for _, e := range res.Entries {
		sum.Add(*e.Amount)
	}
	if n, _ := sum.Nano(); n != h.Costs[0].Total {
		b.Fatalf("entries sum to %s of %s", sum, h.Costs[0].Total)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Allocate(h, Policy{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*10_000/8, "s/10kGPU")
	b.ReportMetric(float64(len(res.Entries)), "entries")
}

// BenchmarkOversubscribed allocates an hour of eight cards of which more is
// granted than there is, to pods whose use changes in every window: no two
// windows divide by the same number.
func BenchmarkOversubscribed(b *testing.B) {
	h := Hour{Costs: []pricing.NodeCost{costOf(2_744_705_250, 8)}}
	for n := range 60 {
		var states []state
		for g := range 8 {
			s := state{id: gpu.Whole(gpu.UUID(fmt.Sprint("GPU-", g))), capacity: 80 << 30}
			for i := range 4 {
				name := fmt.Sprintf("p%d-%d", g, i)
				s.holdings = append(s.holdings, holds(name, uint64(1+n*i)<<28+uint64(n*n)))
				s.grants = append(s.grants, grantOf(name, gpu.ModeFraction, half(40<<30, 80<<30)))
			}
			states = append(states, s)
		}
		h.Batches = append(h.Batches, batch(n, states...))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Allocate(h, Policy{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*10_000/8, "s/10kGPU")
}
