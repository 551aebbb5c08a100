// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const gib = 1 << 30

// drawBatches are the windows of an hour of a node with two cards: some are
// missing, some cards were not measured, and pods hold what they like.
func drawBatches(t *rapid.T, h NodeHour) (out []usage.Batch) {
	for window := range int64(6) {
		if rapid.IntRange(0, 5).Draw(t, "missing") == 0 {
			continue
		}
		b := usage.Batch{Version: 1, Cluster: h.Cluster, Node: h.Node, Agent: "a", Boot: "b", Seq: uint64(window) + 1, StartMS: h.HourMS + window*600_000, DurationMS: 600_000}
		span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
		for card := range 2 {
			drawCard(t, &b, span, card)
		}
		for _, pod := range []string{"x", "y"} {
			b.Pods = append(b.Pods, usage.PodRecord{
				Span: span, Holder: holder(pod), PresentMS: span.DurationMS, CPUNanos: rapid.Uint64Range(0, 1e12).Draw(t, "cpu"),
				MemoryByteMS: uint64(span.DurationMS) * gib, CPURequestMilliMS: 1000 * span.DurationMS,
			})
		}
		out = append(out, b)
	}
	return out
}

func holder(pod string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + pod, Namespace: "ml", Pod: pod}
}

func drawCard(t *rapid.T, b *usage.Batch, span usage.Span, card int) {
	id := gpu.Whole(gpu.UUID(fmt.Sprint("GPU-", card)))
	ms := uint64(span.DurationMS)
	p := usage.PartitionRecord{Partition: id, Span: span, Slot: fmt.Sprint("slot", card), Model: "NVIDIA A100", Mode: gpu.ModeExclusive, Grade: gpu.Measured, MeasuredMS: span.DurationMS}
	if rapid.IntRange(0, 5).Draw(t, "unmeasured") == 0 {
		p.MeasuredMS, p.UnmeasuredMS, p.Grade, p.Reasons = 0, span.DurationMS, gpu.Unmeasured, []string{"hung"}
		b.Partitions = append(b.Partitions, p)
		return
	}
	p.CapacityBytes = new(uint64(40 * gib))
	p.CapacityByteMS, p.ReservedByteMS, p.FreeByteMS = 40*gib*ms, gib*ms, 39*gib*ms
	for _, pod := range []string{"x", "y"} {
		held := rapid.Uint64Range(0, 19*gib).Draw(t, "held")
		p.FreeByteMS -= held * ms
		p.UsedByteMS += held * ms
		leak := pod == "y" && rapid.Bool().Draw(t, "leak")
		if held > 0 {
			b.Holders = append(b.Holders, usage.Record{Partition: id, Span: span, Holder: holder(pod), Leak: leak, PresentMS: span.DurationMS, KnownMS: span.DurationMS, ByteMS: held * ms, PeakBytes: held, Grade: rapid.SampledFrom([]gpu.Grade{gpu.Measured, gpu.Estimated}).Draw(t, "grade")})
		}
		if !leak && rapid.Bool().Draw(t, "grant") {
			b.Grants = append(b.Grants, usage.GrantRecord{Partition: id, Span: span, GrantedMS: span.DurationMS, Grant: attribution.Grant{Holder: holder(pod), Source: "kubelet", Mode: gpu.ModeExclusive, Reserved: gpu.One}})
		}
	}
	b.Partitions = append(b.Partitions, p)
}

func drawCost(t *rapid.T, h NodeHour) []pricing.NodeCost {
	c := pricing.NodeCost{Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS, DurationMS: hourMS, CPUMilli: 8000, MemoryBytes: 64 * gib, Slots: []pricing.SlotCost{{Slot: "slot0"}, {Slot: "slot1"}}}
	if rapid.IntRange(0, 4).Draw(t, "priced") == 0 {
		c.Reason = "no price"
		return []pricing.NodeCost{c}
	}
	c.Priced, c.Currency = true, "USD"
	c.Basis = pricing.Basis{Grade: rapid.SampledFrom([]pricing.Grade{pricing.Listed, pricing.Billed}).Draw(t, "grade"), Source: "list"}
	for _, part := range []*money.Nano{&c.Slots[0].Cost, &c.Slots[1].Cost, &c.CPU, &c.Memory} {
		*part = money.Nano(rapid.Int64Range(0, 3_000_000_000).Draw(t, "cost"))
		c.Total += *part
	}
	return []pricing.NodeCost{c}
}

func drawPolicy(t *rapid.T) allocation.Policy {
	p := allocation.Policy{Basis: rapid.SampledFrom([]allocation.Basis{allocation.Held, allocation.Memory, allocation.Reserved}).Draw(t, "basis")}
	if rapid.Bool().Draw(t, "distribute") {
		p.Distribute = []allocation.Distribution{
			{Account: allocation.Idle, How: allocation.Proportional},
			{Account: allocation.Overhead, How: allocation.Owner, Shares: []allocation.Share{{To: "platform-team", Weight: 1}}},
		}
	}
	return p
}

// TestHoursOfAllocation: what allocation makes of random records, prices and
// policies, one after another and with months closed in between, keeps every
// invariant in the journal.
func TestHoursOfAllocation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, now := newJournal(), at("2026-11-01 02:00")
		for range rapid.IntRange(1, 4).Draw(t, "ratings") {
			now += hourMS
			h := rapid.SampledFrom(hours).Draw(t, "hour")
			costs := drawCost(t, h)
			res, err := allocation.Allocate(allocation.Hour{Costs: costs, Batches: drawBatches(t, h)}, drawPolicy(t))
			if err != nil {
				t.Fatal(err)
			}
			j.rate(t, Rating{NodeHour: h, Entries: res.Entries, Revision: Revision{AtMS: now}}, costs)
			if rapid.Bool().Draw(t, "close") {
				closeNext(t, j, now)
			}
		}
		j.sound(t)
	})
}
