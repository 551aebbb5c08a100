// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	gib    = uint64(1) << 30
	minute = int64(60_000)
	device = gpu.UUID("GPU-1")
)

var (
	began = time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	whole = gpu.Whole(device)
	train = workload.Holder{Kind: workload.KindPod, PodUID: "u1", Namespace: "ml", Pod: "train-0"}
	thief = workload.Holder{Kind: workload.KindPod, PodUID: "u2", Namespace: "ml", Pod: "thief"}
)

// piece is a partition of 80 GiB of which 1 is the driver's, in a span.
func piece(id gpu.PartitionID, at, length int64, held uint64) usage.PartitionRecord {
	capacity, ms := 80*gib, uint64(length)
	return usage.PartitionRecord{
		Partition: id, Span: usage.Span{StartMS: began.UnixMilli() + at, DurationMS: length}, Model: "H100", Mode: gpu.ModeExclusive, MeasuredMS: length, Grade: gpu.Measured,
		CapacityBytes: &capacity, CapacityByteMS: capacity * ms, ReservedByteMS: gib * ms, UsedByteMS: held * ms, FreeByteMS: (79*gib - held) * ms,
	}
}

func holding(id gpu.PartitionID, h workload.Holder, at, length int64, bytes uint64) usage.Record {
	h.Container = "main"
	return usage.Record{Partition: id, Span: usage.Span{StartMS: began.UnixMilli() + at, DurationMS: length}, Holder: h, PresentMS: length, KnownMS: length, ByteMS: bytes * uint64(length), PeakBytes: bytes, Grade: gpu.Measured}
}

func grant(id gpu.PartitionID, h workload.Holder, at, length int64) usage.GrantRecord {
	reserved := 80 * gib
	return usage.GrantRecord{Partition: id, Span: usage.Span{StartMS: began.UnixMilli() + at, DurationMS: length}, GrantedMS: length,
		Grant: attribution.Grant{Holder: h, Source: "kubelet", Resource: "nvidia.com/gpu", Mode: gpu.ModeExclusive, ReservedBytes: &reserved}}
}

// batch is a window of a node.
func batch(at, length int64) usage.Batch {
	return usage.Batch{Cluster: "c", Node: "n", StartMS: began.UnixMilli() + at, DurationMS: length}
}

// TestNowIsTheEndOfTheWindow: of a window that is cut the last piece counts, the parts
// come to the capacity, and a pod that was given the GPU and holds nothing is there.
func TestNowIsTheEndOfTheWindow(t *testing.T) {
	b := batch(0, minute)
	b.Partitions = []usage.PartitionRecord{piece(whole, 0, 20_000, 70*gib), piece(whole, 20_000, 40_000, 10*gib)}
	b.Holders = []usage.Record{holding(whole, train, 0, 20_000, 70*gib), holding(whole, thief, 20_000, 40_000, 10*gib)}
	b.Holders[1].Leak = true
	b.Grants = []usage.GrantRecord{grant(whole, train, 20_000, 40_000)}
	b.Pods = []usage.PodRecord{{Holder: train, Owner: workload.Owner{Kind: "Job", Name: "train"}}}
	n := Now(&b)
	p := n.GPUs[0].Partitions[0]
	if len(n.GPUs) != 1 || p.State != "measured" || *p.Free != 69*gib || *p.Reserve != gib || len(p.Holders) != 2 {
		t.Fatalf("%+v", p)
	}
	if h := p.Holders[0]; h.Pod != "thief" || !h.Leak || h.Granted || *h.Bytes != 10*gib {
		t.Errorf("who holds: %+v", h)
	}
	if h := p.Holders[1]; h.Pod != "train-0" || !h.Granted || h.Bytes != nil || *h.Reserved != 80*gib || h.Workload != "Job/train" {
		t.Errorf("who was given it: %+v", h)
	}
}

// TestNowOfMIG: instances stand in the order of their places, those that went are not
// there, and slices that nothing fits on are the device's.
func TestNowOfMIG(t *testing.T) {
	instance := func(gi uint32, start, size uint32, at, length int64) usage.PartitionRecord {
		p := piece(gpu.PartitionID{Device: device, Instance: gi, SinceMS: 7}, at, length, 0)
		p.Placement, p.Profile = gpu.Placement{Start: start, Size: size}, fmt.Sprintf("%dg", size)
		return p
	}
	parent := piece(whole, 0, minute, 0)
	parent.MIGParent, parent.DeviceSlices, parent.StrandedSlices, parent.CapacityBytes = true, 8, 1, nil
	b := batch(0, minute)
	b.Partitions = []usage.PartitionRecord{instance(2, 4, 2, 0, minute), parent, instance(1, 0, 4, 0, minute), instance(9, 6, 1, 0, 30_000)}
	g := Now(&b).GPUs[0]
	var got []string
	for _, p := range g.Partitions {
		got = append(got, fmt.Sprint(p.Parent, p.Start, p.Size))
	}
	if want := "true 0 0,false 0 4,false 4 2"; strings.Join(got, ",") != want || g.Slices != 8 || g.Stranded != 1 {
		t.Errorf("%v, slices %d, stranded %d", got, g.Slices, g.Stranded)
	}
}

