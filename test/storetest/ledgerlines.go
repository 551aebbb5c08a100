// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
)

// id makes an id as the ledger's are.
func id(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(of...)))
	return hex.EncodeToString(sum[:16])
}

// fillNumber draws numbers that have a form of their own: those of 128 bits, whose
// fields nobody else can set, and amounts, of which the lowest has no text.
func fillNumber(t *rapid.T, v reflect.Value) bool {
	switch n := v.Addr().Interface().(type) {
	case *ledger.Wide:
		*n = ledger.WideFrom(signed.Draw(t, "high"), numbers.Draw(t, "low"))
	case *money.Sum:
		*n = money.SumOf(signed.Draw(t, "high"), numbers.Draw(t, "low"))
	case *money.Nano:
		*n = max(money.Nano(signed.Draw(t, "amount")), -math.MaxInt64)
	default:
		return false
	}
	return true
}

// anyBooking draws the first booking of an hour with anything in any field, found
// by reflection, so that a field which is added is drawn too. It keeps no rule but
// those of the seam: which hour and booking it says it is, and ids that are ids.
func anyBooking(t *rapid.T, h ledger.NodeHour) rating.Booking {
	var b rating.Booking
	fill(t, reflect.ValueOf(&b).Elem())
	b.Rated.NodeHour, b.After, b.Mark = h, 0, 0
	b.Rated.Booking = min(len(b.Lines), 1)
	pods := map[string]report.PodDimensions{}
	for _, p := range b.Pods { // a pod is on one node
		pods[fmt.Sprint(h.Node, "-", len(pods))] = p
	}
	b.Pods = pods
	for i := range b.Lines {
		soundLine(t, &b.Lines[i], h, i)
	}
	for i := range b.Rated.Costs {
		c := &b.Rated.Costs[i]
		c.Cluster, c.Node, c.StartMS = h.Cluster, h.Node, h.HourMS+int64(i)*1000
	}
	for i := range b.Rated.Nodes { // a node's fields have limits of JSON alone
		b.Rated.Nodes[i].FromMS, b.Rated.Nodes[i].ToMS = h.HourMS, h.HourMS+int64(i)
	}
	return b
}

// soundLine gives a line what the seam asks for.
func soundLine(t *rapid.T, l *ledger.Line, h ledger.NodeHour, i int) {
	l.NodeHour, l.Booking, l.StartMS = h, 1, h.HourMS+int64(rapid.IntRange(0, 3_599_999).Draw(t, "from"))
	l.Entry, l.Seq = id(h, i), rapid.IntRange(1, 1<<31-1).Draw(t, "seq")
	l.ID, l.Adjusts = id(l.Entry, l.Seq), rapid.SampledFrom([]string{"", id("before", h, i)}).Draw(t, "adjusts")
	l.Holder.PodUID = fmt.Sprint(h.Node, "-", rapid.IntRange(0, 2).Draw(t, "pod"))
	l.Period = ledger.Month(rapid.IntRange(0, 40_000).Draw(t, "period"))
	if l.EntryKind == "" {
		l.EntryKind = allocation.Direct
	}
	l.Grades = nil
	for _, g := range gpu.Grades() {
		if rapid.IntRange(0, 3).Draw(t, "graded") == 0 {
			part := ledger.GradePart{}
			fill(t, reflect.ValueOf(&part).Elem())
			part.Grade = g
			l.Grades = append(l.Grades, part)
		}
	}
}

// hourOf makes a sound hour of a node: so many GPUs, each with a pod and the rest
// idle, CPU and memory, as a rating books it. It balances and passes ledger.Check.
// price is what the node costs in the hour, in billionths; change makes another
// state of the same entries.
func hourOf(h ledger.NodeHour, gpus int, price int64, change int64) (entries []allocation.Entry, cost pricing.NodeCost, pods map[string]report.PodDimensions) {
	basis := pricing.Basis{Grade: pricing.Listed, Source: "list", Row: "p5", Revision: "r1", Hourly: nano(price), Split: "residual", Notes: []string{"a note"}}
	cost = pricing.NodeCost{
		Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS, DurationMS: 3_600_000, Priced: true, Currency: "USD",
		CPUMilli: 64_000, MemoryBytes: 1 << 39, Basis: basis, CPU: nano(price / 10), Memory: nano(price / 20),
	}
	cost.Total = cost.CPU + cost.Memory
	pods = map[string]report.PodDimensions{}
	for g := range gpus {
		slot := pricing.SlotCost{Slot: fmt.Sprintf("00000000:%02X:00.0", g), Cost: nano(price / int64(gpus))}
		cost.Slots, cost.Total = append(cost.Slots, slot), cost.Total+slot.Cost
		uid := fmt.Sprintf("%s-%d", h.Node, g)
		pods[uid] = report.PodDimensions{Labels: map[string]string{"team": []string{"vision", "speech"}[g%2]}}
		share := 1_800_000 + change*1000 + int64(g)
		entries = append(entries, podEntry(h, g, slot, share, &cost.Basis), idleEntry(h, g, slot, 3_600_000-share, &cost.Basis))
	}
	for _, r := range []struct {
		of     allocation.Resource
		amount int64
	}{{allocation.ResourceCPU, int64(cost.CPU)}, {allocation.ResourceMemory, int64(cost.Memory)}} {
		e := idleEntry(h, -1, pricing.SlotCost{Cost: nano(r.amount)}, 3_600_000, &cost.Basis)
		e.Resource, e.Partition, e.Model, e.ID = r.of, gpu.PartitionID{}, "", id(h, r.of)
		entries = append(entries, e)
	}
	return entries, cost, pods
}

// bookingOf books an hour after what there is of it, as a rater does.
func bookingOf(t tb, before []ledger.Line, h ledger.NodeHour, gpus int, price, change int64, p ledger.Periods) rating.Booking {
	t.Helper()
	entries, cost, pods := hourOf(h, gpus, price, change)
	rev := ledger.Revision{Records: id("records", h, change), Prices: "prices", Policy: "held", AtMS: h.HourMS + 7_200_000}
	lines, err := ledger.Book(before, ledger.Rating{NodeHour: h, Entries: entries, Revision: rev}, p)
	if err != nil {
		t.Fatal(err)
	}
	b := rating.Booking{Lines: lines, Pods: pods}
	for i := range before {
		b.After = max(b.After, before[i].Booking)
	}
	b.Rated = rating.Rated{NodeHour: h, Booking: b.After, Revision: rev, Costs: []pricing.NodeCost{cost}, Complete: true,
		Nodes: []rating.Piece{{FromMS: h.HourMS, ToMS: h.HourMS + 3_600_000, Node: pricing.Node{Cluster: h.Cluster, Name: h.Node, CPUMilli: 64_000,
			Labels: map[string]string{"a": "b"}, Life: pricing.Life{FirstSeen: 1, LastSeen: h.HourMS + 3_600_000, Interval: 5000}}}}}
	if len(lines) > 0 {
		b.Rated.Booking++
	}
	return b
}

// sortedLines are lines in the order in which a store walks them.
func sortedLines(lines []ledger.Line) []ledger.Line {
	out := slices.Clone(lines)
	slices.SortFunc(out, func(a, b ledger.Line) int { return a.Compare(&b) })
	return out
}

// Bookings are the first bookings of some hours of a node, one after another from
// Start on. They balance and pass ledger.Check.
func Bookings(t tb, node string, hours int) (out []rating.Booking) {
	t.Helper()
	for i := range hours {
		out = append(out, bookingOf(t, nil, hourNo(node, i), 2, 36_000_000_007, int64(i), ledger.Periods{}))
	}
	return out
}
