// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"reflect"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
)

func p[T any](v T) *T { return &v }

// set changes a window of a test.
type set func(*Window)

func gr(v float64) set     { return func(w *Window) { w.Busy, w.EngineActive = p(v), p(v) } }
func sm(v float64) set     { return func(w *Window) { w.SMActive = p(v) } }
func tensor(v float64) set { return func(w *Window) { w.TensorActive = p(v) } }
func dram(v float64) set   { return func(w *Window) { w.DRAMActive = p(v) } }
func fp(v float64) set     { return func(w *Window) { w.FPActive = p(v) } }
func held(n uint64) set    { return func(w *Window) { w.Running, w.PeakBytes = n > 0, p(n) } }
func power(mw, limit uint64) set {
	return func(w *Window) { w.PowerMW, w.LimitMW = p(mw), p(limit) }
}

// full is a minute with every signal read.
func full(sets ...set) Window {
	w := Window{DurationMS: minuteMS, MeasuredMS: minuteMS, Holders: 1, Grade: gpu.Measured}
	for _, s := range append([]set{held(30 << 30), gr(1), sm(0.3), tensor(0.1), dram(0.1), fp(0.1), power(200_000, 400_000)}, sets...) {
		s(&w)
	}
	return w
}

// hour is windows, one after the other, repeated up to sixty.
func hour(windows ...Window) Hour {
	h := Hour{DurationMS: 60 * minuteMS, IdleMW: p(uint64(60_000))}
	for i := range 60 {
		w := windows[i*len(windows)/60]
		w.StartMS = int64(i) * minuteMS
		h.Windows = append(h.Windows, w)
	}
	return h
}

// parts is an hour of so many minutes of each.
func parts(minutes []int, windows ...Window) Hour {
	var all []Window
	for i, n := range minutes {
		all = append(all, slices.Repeat([]Window{windows[i]}, n)...)
	}
	return hour(all...)
}

// TestRules: each rule, at and beside its thresholds. The figures that decide
// are written as the rule reads them, after division by activity.
func TestRules(t *testing.T) {
	low := []set{gr(0.95), sm(0.04), tensor(0.04), dram(0.03), power(90_000, 400_000)}
	stall := full(low...)
	for _, c := range []struct {
		name string
		h    Hour
		want Class
		rule Rule
	}{
		{"nothing held, no process", hour(full(held(0), gr(0))), Unused, RuleUnused},
		{"nothing held, the device has no activity signal", hour(full(held(0), func(w *Window) { w.Busy, w.EngineActive = nil, nil })), Unused, RuleUnused},
		{"a process of unknown size for a minute is not unused", parts([]int{59, 1}, full(held(0), gr(0)), full(gr(0), func(w *Window) { w.PeakBytes = nil })), Waiting, RuleWaiting},
		{"held and no kernel", hour(full(gr(0))), Empty, RuleEmpty},
		{"held in one minute, no kernel", parts([]int{59, 1}, full(held(0), gr(0)), full(gr(0))), Empty, RuleEmpty},
		{"one kernel in one minute", parts([]int{59, 1}, full(gr(0)), full(gr(0.001))), Waiting, RuleWaiting},
		{"activity below a fifth", hour(full(gr(0.19))), Waiting, RuleWaiting},
		{"activity of a fifth", hour(full(gr(0.20), sm(0.1), tensor(0.0), dram(0.0), fp(0.0))), Mixed, RuleMixed},
		{"stall", hour(stall), SuspectStall, RuleStall},
		{"half an hour of stall", parts([]int{30, 30}, stall, full(gr(0))), Waiting, RuleWaiting},
		{"more than half an hour of stall", parts([]int{31, 29}, stall, full(gr(0))), SuspectStall, RuleStall},
		{"29 minutes of low work are no stall", parts([]int{29, 29, 2}, stall, full(gr(0.5), sm(0.1)), stall), LaunchBound, RuleLaunch},
		{"too active below 0.95 for a stall", hour(full(append(low, gr(0.949))...)), LaunchBound, RuleLaunch},
		{"too much SM for a stall", hour(full(append(low, sm(0.05))...)), LaunchBound, RuleLaunch},
		{"too much power for a stall", hour(full(append(low, power(94_000, 400_000))...)), LaunchBound, RuleLaunch},
		{"memory at the mark", hour(full(sm(0.9), dram(0.48), tensor(0.05))), MemoryBound, RuleMemory},
		{"memory below the mark", hour(full(sm(0.9), dram(0.479), tensor(0.05))), Mixed, RuleMixed},
		{"memory below the tensor pipe", hour(full(sm(0.9), dram(0.6), tensor(0.7), fp(0.1))), ComputeBound, RuleCompute},
		{"memory below an FP pipe", hour(full(sm(0.9), dram(0.6), tensor(0.1), fp(0.76))), ComputeBound, RuleCompute},
		{"tensor at the mark", hour(full(sm(0.6), tensor(0.3721), dram(0.1))), ComputeBound, RuleCompute},
		{"tensor below the mark", hour(full(sm(0.6), tensor(0.3719), dram(0.1))), Mixed, RuleMixed},
		{"tensor with few SMs", hour(full(sm(0.59), tensor(0.5), dram(0.1))), Mixed, RuleMixed},
		{"few SMs", hour(full(sm(0.49), dram(0.1))), LaunchBound, RuleLaunch},
		{"half of the SMs", hour(full(sm(0.5), dram(0.1))), Mixed, RuleMixed},
		{"few SMs, and not half of the time", hour(full(gr(0.49), sm(0.1), tensor(0.01), dram(0.01), fp(0.01))), Mixed, RuleMixed},
		{"full width a quarter of the time", hour(full(gr(0.25), sm(0.24), tensor(0.2), dram(0.02), fp(0))), ComputeBound, RuleCompute},
	} {
		if got := Classify(c.h); got.Class != c.want || got.Rule != c.rule {
			t.Errorf("%s: %s by rule %d, want %s by %d (%v)", c.name, got.Class, got.Rule, c.want, c.rule, got)
		}
	}
}

