// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// story runs f in a bubble of its own time; the bubble's clock begins at
// 2000-01-01 00:00:00 UTC, a full minute.
func story(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func at(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestAgentMeasuresInWindows(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = 10 * gib
		r := begin(t, w, nil)
		at(150 * time.Second)
		s := r.agent.Snapshot()
		if s == nil || s.Stats.Samples != 31 || s.Stats.Windows != 2 {
			t.Fatalf("snapshot after 150 s: %+v, want 31 samples and 2 windows", s)
		}
		windows := r.end()
		if diff := cmp.Diff([]int64{60000, 60000, 30000}, durations(windows)); diff != "" {
			t.Errorf("windows (-want +got):\n%s", diff)
		}
		if got, want := byteMS(windows), uint64(10*gib*150000); got != want {
			t.Errorf("%d byte-milliseconds, want %d", got, want)
		}
		h := windows[0].Holders[0].Holder
		if h.Account() != "team/p1" || h.Container != "main" {
			t.Errorf("holder %+v, want container main of team/p1", h)
		}
	})
}

// Whatever the length of its steps, the windows are whole minutes that tile the
// time, and hold what was held.
func TestRandomStepsMeasureTheSame(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, func(c *Config) { c.Draw = nil })
		at(10 * time.Minute)
		s := r.agent.Snapshot()
		if s.Stats.Samples < 100 || s.Stats.Samples > 150 || s.Stats.MissedTicks != 0 {
			t.Errorf("%d samples and %d missed in 10 minutes, want 100 to 150 and none", s.Stats.Samples, s.Stats.MissedTicks)
		}
		if s.Result.MonoMS%5000 == 0 {
			t.Errorf("the last of %d random steps ended on the grid, at %d ms", s.Stats.Samples, s.Result.MonoMS)
		}
		windows := r.end()
		if got, want := byteMS(windows), uint64(gib*600000); got != want {
			t.Errorf("%d byte-milliseconds, want %d", got, want)
		}
		if _, measured, unmeasured := sumMS(windows); measured != 600000 || unmeasured != 0 {
			t.Errorf("%d ms measured, %d not; want 600000 and 0", measured, unmeasured)
		}
	})
}

func durations(windows []usage.Batch) (ms []int64) {
	for _, b := range windows {
		ms = append(ms, b.DurationMS)
	}
	return ms
}

// What /metrics counts is what the records hold, whatever the sizes do.
func TestTotalsEqualRecords(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		r := begin(t, w, nil)
		for i := range 40 {
			w.set(func() { w.held[1], w.held[2] = uint64(i+1)*gib/4, uint64(40-i)*gib/8 })
			at(3 * time.Second)
		}
		w.set(func() { w.gpuDelay = 0 })
		at(0)
		var total usage.Total
		for _, v := range r.agent.Snapshot().Totals {
			total.AddTotal(v.ByteMS)
		}
		windows := r.end() // at 120 s: a sample and a window's end
		var records usage.Total
		records.Add(byteMS(windows))
		if total.Cmp(records) != 0 {
			t.Errorf("totals %v, records %v", total, records)
		}
	})
}

func TestClockStepsChangeNoDuration(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		story(t, func(t *testing.T) {
			w := newWorld()
			w.held[1] = gib
			r := begin(t, w, nil)
			at(90 * time.Second)
			w.set(func() { w.wallStep = step })
			at(90 * time.Second)
			windows := r.end()
			total, measured, unmeasured := sumMS(windows)
			if total != 180000 || measured != 180000 || unmeasured != 0 {
				t.Errorf("step %s: %d ms, %d measured, %d unmeasured; want 180000 measured", step, total, measured, unmeasured)
			}
			if got, want := byteMS(windows), uint64(gib*180000); got != want {
				t.Errorf("step %s: %d byte-milliseconds, want %d", step, got, want)
			}
		})
	}
}

func TestSlowSampleMissesTicksAndStaysOnTheGrid(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		w.gpuDelay = 900 * time.Millisecond // just within its deadline
		r := begin(t, w, func(c *Config) { c.Interval = 2 * time.Second })
		at(60 * time.Second)
		s := r.agent.Snapshot()
		if s.Stats.MissedTicks != 0 {
			t.Errorf("%d missed ticks although each sample fits: %+v", s.Stats.MissedTicks, s.Stats)
		}
		r.recorder.set(3 * time.Second)
		at(60 * time.Second)
		s = r.agent.Snapshot()
		if s.Stats.MissedTicks < 10 || s.Stats.MissedTicks > 20 {
			t.Errorf("%d missed ticks in 60 s of 3 s samples every 2 s, want about 15", s.Stats.MissedTicks)
		}
		if ms := s.Result.MonoMS % 2000; ms != 0 {
			t.Errorf("a sample lies %d ms off the grid", ms)
		}
		if n := r.log.count("longer than the interval"); n != 1 {
			t.Errorf("missed ticks were logged %d times, want once", n)
		}
		total, measured, _ := sumMS(r.end())
		if total != measured {
			t.Errorf("%d of %d ms measured: samples 4 s apart leave no gap", measured, total)
		}
	})
}

func TestAThousandShortLivedPods(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		r := begin(t, w, func(c *Config) { c.Interval = time.Second })
		at(500 * time.Millisecond) // pods begin and end between samples
		for pid := 1; pid <= 1000; pid++ {
			w.set(func() { w.held = map[int]uint64{pid: gib} })
			at(2 * time.Second)
		}
		w.set(func() { w.held = map[int]uint64{} })
		s := r.agent.Snapshot()
		if n := len(s.Totals); n > 70 {
			t.Errorf("%d totals are kept, want those of the last two minutes", n)
		}
		at(4 * time.Minute)
		if n := len(r.agent.Snapshot().Totals); n != 0 {
			t.Errorf("%d totals are kept of pods long gone", n)
		}
		if n := len(r.agent.notes.findings); n != 0 {
			t.Errorf("%d findings are remembered", n)
		}
		windows := r.end()
		if got, want := byteMS(windows), uint64(1000*2000*gib); got != want {
			t.Errorf("%d byte-milliseconds, want %d: each pod is seen by two samples", got, want)
		}
		seen := map[string]bool{}
		for _, b := range windows {
			for _, h := range b.Holders {
				seen[h.Holder.PodUID] = true
			}
		}
		if len(seen) != 1000 {
			t.Errorf("%d pods in the records, want 1000", len(seen))
		}
	})
}

func TestInstancesAreKeptWhenTheyChange(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		r := begin(t, w, nil)
		at(6 * time.Second)
		w.set(func() { w.instance = map[gpu.UUID]int64{"MIG-1": 7} })
		at(6 * time.Second)
		if diff := cmp.Diff(map[gpu.UUID]int64{"MIG-1": 7}, r.kept); diff != "" {
			t.Errorf("kept instances (-want +got):\n%s", diff)
		}
		r.end()
	})
}

func TestReadyAfterTheFirstSampleHealthyWhileTheLoopTurns(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.gpuDelay = time.Second
		r := begin(t, w, nil)
		if r.agent.Ready() == nil {
			t.Error("ready before the first sample")
		}
		at(2 * time.Second)
		if err := r.agent.Ready(); err != nil {
			t.Error(err)
		}
		r.end()
		at(time.Hour)
		if r.agent.Healthy() == nil {
			t.Error("healthy an hour after the loop ended")
		}
	})
}

func TestTooShortAnIntervalIsRefused(t *testing.T) {
	if _, err := New(Config{Interval: time.Millisecond}, Sources{}, nil, nil); err == nil {
		t.Error("1 ms was accepted")
	}
}
