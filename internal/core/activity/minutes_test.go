// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestMinute: a minute is quiet only where every sign says so.
func TestMinute(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		name               string
		active, cpu        *float64
		requests           *bool
		told, quiet, asked bool
	}{
		{"nothing ran, no CPU", new(0.0), new(0.01), nil, true, true, false},
		{"a kernel ran", new(0.001), new(0.01), nil, true, false, false},
		{"the CPU works: a download", new(0.0), new(0.05), nil, true, false, false},
		{"activity is not known", nil, new(0.01), nil, false, false, false},
		{"CPU is not known", new(0.0), nil, nil, false, false, false},
		{"a request is there", new(0.0), new(0.01), &yes, true, false, true},
		{"no request is there", new(0.0), new(0.01), &no, true, true, true},
	} {
		var m Minutes
		m.add(3, c.active, c.cpu, c.requests)
		is := func(bits uint64) bool { return bits == 8 }
		if !is(m.Seen) || is(m.Told) != c.told || is(m.Quiet) != c.quiet || is(m.Asked) != c.asked {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
	var m Minutes
	m.add(-1, new(0.0), new(0.0), nil)
	m.add(60, new(0.0), new(0.0), nil)
	if m != (Minutes{}) {
		t.Errorf("minutes of other hours: %+v", m)
	}
}

// TestJoin: what one of two is at work in is no quiet minute of both; a minute that
// only one of them has is as that one says.
func TestJoin(t *testing.T) {
	a := Minutes{Seen: 0b0111, Told: 0b0111, Quiet: 0b0011, Asked: 0b0001}
	b := Minutes{Seen: 0b1110, Told: 0b1010, Quiet: 0b1010}
	want := Minutes{Seen: 0b1111, Told: 0b1011, Quiet: 0b1011, Asked: 0b0001}
	if got := a.Join(b); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if a.Join(b) != b.Join(a) || a.Join(Minutes{}) != a {
		t.Error("the order matters, or nothing changes something")
	}
}

// TestBesideGPUs: whose the pod is, its CPU, and an engine in it, each window once
// whatever its pieces are.
func TestBesideGPUs(t *testing.T) {
	all := records(spell{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.0), ""})
	use := 0.4
	for i := range all {
		span := usage.Span{StartMS: all[i].StartMS, DurationMS: minute}
		all[i].Cluster, all[i].Node = "prod", "n1"
		owner := workload.Owner{Kind: "Deployment", Name: "old"}
		if i >= 30 {
			owner.Name = "new"
		}
		// Half of 2 CPUs in the first ten minutes, then a hundredth.
		nanos := uint64(0.02 * 60e9)
		if i < 10 {
			nanos = 60e9
		}
		all[i].Pods = []usage.PodRecord{{Span: span, Holder: pod("a"), Owner: owner, PresentMS: minute, CPUNanos: nanos, CPURequestMilliMS: 2000 * minute, MemoryByteMS: 3 * gib * 60_000}}
		all[i].Engines = []usage.EngineRecord{{Span: span, Holder: pod("a"), Engine: "vllm", Answered: 4, PoolUseMax: &use}}
	}
	// One window is in two pieces.
	p := all[5].Partitions[0]
	p.DurationMS, p.MeasuredMS = minute/2, minute/2
	second := p
	second.StartMS += minute / 2
	all[5].Partitions = []usage.PartitionRecord{p, second}
	h, g := all[5].Holders[0], all[5].Grants[0]
	h.Span, g.Span = p.Span, p.Span
	h2, g2 := h, g
	h2.Span, g2.Span = second.Span, second.Span
	all[5].Holders, all[5].Grants = []usage.Record{h, h2}, []usage.GrantRecord{g, g2}

	hours := OfNode(all, unknownIdle)
	if len(hours) != 1 {
		t.Fatalf("%d hours", len(hours))
	}
	got := hours[0]
	if got.Cluster != "prod" || got.Node != "n1" || got.Owner.Name != "new" || got.CPURequestMilli != 2000 || got.HostBytes() != 3*gib {
		t.Errorf("%+v", got)
	}
	if v, _ := got.CPU.Quantile(1000); v != 0.5 {
		t.Errorf("CPU at most %v of the request", v)
	}
	if e := got.Engine; e == nil || e.Answered != 240 || e.AnsweredMS != 60*minute {
		t.Errorf("%+v", e)
	}
	if want := ^uint64(0) >> 4 &^ 0b11_1111_1111; got.Minutes.Quiet != want {
		t.Errorf("quiet minutes %b, want %b", got.Minutes.Quiet, want)
	}
}

// TestUnusedIsQuiet: without a process of its own a pod is quiet, whatever the device
// can tell and whoever else is on it.
func TestUnusedIsQuiet(t *testing.T) {
	all := records(spell{60, []string{"a", "b"}, map[string]uint64{"b": 8}, nil, ""})
	for i := range all {
		all[i].Pods = []usage.PodRecord{{Span: all[i].Partitions[0].Span, Holder: pod("a"), PresentMS: minute}, {Span: all[i].Partitions[0].Span, Holder: pod("b"), PresentMS: minute}}
	}
	hours := OfNode(all, unknownIdle)
	if a := of("a", hours); len(a) != 1 || a[0].Minutes.Quiet != a[0].Minutes.Seen {
		t.Errorf("%+v", a)
	}
	if b := of("b", hours); len(b) != 1 || b[0].Minutes.Told != 0 {
		t.Errorf("%+v", b)
	}
}

// TestQuietHours: idle power is the lowest of the time in which nobody was on the
// device, kept by the hour; hours with somebody there teach nothing.
func TestQuietHours(t *testing.T) {
	all := records(spell{minutes: 60}, spell{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.0), ""})
	for i := range all {
		all[i].Partitions[0].PowerMW = new(uint64(60_000 - 100*uint64(i)))
	}
	got := QuietHours(all)
	if p := got[1_000*hourMS][gpu.UUID("GPU-0")]; len(got) != 1 || p.SeenMS != 60*minute || p.LowestMW != 54_100 {
		t.Errorf("%+v", got)
	}
}
