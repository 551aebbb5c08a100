// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
)

// The rhythm.
const (
	// DefaultEvery is the time between two looks at one engine, on average.
	DefaultEvery = 15 * time.Second
	// MaxPause is the longest between two looks at one that does not answer.
	MaxPause = 5 * time.Minute
	// DefaultAtOnce is how many looks of one node are under way at most.
	DefaultAtOnce = 2
	// MaxTargets bounds the engines of one node; those beyond, by pod and
	// container, are not asked.
	MaxTargets = 128
	// maxKept bounds the looks that wait to be taken.
	maxKept = 4 * MaxTargets
)

// Options are the settings; zero values mean the defaults.
type Options struct {
	Every, Timeout time.Duration
	AtOnce         int
	// Draw gives pauses their random length: uniform in [0, 1).
	Draw func() float64
}

// Scraper looks at engines. Watch and Take may be called from any goroutine
// while Run runs in one.
type Scraper struct {
	opts   Options
	client *http.Client
	// mayAsk is the rule for addresses; tests on one machine have another.
	mayAsk func(netip.Addr) bool
	wake   chan struct{} // something is due, or there is room again

	mu      sync.Mutex
	targets map[string]*watched
	running int
	taken   []sample.Engine
}

// watched is one target and when it is asked next.
type watched struct {
	target  demand.Target
	due     time.Time
	failed  int // looks in a row that came to nothing
	running bool
}

// New returns a Scraper that watches nothing yet.
func New(opts Options) *Scraper {
	if opts.Every <= 0 {
		opts.Every = DefaultEvery
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.AtOnce <= 0 {
		opts.AtOnce = DefaultAtOnce
	}
	if opts.Draw == nil {
		opts.Draw = rand.Float64
	}
	return &Scraper{opts: opts, client: newClient(opts.Timeout), mayAsk: mayAsk, wake: make(chan struct{}, 1), targets: map[string]*watched{}}
}

func keyOf(t *demand.Target) string { return t.PodUID + "/" + t.Container }

// Watch says who is asked from now on. One that was watched before and is the
// same keeps its turn; of one that is not there any more nothing more is heard,
// not even the answer to a look that is under way.
func (s *Scraper) Watch(targets []demand.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	targets = slices.Clone(targets)
	slices.SortFunc(targets, func(a, b demand.Target) int { return compareKeys(&a, &b) })
	if len(targets) > MaxTargets {
		targets = targets[:MaxTargets]
	}
	fresh := make(map[string]*watched, len(targets))
	for i := range targets {
		key := keyOf(&targets[i])
		if had := s.targets[key]; had != nil && same(&had.target, &targets[i]) {
			fresh[key] = had
			continue
		}
		// Not all at once when the agent begins.
		fresh[key] = &watched{target: targets[i], due: now.Add(time.Duration(s.opts.Draw() * float64(s.opts.Every)))}
	}
	s.targets = fresh
	s.signal()
}

// Take is the looks that ended since the last Take, in the order of their ends.
func (s *Scraper) Take() []sample.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.taken
	s.taken = nil
	return out
}

// Run looks until ctx ends. Looks under way then are broken off.
func (s *Scraper) Run(ctx context.Context) error {
	var looks sync.WaitGroup
	defer looks.Wait()
	for ctx.Err() == nil {
		next, wait := s.next(time.Now())
		if next != nil {
			looks.Go(func() { s.look(ctx, next) })
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

func (s *Scraper) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next is whose turn it is, or how long to wait for one.
func (s *Scraper) next(now time.Time) (*watched, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *watched
	for _, w := range s.targets {
		if !w.running && (first == nil || w.due.Before(first.due)) {
			first = w
		}
	}
	if first == nil || s.running >= s.opts.AtOnce {
		return nil, time.Hour // woken before
	}
	if wait := first.due.Sub(now); wait > 0 {
		return nil, wait
	}
	first.running = true
	s.running++
	return first, 0
}

// look asks one target and notes what came of it.
func (s *Scraper) look(ctx context.Context, w *watched) {
	began := time.Now()
	e := sample.Engine{PodUID: w.target.PodUID, Container: w.target.Container, Problem: w.target.Problem}
	if e.Problem == "" {
		r, err := s.fetch(ctx, &w.target)
		if err != nil {
			e.Problem = string(problemOf(err))
		} else {
			e.Reading = declare(r, &w.target)
		}
	}
	e.DurationUS = time.Since(began).Microseconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.signal()
	s.running--
	w.running = false
	w.due = time.Now().Add(s.pause(w, e.Problem != ""))
	if s.targets[keyOf(&w.target)] != w || ctx.Err() != nil {
		return // the pod is gone, or has another address by now: whose answer is it?
	}
	if s.taken = append(s.taken, e); len(s.taken) > maxKept {
		s.taken = s.taken[len(s.taken)-maxKept:]
	}
}

// pause is how long until the next look: a fifth more or less than the rhythm,
// and twice as long for each failure in a row.
func (s *Scraper) pause(w *watched, failed bool) time.Duration {
	if !failed {
		w.failed = 0
	} else if w.failed < 16 {
		w.failed++
	}
	d := min(s.opts.Every<<w.failed, max(MaxPause, s.opts.Every))
	return time.Duration(float64(d) * (0.8 + 0.4*s.opts.Draw()))
}

// declare fills in what the pod says where its engine does not.
func declare(r sample.EngineReading, t *demand.Target) sample.EngineReading {
	if r.PoolBytes == nil && t.PoolBytes != nil {
		r.PoolBytes, r.Declared = t.PoolBytes, true
	}
	if r.RequestTokens == nil && t.RequestTokens != nil {
		r.RequestTokens, r.Declared = t.RequestTokens, true
	}
	return r
}

func compareKeys(a, b *demand.Target) int {
	switch x, y := keyOf(a), keyOf(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// same: nothing about a target changed.
func same(a, b *demand.Target) bool {
	x, y := *a, *b
	x.PoolBytes, x.RequestTokens, y.PoolBytes, y.RequestTokens = nil, nil, nil, nil
	return x == y && equal(a.PoolBytes, b.PoolBytes) && equal(a.RequestTokens, b.RequestTokens)
}

func equal(a, b *uint64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
