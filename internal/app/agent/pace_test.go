// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestPacerStepsVaryAroundTheInterval(t *testing.T) {
	const n = 20000
	p := pacer{interval: 5 * time.Second, draw: rand.New(rand.NewPCG(1, 2)).Float64}
	var now time.Duration
	phases := map[int64]int{}
	for range n {
		due, missed := p.next(now)
		if step := due - now; step < 4*time.Second || step > 6*time.Second || missed != 0 {
			t.Fatalf("a step of %s with %d missed, want 4s to 6s and none missed", step, missed)
		}
		now = due
		phases[int64(now.Seconds())%60]++
	}
	if mean := now.Seconds() / n; math.Abs(mean-5) > 0.02 {
		t.Errorf("steps of %.3f s on average, want 5", mean)
	}
	for second := range int64(60) { // on a fixed grid, 12 of them would have everything
		if got := phases[second]; got < n/60/2 || got > n/60*2 {
			t.Errorf("second %d of the minute was looked at %d times of %d", second, got, n)
		}
	}
}

func TestPacerCountsWhatItMissed(t *testing.T) {
	p := pacer{interval: 5 * time.Second, draw: func() float64 { return 0.5 }}
	for _, c := range []struct {
		now, due time.Duration
		missed   int64
	}{
		{0, 5 * time.Second, 0},
		{9900 * time.Millisecond, 10 * time.Second, 0},
		{10 * time.Second, 15 * time.Second, 0},
		{31 * time.Second, 35 * time.Second, 3},
	} {
		if due, missed := p.next(c.now); due != c.due || missed != c.missed {
			t.Errorf("after %s: due %s with %d missed, want %s and %d", c.now, due, missed, c.due, c.missed)
		}
	}
}
