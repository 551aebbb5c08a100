// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// crowd is an hour of two cards whose price changed in the middle: pods with
// grants here and leaks there, a daemon, two programs of the host.
func crowd() Evidence {
	ev := dispute()
	h := &ev.Hour
	h.Batches = nil
	first := h.Costs[0]
	first.Slots = append(slices.Clone(first.Slots), first.Slots[0])
	first.Slots[1].Slot, first.Slots[1].Cost = "slot1", 7*unit
	first.Total += 7 * unit
	first.DurationMS = hourMS / 2
	second := first
	second.Slots = slices.Clone(first.Slots)
	second.StartMS += hourMS / 2
	second.Slots[0].Cost += unit
	second.Total += unit
	h.Costs = append(h.Costs[:0], first, second)
	for i := range int64(6) {
		b := usage.Batch{Version: 1, Cluster: "c", Node: "n1", Agent: "agent", Boot: "boot", Seq: uint64(i) + 1, IntervalMS: 5000, StartMS: first.StartMS + i*600_000, DurationMS: 600_000}
		crowdCard(&b, i, "GPU-1", "slot0", holding(podOf("ml/a"), 3, false), holding(podOf("web/z"), 2, i%2 == 0), holding(workload.Holder{Kind: workload.KindDaemon, Namespace: "gpu-operator", Pod: "dcgm"}, 1, false))
		crowdCard(&b, i, "GPU-2", "slot1", holding(podOf("ml/a"), 5, true), holding(workload.Holder{Kind: workload.KindHost, Unit: "sshd.service"}, 1, false), holding(workload.Holder{Kind: workload.KindHost, Unit: "user-1000.slice"}, 2, false))
		span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
		for _, who := range []string{"ml/a", "web/z"} {
			b.Pods = append(b.Pods, usage.PodRecord{Span: span, Holder: podOf(who), PresentMS: 600_000 - i*1000, UnmeasuredMS: i * 1000, CPUNanos: uint64(i+1) * 1e9, CPURequestMilliMS: 1000 * 600_000, MemoryByteMS: uint64(i) << 40, MemoryRequestByteMS: gib * 600_000})
			b.Findings = append(b.Findings, usage.FindingRecord{ForMS: 1000, Finding: attribution.Finding{Kind: attribution.UnallocatedUse, Holder: podOf(who), Partition: "GPU-1", Detail: who}})
		}
		b.Findings = append(b.Findings, usage.FindingRecord{ForMS: 500, Finding: attribution.Finding{Kind: attribution.DeviceUnmeasured, Detail: "about the node"}})
		h.Batches = append(h.Batches, b)
	}
	return ev
}

func holding(h workload.Holder, gibs uint64, leak bool) usage.Record {
	return usage.Record{Holder: h, Leak: leak, PeakBytes: gibs * gib}
}

func crowdCard(b *usage.Batch, i int64, uuid gpu.UUID, slot string, held ...usage.Record) {
	span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
	ms := uint64(span.DurationMS)
	p := usage.PartitionRecord{
		Partition: gpu.Whole(uuid), Span: span, Slot: slot, Model: "NVIDIA A100", Mode: gpu.ModeFraction, Grade: gpu.Measured, MeasuredMS: span.DurationMS,
		CapacityBytes: new(uint64(40 * gib)), CapacityByteMS: 40 * gib * ms, ReservedByteMS: gib * ms, FreeByteMS: 39 * gib * ms,
	}
	for _, r := range held {
		r.Partition, r.Span, r.PresentMS, r.KnownMS, r.Grade = p.Partition, span, span.DurationMS-i, span.DurationMS-i, gpu.Measured
		r.ByteMS = r.PeakBytes * uint64(r.KnownMS)
		p.UsedByteMS += r.ByteMS
		p.FreeByteMS -= r.ByteMS
		b.Holders = append(b.Holders, r)
		if r.Holder.Kind == workload.KindPod && !r.Leak {
			b.Grants = append(b.Grants, usage.GrantRecord{Partition: p.Partition, Span: span, GrantedMS: span.DurationMS, Grant: attribution.Grant{Holder: r.Holder, Source: "hami", Mode: gpu.ModeFraction, Reserved: gpu.Ratio{Num: 1, Den: 4}}})
		}
	}
	b.Partitions = append(b.Partitions, p)
}

