// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// someSubject is sound, or lacks one thing or another.
func someSubject(t *testing.T, r *rand.Rand) (s Subject, sound bool) {
	s = subject(t)
	s.PeakBytes = p(r.Uint64N(gb(79)))
	s.SM, s.DRAM = level(r.Float64()), level(r.Float64()*r.Float64())
	s.LatencyDeclared = r.IntN(2) == 0
	spoil := []func(){
		func() { s.PeakGrade = gpu.Unmeasured }, func() { s.PeakGrade = gpu.Skewed }, func() { s.PeakGrade = gpu.Indivisible },
		func() { s.PeakBytes = nil }, func() { s.SM = signal.Spread{} }, func() { s.DRAM.UnreadMS = 10 * dayMS },
		func() { s.Holders = 2 + r.IntN(3) }, func() { s.MeasuredMS /= 2 }, func() { s.SkewedMS = s.MeasuredMS / 2 },
	}
	if n := r.IntN(2 * len(spoil)); n < len(spoil) {
		spoil[n]()
		return s, false
	}
	return s, true
}

// TestNoAdviceFromUnsoundFigures: whatever is missing, there is a refusal; what
// is proposed fits with its margins, and is the cheapest that does; money adds
// up; the same figures give the same bytes.
func TestNoAdviceFromUnsoundFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	proposed := map[string]int{}
	for range 4000 {
		s, sound := someSubject(t, r)
		got, err := SmallerProfile(s, a100Profiles)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := SmallerProfile(s, a100Profiles)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(again)
		if string(a) != string(b) {
			t.Fatalf("not the same twice:\n%s\n%s", a, b)
		}
		if got.State == Refused {
			proposed["refused"]++
			continue
		}
		if !sound {
			t.Fatalf("advice from unsound figures: %s", a)
		}
		balanced(t, got)
		proposed[got.Proposed.Profile]++
		checkCheapest(t, s, got)
	}
	for _, name := range []string{"refused", "1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb"} {
		if proposed[name] == 0 {
			t.Errorf("never %s: %v", name, proposed)
		}
	}
}

// checkCheapest works the rule out again, in floats and from the figures alone.
func checkCheapest(t *testing.T, s Subject, got Recommendation) {
	t.Helper()
	sm, dram := float64(s.SM.Steps[0].Permille)/1000, float64(s.DRAM.Steps[0].Permille)/1000
	for _, x := range a100Profiles {
		fits := float64(*s.PeakBytes)*1.15 <= float64(x.Bytes) && sm*108/float64(x.SMs) <= 0.8 && dram*8/float64(x.Slices)/0.8 <= 0.7
		if x.Name == got.Proposed.Profile && !fits {
			t.Errorf("%s does not fit: peak %s, SM %v, DRAM %v", x.Name, gib(*s.PeakBytes), sm, dram)
		}
		if fits && x.Slices < slicesOf(got.Proposed.Profile) {
			t.Errorf("%s fits and is cheaper than %s", x.Name, got.Proposed.Profile)
		}
	}
}

func slicesOf(name string) uint32 {
	for _, x := range a100Profiles {
		if x.Name == name {
			return x.Slices
		}
	}
	return 0
}