// TestUnread: what cannot be told says why, and what is missing.
func TestUnread(t *testing.T) {
	without := func(f func(*Window)) Hour { return hour(full(f)) }
	noActivity := func(w *Window) { w.Busy, w.EngineActive = nil, nil }
	short := hour(full())
	short.Windows = short.Windows[:47]
	for _, c := range []struct {
		name    string
		h       Hour
		want    Class
		reason  Reason
		missing []string
	}{
		{"47 of 60 minutes", short, Unknown, NotMeasured, nil},
		{"four fifths of each minute", without(func(w *Window) { w.MeasuredMS = 47_999 }), Unknown, NotMeasured, nil},
		{"unmeasured", without(func(w *Window) { w.Grade = gpu.Unmeasured }), Unknown, NotMeasured, nil},
		{"two holders", without(func(w *Window) { w.Holders = 2 }), Unknown, Indivisible, nil},
		{"a grade of several", without(func(w *Window) { w.Grade = gpu.Indivisible }), Unknown, Indivisible, nil},
		{"reads disagree", without(func(w *Window) { w.Grade = gpu.Skewed }), Unknown, Skewed, nil},
		{"MIG instance of an A100 without DCGM", without(noActivity), Unknown, NoActivity, []string{"busy"}},
		{"activity in a part of the hour", parts([]int{25, 15, 20}, full(gr(0.1)), full(noActivity), full()), Unknown, Undecided, []string{"busy"}},
		{"T4 without DCGM", without(func(w *Window) { w.SMActive, w.TensorActive, w.DRAMActive, w.FPActive = nil, nil, nil, nil }), Busy, NoDetail, []string{"dram_active", "fp_active", "sm_active", "tensor_active"}},
		{"SM activity above 1", without(sm(1.29)), Busy, NoDetail, []string{"sm_active"}},
		{"memory busy, FP pipes not read", hour(full(sm(0.9), dram(0.6), func(w *Window) { w.FPActive = nil })), Busy, NoDetail, []string{"fp_active"}},
		{"may be a stall, no idle power", func() Hour {
			h := hour(full(sm(0.04), tensor(0.04), dram(0.03)))
			h.IdleMW = nil
			return h
		}(), Busy, NoDetail, []string{"power_and_idle_power"}},
		{"three alike", parts([]int{20, 20, 20}, full(sm(0.9), dram(0.6), tensor(0.05)), full(sm(0.9), tensor(0.9)), full(noActivity)), Busy, NoMajority, []string{"dram_active", "fp_active", "sm_active", "tensor_active"}},
	} {
		got := Classify(c.h)
		if got.Class != c.want || got.Reason != c.reason || !slices.Equal(got.Missing, c.missing) {
			t.Errorf("%s: %s (%s), missing %v; want %s (%s), missing %v", c.name, got.Class, got.Reason, got.Missing, c.want, c.reason, c.missing)
		}
	}
	if got := Classify(Hour{}); got.Class != Unknown || got.Reason != NotMeasured {
		t.Errorf("nothing at all is %v", got)
	}
}

// TestWaitsForInput: a download is waiting that says so.
func TestWaitsForInput(t *testing.T) {
	feed := func(bytes uint64) Hour {
		return hour(full(gr(0.05), func(w *Window) { w.PCIeRxPerS = p(bytes) }))
	}
	if got := Classify(feed(InputFrom)); got.Class != Waiting || !got.WaitsForInput {
		t.Errorf("a gigabyte a second: %v", got)
	}
	if got := Classify(feed(InputFrom - 1)); got.WaitsForInput {
		t.Errorf("less than that: %v", got)
	}
}

// TestVerdictIsReproducible: the order of windows says nothing, inputs are the
// means of what was read, and the caller's windows are left alone.
func TestVerdictIsReproducible(t *testing.T) {
	h := parts([]int{20, 40}, full(gr(0.4), sm(0.2)), full(gr(1), sm(0.3)))
	want := Classify(h)
	slices.Reverse(h.Windows)
	before := slices.Clone(h.Windows)
	if got := Classify(h); !reflect.DeepEqual(got, want) {
		t.Errorf("reversed: %v, want %v", got, want)
	}
	if !reflect.DeepEqual(before, h.Windows) {
		t.Error("the caller's windows were changed")
	}
	if want.Inputs[1] != (Input{"active", 0.8}) {
		t.Errorf("inputs %v: want an activity of 0.8", want.Inputs)
	}
	if want.RulesVersion != RulesVersion {
		t.Errorf("rules %q", want.RulesVersion)
	}
}
