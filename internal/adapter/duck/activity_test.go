// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/test/storetest"
)

// fullHour is an hour with a value in every field.
func fullHour(hour int) activity.Hour {
	h := storetest.BusyHour(rand.New(rand.NewPCG(1, 2)), 3, 4, hour)
	h.Partition.Instance, h.Partition.SinceMS, h.Profile, h.Slices, h.DeviceSlices, h.Placement = 7, 5, "1g.10gb", 1, 8, gpu.Placement{Start: 2, Size: 1}
	h.SkewedMS, h.LeakBytes = 4, 5
	use, n := 0.25, uint64(6)
	h.Engine = &demand.Evidence{Engine: "vllm", Answered: 3, UseMax: &use, PoolBytes: demand.Range{Least: &n, Most: &n}}
	h.Minutes = activity.Minutes{Seen: 1<<60 - 1, Told: 3, Quiet: 2, Asked: 1}
	h.Verdict = signal.Verdict{Class: signal.Mixed, Rule: 9, Reason: "why", Missing: []string{"dram"}, Inputs: []signal.Input{{Name: "sm", Value: 0.5}}, WaitsForInput: true, RulesVersion: "r"}
	h.SM.UnreadMS = 60_000
	h.About.Advice, h.About.Latency = "off", "p99"
	return h
}

// TestEveryFieldOfAnHourIsKept: with all of them set, and with none that may be missing.
func TestEveryFieldOfAnHourIsKept(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	full := fullHour(0)
	for i, v := 0, reflect.ValueOf(full); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	bare := fullHour(1)
	bare.CapacityBytes, bare.PeakBytes, bare.MemoryBytes, bare.Engine = nil, nil, nil, nil
	bare.About, bare.SM, bare.Verdict = attribution.PodAbout{}, signal.Spread{}, signal.Verdict{Class: signal.Unused}
	others := &attribution.OtherPods{Requests: attribution.Requests{Pods: 1, CPUMilli: 2, MemoryBytes: 3}, Movable: attribution.Requests{Pods: 4, CPUMilli: 5, MemoryBytes: 6}}
	var made []activity.Made
	for _, h := range []activity.Hour{full, bare} {
		made = append(made, activity.Made{Due: activity.Due{Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, Records: "d"}, Rules: "1", Hours: []activity.Hour{h}, Others: others})
	}
	for range 2 { // again in the place of what is there
		if err := s.KeepActivity(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	var got []activity.Hour
	for h, err := range s.Activity(t.Context(), activity.Query{ToMS: full.HourMS + 10*hourMS}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *h)
	}
	if diff := cmp.Diff([]activity.Hour{full, bare}, got); diff != "" {
		t.Errorf("(-kept +read)\n%s", diff)
	}
	first := time.UnixMilli(full.HourMS)
	asked, err := s.NodeOthers(t.Context(), first, first.Add(time.Hour))
	want := []activity.NodeOthers{{Cluster: full.Cluster, Node: full.Node, HourMS: full.HourMS, OtherPods: *others}}
	if diff := cmp.Diff(want, asked); diff != "" || err != nil {
		t.Errorf("%v (-kept +read)\n%s", err, diff)
	}
	if err := s.DropActivity(t.Context(), first.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := s.NodeOthers(t.Context(), first, first.Add(5*time.Hour)); len(left) != 0 || err != nil {
		t.Errorf("%v, %v are left", left, err)
	}
}
