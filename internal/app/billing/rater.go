// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
)

// RaterConfig says when hours are rated. Zero values take the defaults.
type RaterConfig struct {
	// Late is how long after its end an hour waits for records that are missing
	// (2 h). One whose records reach to its end does not wait.
	Late time.Duration
	// Every is how often is looked (20 s).
	Every time.Duration
	// Sets are the sets of clusters whose months are closed together, by cluster.
	Sets map[string]string
	Log  *slog.Logger
	Now  func() time.Time
}

// Rater rates hours of nodes as their records come in, and again when anything
// changes that they were rated from.
type Rater struct {
	store Store
	rules RuleBook
	cfg   RaterConfig
	wake  chan struct{}

	mu     sync.Mutex
	status RaterStatus
	// failed are hours that could not be rated: they wait for their next try,
	// and hold nobody up.
	failed map[ledger.NodeHour]failure
	// revision is that of the rules when all rated hours were last looked at.
	revision string
	// policy is the name of the last policy that was kept.
	policy string
}

// RaterStatus says how far rating is.
type RaterStatus struct {
	Hours     uint64 `json:"hours_rated"`
	Lines     uint64 `json:"lines_booked"`
	Rounds    uint64 `json:"rounds"`
	Errors    uint64 `json:"errors"`
	LastError string `json:"last_error,omitempty"`
	// LastRound is when the last round ended; LastHour the newest hour rated.
	LastRound time.Time `json:"last_round,omitzero"`
	LastHour  time.Time `json:"last_hour,omitzero"`
	// Waiting is how many hours of nodes are due and wait for their records,
	// Failed how many could not be rated.
	Waiting int       `json:"waiting"`
	Failed  []Failure `json:"failed,omitempty"`
}

// Failure is an hour that could not be rated.
type Failure struct {
	ledger.NodeHour
	Error string `json:"error"`
	Tries int    `json:"tries"`
}

type failure struct {
	err   error
	tries int
	next  time.Time
}

// NewRater rates what a store has by a rule book.
func NewRater(store Store, rules RuleBook, cfg RaterConfig) *Rater {
	if cfg.Late <= 0 {
		cfg.Late = 2 * time.Hour
	}
	if cfg.Every <= 0 {
		cfg.Every = 20 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Rater{store: store, rules: rules, cfg: cfg, wake: make(chan struct{}, 1), failed: map[ledger.NodeHour]failure{}}
}

// Wake has the next round begin now: a bill was filed, a price book changed.
func (r *Rater) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Status says how far rating is.
func (r *Rater) Status() RaterStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	for h, f := range r.failed {
		s.Failed = append(s.Failed, Failure{NodeHour: h, Error: f.err.Error(), Tries: f.tries})
	}
	sortFailures(s.Failed)
	return s
}

// Run rates until ctx ends. What fails is tried again; only a store that is
// beyond use ends it with an error.
func (r *Rater) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	for {
		err := r.Round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, journal.ErrBroken) {
			return err
		}
		if err != nil {
			r.cfg.Log.Error("hours could not be rated", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// Round rates all that is due and ready now.
func (r *Rater) Round(ctx context.Context) error {
	err := r.reprice(ctx)
	if err == nil {
		err = r.rateDue(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Rounds++
	r.status.LastRound = r.cfg.Now()
	if err != nil && ctx.Err() == nil {
		r.status.Errors++
		r.status.LastError = err.Error()
	}
	return err
}

// dueAtOnce is how many hours of nodes are asked for at a time.
const dueAtOnce = 20_000

// rateDue goes through the list of due hours, oldest first, until nothing on it
// can be rated now.
func (r *Rater) rateDue(ctx context.Context) error {
	for {
		due, err := r.store.Due(ctx, r.cfg.Now(), dueAtOnce)
		if err != nil {
			return fmt.Errorf("rate: %w", err)
		}
		rated, waiting := 0, 0
		for len(due) > 0 {
			n := stretchOf(due)
			done, err := r.rateStretch(ctx, due[:n])
			if err != nil {
				return err
			}
			rated, waiting = rated+done, waiting+max(n-done, 0)
			due = due[n:]
		}
		r.mu.Lock()
		r.status.Waiting = waiting
		r.mu.Unlock()
		if rated == 0 {
			return nil
		}
	}
}

// ready are those of the due hours that can be rated now.
func (r *Rater) ready(due []rating.Due, machines map[string][]rating.Machine) (out []rating.Due) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range due {
		end := d.HourMS + time.Hour.Milliseconds()
		complete := now.UnixMilli() >= end+r.cfg.Late.Milliseconds()
		for _, m := range machines[nodeKey(d.Cluster, d.Node)] {
			complete = complete || m.LastMS >= end
		}
		if f, failed := r.failed[d.NodeHour]; complete && (!failed || !now.Before(f.next)) {
			out = append(out, d)
		}
	}
	return out
}

func nodeKey(cluster, node string) string { return cluster + "\x00" + node }

// fail notes an hour that could not be rated.
func (r *Rater) fail(h ledger.NodeHour, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failed[h]
	f.err, f.tries = err, f.tries+1
	f.next = r.cfg.Now().Add(min(time.Minute<<min(f.tries, 10), time.Hour))
	r.failed[h] = f
	r.status.Errors++
	r.status.LastError = err.Error()
	r.cfg.Log.Error("an hour of a node could not be rated; others go on", "hour", h.String(), "tries", f.tries, "error", err)
}

func (r *Rater) succeed(h ledger.NodeHour, lines int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, h)
	r.status.Hours++
	r.status.Lines += uint64(lines)
	if at := time.UnixMilli(h.HourMS).UTC(); at.After(r.status.LastHour) {
		r.status.LastHour = at
	}
}