// TestTracesTellOfTheirEntries: what a trace reads from the records is what
// allocation counted for the entry, for every entry of a crowded hour.
func TestTracesTellOfTheirEntries(t *testing.T) {
	ev := crowd()
	ev.Policy.Distribute = []allocation.Distribution{{Account: allocation.Overhead, How: allocation.Even}}
	booked(t, &ev, 0, ledger.Periods{})
	entries, err := ledger.Net(ev.Lines)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[allocation.Kind]int{}
	for i := range entries {
		e := &entries[i]
		trace := explain(t, e.ID, ev)
		seen[e.Kind]++
		if !trace.Booked.Agrees || trace.Price.Part == nil || *trace.Price.Part != *trace.Allocate.Line.Cost || trace.Price.Cost.StartMS != e.StartMS {
			t.Errorf("%s from %d: agrees %v, price of %d", e.Account, e.StartMS, trace.Booked.Agrees, trace.Price.Cost.StartMS)
		}
		if e.Kind == allocation.Shared {
			if s := trace.Source; s.StartMS != e.StartMS || s.Slot != e.Slot || s.Resource != e.Resource || s.Account != e.From {
				t.Errorf("%s is taken from %+v", e.Account, s)
			}
			continue
		}
		checkRecords(t, e, &trace)
	}
	for _, k := range []allocation.Kind{allocation.Direct, allocation.Leak, allocation.Platform, allocation.Shared} {
		if seen[k] < 4 {
			t.Errorf("only %d entries are %s", seen[k], k)
		}
	}
}

func checkRecords(t *testing.T, e *allocation.Entry, trace *Trace) {
	t.Helper()
	in := &trace.Integrate
	granted := int64(0)
	for _, g := range trace.Attribute.Grants {
		granted += g.GrantedMS
	}
	if e.Resource == allocation.ResourceGPU && (in.PresentMS != e.PresentMS || in.ByteMS != e.ByteMS || granted != e.GrantedMS) && e.Account != allocation.Idle {
		t.Errorf("%s %s on %s from %d: the trace has %d ms present, %s byte-ms, %d ms granted, the entry %d, %s, %d",
			e.Account, e.Kind, e.Slot, e.StartMS, in.PresentMS, in.ByteMS, granted, e.PresentMS, e.ByteMS, e.GrantedMS)
	}
	if e.Resource == allocation.ResourceCPU && (in.CPUNanos != e.CPUNanos || in.CPURequestMilliMS != e.CPURequestMilliMS) ||
		e.Resource == allocation.ResourceMemory && (in.ByteMS != e.ByteMS || in.MemoryRequestByteMS != e.RequestByteMS) {
		t.Errorf("%s, %s from %d: the trace has %+v, the entry %+v", e.Account, e.Resource, e.StartMS, in, e.Quantities)
	}
	if in.Windows != 3 || trace.Sample.MissingMS != 0 {
		t.Errorf("%s, %s: %d windows, %d ms missing", e.Account, e.Resource, in.Windows, trace.Sample.MissingMS)
	}
}

func TestFindingsOfATrace(t *testing.T) {
	ev := crowd()
	kinds := func(account string, r allocation.Resource, k allocation.Kind) (out []string) {
		for _, f := range explain(t, find(t, ev, r, account, k), ev).Attribute.Findings {
			out = append(out, strings.Join([]string{string(f.Kind), f.Detail, seconds(f.ForMS)}, " "))
		}
		return out
	}
	same(t, kinds("ml/a", allocation.ResourceGPU, allocation.Direct), "unallocated_gpu_use ml/a 3s", "unallocated_gpu_use web/z 3s") // of the card
	same(t, kinds("ml/a", allocation.ResourceGPU, allocation.Leak), "unallocated_gpu_use ml/a 3s")                                   // of the pod, on another card
	same(t, kinds("ml/a", allocation.ResourceCPU, allocation.Direct))
}

