// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const minute, gib = int64(60_000), uint64(1) << 30

func pod(name string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + name, Namespace: "team", Pod: name}
}

// spell is minutes of one GPU: who was granted it, who holds how much, how active it was.
type spell struct {
	minutes int
	granted []string
	held    map[string]uint64 // GiB
	active  *float64
	grade   gpu.Grade
}

// records are spells one after the other from the first minute of an hour on.
func records(spells ...spell) (out []usage.Batch) {
	id := gpu.Whole("GPU-0")
	for _, s := range spells {
		for range s.minutes {
			span := usage.Span{StartMS: 1_000*hourMS + int64(len(out))*minute, DurationMS: minute}
			b := usage.Batch{StartMS: span.StartMS, DurationMS: minute, Seq: uint64(len(out) + 1)}
			p := usage.PartitionRecord{Partition: id, Span: span, Model: "A100", MeasuredMS: minute, Grade: gpu.Measured}
			p.Signals.Busy, p.Signals.SMActive = s.active, s.active
			b.Partitions = []usage.PartitionRecord{p}
			for _, name := range s.granted {
				b.Grants = append(b.Grants, usage.GrantRecord{Partition: id, Span: span, Grant: attribution.Grant{Holder: pod(name)}, GrantedMS: minute})
			}
			for name, n := range s.held {
				h := pod(name)
				h.Container = "main"
				grade := s.grade
				if grade == "" {
					grade = gpu.Measured
				}
				b.Holders = append(b.Holders, usage.Record{Partition: id, Span: span, Holder: h, PresentMS: minute, KnownMS: minute,
					ByteMS: n * gib * uint64(minute), PeakBytes: n * gib, Grade: grade})
			}
			out = append(out, b)
		}
	}
	return out
}

func of(name string, hours []Hour) (out []Hour) {
	for _, h := range hours {
		if h.Holder.Pod == name {
			out = append(out, h)
		}
	}
	return out
}

func unknownIdle(gpu.UUID) *uint64 { return nil }

// TestHours: what a pod had and did, and the class that comes of it.
func TestHours(t *testing.T) {
	for _, c := range []struct {
		name   string
		spells []spell
		class  signal.Class
		reason signal.Reason
		peak   uint64 // GiB
		mean   uint64 // GiB × minutes
		alone  int64  // minutes that the signals are over
	}{
		{"granted and never used", []spell{{minutes: 60, granted: []string{"a"}}}, signal.Unused, "", 0, 0, 0},
		{"loaded, no kernel", []spell{{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.0), ""}}, signal.Empty, "", 8, 480, 60},
		{"mostly waiting", []spell{{50, []string{"a"}, map[string]uint64{"a": 8}, new(0.05), ""}, {10, []string{"a"}, map[string]uint64{"a": 20}, new(0.9), ""}}, signal.Waiting, "", 20, 600, 60},
		{"busy, nothing finer", []spell{{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), ""}}, signal.Busy, signal.NoDetail, 8, 480, 60},
		{"two on one GPU", []spell{{60, []string{"a", "b"}, map[string]uint64{"a": 8, "b": 4}, new(0.9), ""}}, signal.Unknown, signal.Indivisible, 8, 480, 0},
		{"a neighbour for ten minutes", []spell{{50, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), ""}, {10, []string{"a"}, map[string]uint64{"a": 8, "b": 4}, new(0.9), ""}}, signal.Busy, signal.NoDetail, 8, 480, 50},
		{"reads that disagree", []spell{{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), gpu.Skewed}}, signal.Unknown, signal.Skewed, 8, 480, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			hours := of("a", OfNode(records(c.spells...), unknownIdle))
			if len(hours) != 1 {
				t.Fatalf("%d hours", len(hours))
			}
			h := hours[0]
			if h.Verdict.Class != c.class || h.Verdict.Reason != c.reason || h.HourMS != 1_000*hourMS || h.DurationMS != 60*minute || h.Model != "A100" {
				t.Errorf("%+v", h)
			}
			if h.PeakBytes == nil || *h.PeakBytes != c.peak*gib || h.ByteMS != c.mean*gib*uint64(minute) {
				t.Errorf("peak %v, %d byte-ms", h.PeakBytes, h.ByteMS)
			}
			if got := h.Active.ReadMS() / minute; got != c.alone {
				t.Errorf("signals of %d minutes, want %d", got, c.alone)
			}
		})
	}
}

// TestHoursOfTheClock: a pod's time is parted where an hour ends, and each part is
// judged by itself.
func TestHoursOfTheClock(t *testing.T) {
	hours := of("a", OfNode(records(spell{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), ""}, spell{15, []string{"a"}, map[string]uint64{"a": 2}, new(0.0), ""}), unknownIdle))
	if len(hours) != 2 || hours[0].Verdict.Class != signal.Busy || hours[1].Verdict.Class != signal.Empty {
		t.Fatalf("%+v", hours)
	}
	if hours[1].DurationMS != 15*minute || hours[1].GrantedMS != 15*minute || *hours[1].PeakBytes != 2*gib {
		t.Errorf("%+v", hours[1])
	}
}

// TestUnknownSize: one process of unknown size makes the peak unknown, not small.
func TestUnknownSize(t *testing.T) {
	all := records(spell{60, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), ""})
	all[7].Holders[0].KnownMS = 0
	if h := OfNode(all, unknownIdle); len(h) != 1 || h[0].PeakBytes != nil || h[0].KnownMS != 59*minute {
		t.Errorf("%+v", h)
	}
}

// TestOrderOfRecords: the same records in another order give the same hours.
func TestOrderOfRecords(t *testing.T) {
	all := records(spell{40, []string{"a"}, map[string]uint64{"a": 8}, new(0.9), ""}, spell{50, []string{"a", "b"}, map[string]uint64{"b": 3}, new(0.1), ""})
	want := OfNode(all, unknownIdle)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if diff := cmp.Diff(want, OfNode(all, unknownIdle)); diff != "" {
			t.Fatal(diff)
		}
	}
}
