// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// shift is two days of minutes at high during those hours of each day, at low else.
func shift(from, to int, low, high float64) Series {
	var out Series
	for m := range 48 * 60 {
		v := low
		if h := m / 60 % 24; h >= from && h < to {
			v = high
		}
		out = append(out, &v)
	}
	return out
}

func tenant(t *testing.T, name string, active, dram Series) Tenant {
	s := subject(t)
	s.Target.Owner, s.Target.Partitions = "Deployment/"+name, []string{"GPU-" + name}
	s.PeakBytes, s.MeanBytes, s.LatencyDeclared = p(gb(20)), p(gb(10)), true
	s.Device.CapacityBytes = gb(80)
	s.Classes = []ClassTime{{signal.Mixed, 30 * dayMS}}
	return Tenant{Subject: s, Trust: "ml", Active: active, DRAM: dram}
}

// TestShare: one works by day and one by night. They are named, a card is given
// back, and no invoice falls.
func TestShare(t *testing.T) {
	day, night := shift(8, 18, 0.1, 0.7), shift(20, 24, 0.05, 0.6)
	mild := shift(0, 0, 0.1, 0.1)
	pair := func() []Tenant { return []Tenant{tenant(t, "day", day, mild), tenant(t, "night", night, mild)} }
	r, err := Share(pair(), gpu.ModeTimeSlicing)
	advised(t, r, err)
	if len(r.Proposed.With) != 2 || r.Proposed.With[1] != "emb/Deployment/night" || len(r.Target.Partitions) != 2 || r.Risk.Isolation == "" {
		t.Errorf("%+v, %+v", r.Proposed, r.Target)
	}
	passed(t, r, "all together", "active", 0.75, true)
	turned := pair()
	turned[0], turned[1] = turned[1], turned[0]
	if other, err := Share(turned, gpu.ModeTimeSlicing); err != nil || other.ID != r.ID {
		t.Errorf("in another order it is another proposal: %s and %s, %v", r.ID, other.ID, err)
	}
	// two cards were charged; then 20 of 80 GiB of one are, the rest is idle
	cashIs(t, r.Money, Capacity, "3832.5", "3832.5", "0")
	for _, c := range []struct {
		name string
		code Code
		set  func(a, b *Tenant)
	}{
		{"both by day", NoFit, func(_, b *Tenant) { b.Active = shift(8, 18, 0.05, 0.05001) }},
		{"too much at once, each p99 low enough", NoFit, func(_, b *Tenant) { b.Active = shift(0, 1, 0.75, 0.75) }},
		{"bandwidth", NoFit, func(a, b *Tenant) { a.DRAM, b.DRAM = shift(0, 0, 0.33, 0.33), shift(0, 0, 0.33, 0.33) }},
		{"memory", NoFit, func(a, _ *Tenant) { a.PeakBytes = p(gb(50)) }},
		{"both are bound by memory", NoFit, func(a, b *Tenant) {
			a.Classes = []ClassTime{{signal.MemoryBound, 1}}
			b.Classes = a.Classes
		}},
		{"strangers", TrustDomain, func(_, b *Tenant) { b.Trust = "other" }},
		{"TensorFlow takes it all", PreallocatedUnknown, func(_, b *Tenant) { b.Engine = "TensorFlow" }},
		{"already shared", Indivisible, func(a, _ *Tenant) { a.Holders = 2 }},
		{"no minutes", NoSignal, func(a, b *Tenant) { a.Active, b.Active = nil, nil }},
		{"minutes that were not read", NoFit, func(a, _ *Tenant) {
			a.Active = append(make(Series, 600), a.Active[600:]...)
		}},
		{"several GPUs", MultiGPU, func(a, _ *Tenant) { a.GPUs = 4 }},
		{"little history", NotEnoughHistory, func(_, b *Tenant) { b.ToMS = dayMS }},
	} {
		ts := pair()
		c.set(&ts[0], &ts[1])
		r, err := Share(ts, gpu.ModeTimeSlicing)
		refused(t, r, err, c.code)
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
	if _, err := Share(pair()[:1], gpu.ModeMPS); err == nil {
		t.Error("shared alone")
	}
}

// TestNotTwentyEight: 28 small pods do not fit one A100, whatever the slots say.
func TestNotTwentyEight(t *testing.T) {
	var many []Tenant
	for i := range 28 {
		one := tenant(t, fmt.Sprint(i), shift(0, 0, 0.01, 0.01), shift(0, 0, 0.01, 0.01))
		one.PeakBytes = p(gb(2.5))
		many = append(many, one)
	}
	r, err := Share(many, gpu.ModeTimeSlicing)
	refused(t, r, err, NoFit)
	passed(t, r, "all together", "active", 0.28, true)
	if r.Tests[0].Holds {
		t.Errorf("28 × 2.5 GiB with a context each fit: %+v", r.Tests[0])
	}
}

func TestCorrelation(t *testing.T) {
	line := func(f func(i int) float64) (s Series) {
		for i := range 48 {
			s = append(s, p(f(i)))
		}
		return s
	}
	up, down := line(func(i int) float64 { return float64(i) }), line(func(i int) float64 { return 5 - 2*float64(i) })
	flat := line(func(int) float64 { return 0.1 })
	for _, c := range []struct {
		a, b Series
		want float64
	}{{up, up, 1}, {up, down, -1}, {up, flat, 0}, {flat, flat, 0}} {
		if got, ok := correlation(c.a, c.b); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	if _, ok := correlation(up[:23], up[:23]); ok {
		t.Error("less than a day is a pattern")
	}
}