func TestTimesOfThePods(t *testing.T) {
	ev := crowd()
	s := explain(t, find(t, ev, allocation.ResourceCPU, "web/z", allocation.Direct), ev).Sample
	if s.MeasuredMS != 1_797_000 || s.UnmeasuredMS != 3000 {
		t.Errorf("%d ms measured, %d ms not", s.MeasuredMS, s.UnmeasuredMS)
	}
}

// A quantity or a part passed on that changed is a change, also where the amount
// is the same.
func TestAgreement(t *testing.T) {
	ev := dispute()
	ev.Policy.Distribute = []allocation.Distribution{{Account: allocation.Idle, How: allocation.Owner, Shares: []allocation.Share{{To: "x", Weight: 1}}}}
	booked(t, &ev, 0, ledger.Periods{})
	idle := find(t, ev, allocation.ResourceGPU, allocation.Idle, allocation.Platform)
	ev.Hour.Costs[0].Slots[0].Cost += unit
	ev.Hour.Costs[0].Total += unit
	if trace := explain(t, idle, ev); trace.Booked.Agrees {
		t.Errorf("more was passed on, and it agrees:\n%s", trace.Text())
	}

	ev = dispute()
	c := &ev.Hour.Costs[0]
	c.Total, c.CPU, c.Memory, c.Slots[0].Cost = 0, 0, 0, 0
	booked(t, &ev, 0, ledger.Periods{})
	ev.Hour.Batches = ev.Hour.Batches[:5]
	if trace := explain(t, find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct), ev); trace.Booked.Agrees {
		t.Errorf("less time is charged, and it agrees:\n%s", trace.Text())
	}
}

// A window that was cut where the price changed has a record on either side:
// each side's charge is explained by its own.
func TestRecordsOfAPiece(t *testing.T) {
	ev := dispute()
	cut := ev.Hour.Costs[0].StartMS + 25*60_000
	b := &ev.Hour.Batches[2]
	halve := func(s *usage.Span) (second usage.Span) {
		s.DurationMS /= 2
		return usage.Span{StartMS: cut, DurationMS: s.DurationMS}
	}
	p, g := b.Partitions[0], b.Grants[0]
	p.MeasuredMS, p.CapacityByteMS, p.ReservedByteMS, p.UsedByteMS, p.FreeByteMS = p.MeasuredMS/2, p.CapacityByteMS/2, p.ReservedByteMS/2, p.UsedByteMS/2, p.FreeByteMS/2
	g.GrantedMS /= 2
	b.Partitions, b.Grants = []usage.PartitionRecord{p, p}, []usage.GrantRecord{g, g}
	b.Partitions[1].Span, b.Grants[1].Span = halve(&b.Partitions[0].Span), halve(&b.Grants[0].Span)
	for i := range 2 {
		r := &b.Holders[i]
		r.PresentMS, r.KnownMS, r.ByteMS = r.PresentMS/2, r.KnownMS/2, r.ByteMS/2
		second := *r
		second.Span = halve(&r.Span)
		b.Holders = append(b.Holders, second)
	}
	first := ev.Hour.Costs[0]
	first.DurationMS = cut - first.StartMS
	rest := ev.Hour.Costs[0]
	rest.StartMS, rest.DurationMS = cut, hourMS-first.DurationMS
	ev.Hour.Costs = append(ev.Hour.Costs[:0], first, rest)
	booked(t, &ev, 0, ledger.Periods{})
	for _, l := range ev.Lines {
		if l.Resource != allocation.ResourceGPU || l.Account != "ml/a" {
			continue
		}
		trace := explain(t, l.Entry, ev)
		if want := (l.DurationMS + 599_999) / 600_000; int64(trace.Integrate.Windows) != want || trace.Sample.MeasuredMS+trace.Sample.UnmeasuredMS != l.DurationMS || trace.Integrate.PresentMS != l.PresentMS {
			t.Errorf("from %d: %d windows, %d ms of %d", l.StartMS, trace.Integrate.Windows, trace.Sample.MeasuredMS+trace.Sample.UnmeasuredMS, l.DurationMS)
		}
	}
}
