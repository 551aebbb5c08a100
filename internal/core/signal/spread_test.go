// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestQuantiles: by time, never below the value read, and a short peak is the
// maximum whatever the percentile says.
func TestQuantiles(t *testing.T) {
	var s Spread
	s.Add(p(0.10), 989_000)
	s.Add(p(0.4321), 10_000)
	s.Add(p(1.29), 1_000)
	s.Add(nil, 5_000)
	s.Add(p(math.NaN()), 5_000)
	s.Add(p(0.5), 0)
	for _, c := range []struct {
		permille int64
		want     float64
	}{{0, 0.1}, {500, 0.1}, {989, 0.1}, {990, 0.433}, {999, 0.433}, {1000, 1.29}} {
		if got, ok := s.Quantile(c.permille); !ok || got != c.want {
			t.Errorf("p%d is %v, want %v", c.permille, got, c.want)
		}
	}
	if s.UnreadMS != 10_000 || s.ReadMS() != 1_000_000 {
		t.Errorf("read %d, unread %d", s.ReadMS(), s.UnreadMS)
	}
	if _, ok := new(Spread).Quantile(990); ok {
		t.Error("nothing has a percentile")
	}
	if _, ok := s.Quantile(1001); ok {
		t.Error("p100.1 has a value")
	}
}

// TestSpreadsMerge: any hours, in any order, are one spread.
func TestSpreadsMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	var whole Spread
	hours := make([]Spread, 24)
	for range 5000 {
		v, ms := r.Float64()*1.1, 1+r.Int64N(60_000)
		whole.Add(&v, ms)
		hours[r.IntN(len(hours))].Add(&v, ms)
	}
	for range 3 {
		r.Shuffle(len(hours), func(i, j int) { hours[i], hours[j] = hours[j], hours[i] })
		var merged Spread
		for _, h := range hours {
			merged.Merge(h)
		}
		if !reflect.DeepEqual(merged, whole) {
			t.Fatal("merged hours are not the whole")
		}
	}
}

// TestIdlePowerIsOfIdleDevices: only whole windows without any process teach
// it, the lowest counts, order does not, and little time is not enough.
func TestIdlePowerIsOfIdleDevices(t *testing.T) {
	quiet := func(mw uint64) Quiet { return Quiet{DurationMS: minuteMS, MeasuredMS: minuteMS, PowerMW: &mw} }
	waits := quiet(40_000)
	waits.Processes = true
	torn := quiet(30_000)
	torn.MeasuredMS--
	unread := quiet(0)
	unread.PowerMW = nil
	all := append(slices.Repeat([]Quiet{quiet(65_000)}, 9), waits, torn, unread, quiet(0))
	var power IdlePower
	for _, q := range all {
		power.Learn(q)
	}
	if power.MW() != nil {
		t.Errorf("known after nine minutes: %+v", power)
	}
	power.Learn(quiet(61_000))
	if got := power.MW(); got == nil || *got != 61_000 {
		t.Errorf("idle power is %+v, want 61 W", power)
	}
	a, b := IdlePower{LowestMW: 50, SeenMS: 1}, IdlePower{LowestMW: 40, SeenMS: 2}
	ab, ba := a, b
	ab.Merge(b)
	ba.Merge(a)
	ba.Merge(IdlePower{})
	if ab != ba || ab != (IdlePower{40, 3}) {
		t.Errorf("%v and %v", ab, ba)
	}
}