// TestUnknownIsAWord: a GPU that was lost or not read has no sizes, and says why.
func TestUnknownIsAWord(t *testing.T) {
	lost := piece(whole, 0, minute, 0)
	lost.MeasuredMS, lost.UnavailableMS, lost.Reasons, lost.Grade = 0, minute, []string{"fell off the bus"}, gpu.Unmeasured
	b := batch(0, minute)
	b.Partitions = []usage.PartitionRecord{lost}
	if p := Now(&b).GPUs[0].Partitions[0]; p.State != "unavailable" || p.Reason != "fell off the bus" || p.Free != nil {
		t.Errorf("%+v", p)
	}
	gap := batch(0, 0)
	gap.Gap = &usage.Gap{Reason: "agent was down"}
	if n := Now(&gap); n.Gap != "agent was down" || len(n.GPUs) != 0 {
		t.Errorf("%+v", n)
	}
}

// story is an hour: 20 minutes of one pod, ten without a record, ten lost, the rest
// nobody's.
func story() (out []usage.Batch) {
	for i := range int64(60) {
		at := i * minute
		if i >= 20 && i < 30 {
			continue
		}
		b := batch(at, minute)
		p := piece(whole, at, minute, 0)
		switch {
		case i < 20:
			p = piece(whole, at, minute, 40*gib)
			b.Holders = []usage.Record{holding(whole, train, at, minute, 40*gib)}
			b.Grants = []usage.GrantRecord{grant(whole, train, at, minute)}
		case i < 40:
			p.MeasuredMS, p.UnavailableMS, p.Reasons = 0, minute, []string{"lost"}
			p.Events = []sample.Event{{Kind: "xid", XID: 79}}
			b.Findings = []usage.FindingRecord{{Finding: attribution.Finding{Kind: attribution.DeviceUnavailable, Severity: attribution.Critical, Device: device, Detail: "lost"}, ForMS: minute}}
		}
		b.Partitions = []usage.PartitionRecord{p}
		out = append(out, b)
	}
	return out
}

// TestTimeline: what was held is in its steps, what nobody knows is null and has a gap
// with its reason, a grant over many windows is one. The order of batches is no matter.
func TestTimeline(t *testing.T) {
	all := story()
	d, back := Draw(device, began, began.Add(time.Hour)), Draw(device, began, began.Add(time.Hour))
	for i := range all {
		d.Add(&all[i])
		back.Add(&all[len(all)-1-i])
	}
	line, ok := d.Timeline()
	if other, _ := back.Timeline(); fmt.Sprintf("%+v", line.Grants) != fmt.Sprintf("%+v", other.Grants) || fmt.Sprint(line.Gaps) != fmt.Sprint(other.Gaps) {
		t.Error("the order of batches matters")
	}
	if !ok || line.Steps != 60 || len(line.Partitions) != 1 || len(line.Events) != 10 {
		t.Fatalf("%v: %+v", ok, line)
	}
	p := line.Partitions[0]
	for i := range 60 {
		held := p.Holders[0].Bytes[i]
		switch {
		case i < 20 && (held == nil || *held != 40*gib || *p.Free[i] != 39*gib):
			t.Fatalf("step %d: %v", i, held)
		case i >= 20 && i < 40 && (held != nil || p.Free[i] != nil):
			t.Fatalf("step %d is known", i)
		case i >= 40 && (*held != 0 || *p.Free[i] != 79*gib):
			t.Fatalf("step %d: %d", i, *held)
		}
	}
	if g := line.Grants; len(g) != 1 || g[0].To.Sub(g[0].From) != 20*time.Minute {
		t.Errorf("grants %+v", g)
	}
	if g := line.Gaps; len(g) != 2 || g[0].Kind != "unrecorded" || g[0].To.Sub(g[0].From) != 10*time.Minute || g[1].Kind != "unavailable" || g[1].Reason != "lost" {
		t.Errorf("gaps %+v", g)
	}
	if f := line.Findings; len(f) != 1 || f[0].Open || f[0].Windows != 10 || f[0].StoodMS != 10*minute || f[0].First.Sub(began) != 30*time.Minute {
		t.Errorf("findings %+v", f)
	}
}

// TestLongWindows: a window that is longer than a step is in all that it overlaps.
func TestLongWindows(t *testing.T) {
	b := batch(0, 15*minute)
	b.Partitions = []usage.PartitionRecord{piece(whole, 0, 15*minute, 8*gib)}
	b.Holders = []usage.Record{holding(whole, train, 0, 15*minute, 8*gib)}
	d := Draw(device, began.Add(5*time.Minute), began.Add(20*time.Minute))
	d.Add(&b)
	line, _ := d.Timeline()
	for i, v := range line.Partitions[0].Holders[0].Bytes {
		if known := v != nil; known != (i < 10) || known && *v != 8*gib {
			t.Errorf("step %d: %v", i, v)
		}
	}
	d.Until(began.Add(15 * time.Minute).UnixMilli())
	if line, _ = d.Timeline(); len(line.Gaps) != 0 {
		t.Errorf("what is still to come is a gap: %+v", line.Gaps)
	}
}

// TestSteps: no timeline has more values than a screen, but for the longest.
func TestSteps(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{time.Hour: time.Minute, 12 * time.Hour: time.Minute, 24 * time.Hour: 5 * time.Minute, 30 * 24 * time.Hour: time.Hour, 100 * 24 * time.Hour: 6 * time.Hour} {
		if got := StepOf(d); got != want {
			t.Errorf("%s in steps of %s, want %s", d, got, want)
		}
	}
}
