// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// signals are what can be missing from a window. Busy and engine activity are
// two readings of one thing and go together.
var signals = []func(*Window){
	func(w *Window) { w.Busy, w.EngineActive = nil, nil },
	func(w *Window) { w.SMActive = nil },
	func(w *Window) { w.TensorActive = nil },
	func(w *Window) { w.DRAMActive = nil },
	func(w *Window) { w.FPActive = nil },
	func(w *Window) { w.PowerMW = nil },
	func(w *Window) { w.LimitMW = nil },
	func(w *Window) { w.PeakBytes = nil },
}

// someHour is minutes of a few kinds, so that classes tie and alternate.
func someHour(r *rand.Rand) Hour {
	h := Hour{DurationMS: 60 * minuteMS, IdleMW: p(uint64(60_000))}
	kinds := make([]Window, 1+r.IntN(4))
	for i := range kinds {
		kinds[i] = someMinute(r)
	}
	for at := int64(0); len(h.Windows) < 60; {
		w := kinds[r.IntN(len(kinds))]
		for range min(1+r.IntN(40), 60-len(h.Windows)) {
			w.StartMS = at
			at += minuteMS
			h.Windows = append(h.Windows, w)
		}
	}
	return h
}

func someMinute(r *rand.Rand) Window {
	pick := func(vs ...float64) float64 { return vs[r.IntN(len(vs))] }
	active := pick(0, 0, 0.1, 0.3, 0.6, 1, 1)
	work := pick(0.02, 0.3, 0.6, 0.9, 1)
	return full(gr(active), sm(active*work), tensor(active*pick(0, 0.02, 0.5, 0.9)), dram(active*pick(0, 0.02, 0.5, 0.8)),
		fp(active*pick(0, 0.02, 0.5, 0.9)), power(uint64(pick(70_000, 300_000)), 400_000), held(uint64(pick(0, 1<<30, 1<<30))))
}

// TestMissingNeverRefines: take any signals from any minutes of an hour, and its
// class stays or gets coarser. It never gets finer, and never becomes another.
func TestMissingNeverRefines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	coarser, seen := 0, map[Class]int{}
	for range 8_000 {
		h := someHour(r)
		whole := Classify(h)
		seen[whole.Class]++
		less := h
		less.Windows = append([]Window(nil), h.Windows...)
		drop := signals[r.IntN(len(signals))]
		share := r.Float64() * r.Float64()
		for i := range less.Windows {
			if r.Float64() < share {
				drop(&less.Windows[i])
			}
		}
		if r.IntN(8) == 0 {
			less.IdleMW = nil
		}
		got := Classify(less)
		if !whole.Class.Refines(got.Class) {
			t.Fatalf("with less read, %v became %v", whole, got)
		}
		if got.Class != whole.Class {
			coarser++
		}
	}
	for _, c := range Classes() {
		if c != Unknown && c != Busy && seen[c] == 0 {
			t.Errorf("no hour was %s: the test does not reach it (%v)", c, seen)
		}
	}
	if coarser < 200 {
		t.Errorf("only %d classes got coarser: the test takes too little away", coarser)
	}
}

// TestReach: under each sight, the classes found in many hours are those of
// Reach, no more and no less.
func TestReach(t *testing.T) {
	for mask := range 1 << 6 {
		bit := func(i int) bool { return mask>>i&1 == 1 }
		s := Sight{Activity: bit(0), SM: bit(1), DRAM: bit(2), Tensor: bit(3), FP: bit(4), Power: bit(5)}
		got := map[Class]bool{}
		r := rand.New(rand.NewPCG(1, uint64(mask)))
		for range 700 {
			h := someHour(r)
			for i := range h.Windows {
				s.blind(&h.Windows[i])
			}
			got[Classify(h).Class] = true
		}
		got[Unknown] = Classify(Hour{DurationMS: 1}).Class == Unknown
		want := map[Class]bool{}
		for _, c := range Reach(s) {
			want[c] = true
		}
		if s == (Sight{true, true, true, true, true, true}) {
			// with all read, an hour is busy only where minutes differ too evenly
			got[Busy] = true
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: found %v, Reach says %v", s, got, want)
		}
	}
}

// blind takes from a window what the sight does not have.
func (s Sight) blind(w *Window) {
	for i, have := range []bool{s.Activity, s.SM, s.Tensor, s.DRAM, s.FP, s.Power} {
		if !have {
			signals[i](w)
		}
	}
}
