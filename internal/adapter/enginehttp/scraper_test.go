// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
)

// quick is a rhythm for tests, without chance.
func quick() Options {
	return Options{Every: 20 * time.Millisecond, Timeout: 5 * time.Second, Draw: func() float64 { return 0.5 }}
}

// run runs a Scraper until the test ends.
func run(t *testing.T, s *Scraper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// await takes looks until ok says that it has seen enough.
func await(t *testing.T, s *Scraper, ok func([]sample.Engine) bool) []sample.Engine {
	t.Helper()
	var all []sample.Engine
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if all = append(all, s.Take()...); ok(all) {
			return all
		}
	}
	t.Fatalf("20 s have not brought it; so far %+v", all)
	return nil
}

func several(n int) func([]sample.Engine) bool {
	return func(all []sample.Engine) bool { return len(all) >= n }
}

func TestLooksAgainAndAgain(t *testing.T) {
	server := serve(t, "vllm-0.6.txt", "/metrics")
	target := targetOf(t, server, demand.VLLM, "/metrics")
	target.Container, target.PoolBytes, target.RequestTokens = "server", p(uint64(5_000)), p(uint64(64))
	s := local(quick())
	s.Watch([]demand.Target{target})
	run(t, s)
	for _, e := range await(t, s, several(3)) {
		r := e.Reading
		if e.Problem != "" || e.PodUID != "u" || e.Container != "server" || r.Engine != demand.VLLM || !r.Declared || *r.PoolBytes != 5000 || *r.RequestTokens != 64 || e.DurationUS <= 0 {
			t.Errorf("look %+v", e)
		}
	}
}

// TestWhatIsNotWatchedIsNotHeardOf: the answer to a look that was under way when
// the pod went, or changed its address, belongs to nobody.
func TestWhatIsNotWatchedIsNotHeardOf(t *testing.T) {
	asked, let := make(chan struct{}, 8), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-let
		text(good)(w, r)
	}))
	defer server.Close()
	target := targetOf(t, server, "", "/metrics")
	s := local(quick())
	s.Watch([]demand.Target{target})
	run(t, s)
	<-asked
	other := target
	other.PodUID, other.Problem = "another", demand.BadAnnotation
	s.Watch([]demand.Target{other})
	close(let)
	for _, e := range await(t, s, several(1)) {
		if e.PodUID != "another" {
			t.Errorf("heard of a pod that is gone: %+v", e)
		}
	}
}

// TestAtMostSoManyAtOnce: however many engines there are, no more than the set
// number of looks are under way, and all have their turn.
func TestAtMostSoManyAtOnce(t *testing.T) {
	var now, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		now.Add(-1)
		text(good)(w, r)
	}))
	defer server.Close()
	var targets []demand.Target
	for i := range 20 {
		target := targetOf(t, server, "", "/metrics")
		target.PodUID = string(rune('a' + i))
		targets = append(targets, target)
	}
	opts := quick()
	opts.AtOnce = 3
	s := local(opts)
	s.Watch(targets)
	run(t, s)
	await(t, s, func(all []sample.Engine) bool {
		pods := map[string]bool{}
		for _, e := range all {
			pods[e.PodUID] = e.Problem == ""
		}
		return len(pods) == 20
	})
	if n := most.Load(); n > 3 {
		t.Errorf("%d looks at once", n)
	}
}

func TestTooManyTargets(t *testing.T) {
	s := New(Options{})
	targets := make([]demand.Target, MaxTargets+10)
	for i := range targets {
		targets[i].PodUID = string(rune(0x4e00 + i))
	}
	s.Watch(targets)
	if len(s.targets) != MaxTargets {
		t.Errorf("%d targets are watched", len(s.targets))
	}
}

// TestPauses: one that does not answer is asked less and less, and as before once
// it answers; chance is a fifth.
func TestPauses(t *testing.T) {
	s := New(Options{Every: 15 * time.Second, Draw: func() float64 { return 0.5 }})
	w := &watched{}
	for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		if got := s.pause(w, true); got != want {
			t.Errorf("after %d failures %v, want %v", i+1, got, want)
		}
	}
	for range 100 {
		s.pause(w, true)
	}
	if got := s.pause(w, true); got != MaxPause {
		t.Errorf("after many %v", got)
	}
	if got := s.pause(w, false); got != 15*time.Second {
		t.Errorf("after an answer %v", got)
	}
	s.opts.Draw = func() float64 { return 0 }
	if got := s.pause(w, false); got != 12*time.Second {
		t.Errorf("the shortest is %v", got)
	}
}

// TestWatchingTheSameKeepsTheTurn: the agent says whom to watch with every sample.
func TestWatchingTheSameKeepsTheTurn(t *testing.T) {
	s := New(Options{})
	target := demand.Target{PodUID: "u", IP: "10.0.0.1", Port: 1, PoolBytes: p(uint64(1))}
	s.Watch([]demand.Target{target})
	had := s.targets["u/"]
	target.PoolBytes = p(uint64(1))
	s.Watch([]demand.Target{target})
	if s.targets["u/"] != had {
		t.Error("the same target lost its turn")
	}
	target.IP = "10.0.0.2"
	s.Watch([]demand.Target{target})
	if s.targets["u/"] == had {
		t.Error("a pod with another address keeps the turn of the old one")
	}
}

// TestLooksThatNobodyTakesAreFew: an agent that hangs does not fill memory.
func TestLooksThatNobodyTakesAreFew(t *testing.T) {
	s := New(Options{})
	w := &watched{target: demand.Target{PodUID: "u", Problem: demand.BadAnnotation}}
	s.targets["u/"] = w
	for range maxKept + 50 {
		s.look(context.Background(), w)
	}
	if n := len(s.Take()); n != maxKept {
		t.Errorf("%d looks are kept", n)
	}
}
