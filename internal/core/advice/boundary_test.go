// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"math"
	"testing"
)

// TestMarginIsWholeBytes: rounded up, and no wrap at the end of 64 bits.
func TestMarginIsWholeBytes(t *testing.T) {
	for _, c := range []struct {
		n, want uint64
		ok      bool
	}{{0, 0, true}, {1, 2, true}, {100, 115, true}, {101, 117, true}, {math.MaxUint64, 0, false}, {math.MaxUint64 / 115 * 100, math.MaxUint64 / 115 * 115, true}} {
		if got, ok := withMargin(c.n); got != c.want || ok != c.ok {
			t.Errorf("%d with its margin is %d, %v; want %d, %v", c.n, got, ok, c.want, c.ok)
		}
	}
}

// TestFractionIsRoundedUp: the fraction always holds what is needed.
func TestFractionIsRoundedUp(t *testing.T) {
	for _, c := range []struct{ n, of, want uint64 }{{42, 100, 42}, {421, 1000, 43}, {1, 1000, 1}, {0, 1000, 1}, {999, 1000, 100}, {2000, 1000, 100}} {
		if got := hundredths(c.n, c.of); got.Num != c.want || got.Den != 100 {
			t.Errorf("%d of %d is %d hundredths, want %d", c.n, c.of, got.Num, c.want)
		}
	}
}

// TestRoomIsWhatIsLeft: the driver's reserve and a context for each tenant.
func TestRoomIsWhatIsLeft(t *testing.T) {
	d := Device{CapacityBytes: gb(10), ReserveBytes: gb(1)}
	if room := roomFor(d, gb(8), 2); !room.Holds || room.Limit != float64(gb(8)) {
		t.Errorf("%+v", room)
	}
	if room := roomFor(d, gb(8)+1, 2); room.Holds {
		t.Errorf("a byte too much: %+v", room)
	}
	if room := roomFor(d, 1, 20); room.Holds || room.Limit != 0 {
		t.Errorf("contexts alone are too much: %+v", room)
	}
}

// TestPlanHasItsMembersCash: what members would save alone is the plan's, less
// the nodes that it adds.
func TestPlanHasItsMembersCash(t *testing.T) {
	s, minutes := notebook(t)
	r, err := IdleReclaim(s, minutes, waits)
	advised(t, r, err)
	own := r.Money.CashMean
	plan, inside, err := MakePlan([]Recommendation{r}, []Node{{Name: "a", Hour: usd(t, "3")}}, []Node{{Name: "b", Hour: usd(t, "1")}}, "USD", 0)
	if err != nil || plan.Cash != usd(t, "1460") {
		t.Fatalf("%v, %v", plan.Cash, err)
	}
	if inside[0].Money.CashMean != 0 || inside[0].Money.CashLow != 0 || r.Money.CashMean != own || own == 0 {
		t.Errorf("inside %v, the caller's %v", inside[0].Money.CashMean, r.Money.CashMean)
	}
}

// TestAServerWithoutRequestsTold: a minute of which its requests are not known
// is not idle, though most are known.
func TestAServerWithoutRequestsTold(t *testing.T) {
	s, _ := notebook(t)
	s.Work = Serving
	minutes := timeline(quiet(), 336)
	for i := 0; i < len(minutes); i += 20 {
		minutes[i].Requests = nil
	}
	r, err := IdleReclaim(s, minutes, waits)
	refused(t, r, err, NoFit)
}

// TestSubjectsOfNothing: no evidence at all is refused by every kind.
func TestSubjectsOfNothing(t *testing.T) {
	var s Subject
	for _, f := range []func() (Recommendation, error){
		func() (Recommendation, error) { return SmallerProfile(s, nil) },
		func() (Recommendation, error) { return SmallerPool(s) },
		func() (Recommendation, error) { return FewerGPUs(s, nil) },
		func() (Recommendation, error) { return IdleReclaim(s, nil, Reclaim{}) },
		func() (Recommendation, error) { return OtherShape(s, nil, 0) },
		func() (Recommendation, error) { return HostRequest(s, HostUse{}) },
		func() (Recommendation, error) { return Share(make([]Tenant, 2), "") },
	} {
		r, err := f()
		refused(t, r, err, Coverage)
	}
}
