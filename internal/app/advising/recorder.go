// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/signal"
)

// RecorderConfig says when activity is made. Zero values take the defaults.
type RecorderConfig struct {
	// Keep is how long activity stays (100 days): advice looks at twice 14 days and
	// compares with what was before.
	Keep time.Duration
	// Every is how often is looked (30 s).
	Every time.Duration
	Log   *slog.Logger
	Now   func() time.Time
}

// Recorder makes the activity of hours after they were rated, and again when late
// records or new rules change it. It is behind the bill and never before it: what
// fails here holds up no charge.
type Recorder struct {
	store interface {
		Records
		Activities
	}
	cfg RecorderConfig

	mu      sync.Mutex
	status  RecorderStatus
	dropped time.Time
}

// RecorderStatus says how far it is.
type RecorderStatus struct {
	Hours     uint64    `json:"hours_made"`
	Rounds    uint64    `json:"rounds"`
	Errors    uint64    `json:"errors"`
	LastError string    `json:"last_error,omitempty"`
	LastRound time.Time `json:"last_round,omitzero"`
	// LastHour is the newest hour that was made.
	LastHour time.Time `json:"last_hour,omitzero"`
}

// Rules names the rules by which activity is made.
const Rules = signal.RulesVersion + "/2"

// idleDays is over how many days before an hour's day idle power is learned.
const idleDays = 30

// hoursAtOnce is how many hours of nodes are made and kept together.
const hoursAtOnce = 512

// NewRecorder makes the activity of what a store has.
func NewRecorder(store interface {
	Records
	Activities
}, cfg RecorderConfig) *Recorder {
	if cfg.Keep <= 0 {
		cfg.Keep = 100 * 24 * time.Hour
	}
	if cfg.Every <= 0 {
		cfg.Every = 30 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Recorder{store: store, cfg: cfg}
}

// Status says how far it is.
func (r *Recorder) Status() RecorderStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Run works until ctx ends. What fails is tried again; only a store that is beyond
// use ends it with an error.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	for {
		err := r.Round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, journal.ErrBroken):
			return err
		case err != nil:
			r.cfg.Log.Error("activity of hours could not be made", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Round makes all that is due now.
func (r *Recorder) Round(ctx context.Context) error {
	err := r.drop(ctx)
	for err == nil {
		var n int
		if n, err = r.some(ctx); n == 0 {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Rounds++
	r.status.LastRound, r.status.LastError = r.cfg.Now(), ""
	if err != nil && ctx.Err() == nil {
		r.status.Errors++
		r.status.LastError = err.Error()
	}
	return err
}

func (r *Recorder) since() time.Time { return r.cfg.Now().Add(-r.cfg.Keep).UTC().Truncate(time.Hour) }

// drop deletes what is too old, once in an hour.
func (r *Recorder) drop(ctx context.Context) error {
	since := r.since()
	if !since.After(r.dropped) {
		return nil
	}
	err := r.store.DropActivity(ctx, since)
	if err == nil {
		r.dropped = since
	}
	return err
}

// some makes some of the hours that are due: of one day of UTC, so that all of them
// know the same idle power.
func (r *Recorder) some(ctx context.Context) (int, error) {
	due, err := r.store.ActivityDue(ctx, r.since(), Rules, hoursAtOnce)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	day := dayOf(due[0].HourMS)
	n := 1
	for n < len(due) && dayOf(due[n].HourMS).Equal(day) {
		n++
	}
	due = due[:n]
	idle, err := r.store.IdlePower(ctx, day.AddDate(0, 0, -idleDays), day)
	if err != nil {
		return 0, err
	}
	made, err := r.make(ctx, due, idle)
	if err == nil {
		err = r.keep(ctx, made)
	}
	if err != nil {
		return 0, fmt.Errorf("activity of hours from %s: %w", time.UnixMilli(due[0].HourMS).UTC().Format(time.RFC3339), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Hours += uint64(n)
	if last := time.UnixMilli(due[n-1].HourMS).UTC(); last.After(r.status.LastHour) {
		r.status.LastHour = last
	}
	return n, nil
}

func dayOf(hourMS int64) time.Time { return time.UnixMilli(hourMS).UTC().Truncate(24 * time.Hour) }

// make makes the activity of hours, oldest first, of one day.
func (r *Recorder) make(ctx context.Context, due []activity.Due, idle map[[2]string]map[gpu.UUID]signal.IdlePower) ([]activity.Made, error) {
	of := map[[2]string][]activity.Due{}
	for _, d := range due {
		k := [2]string{d.Cluster, d.Node}
		of[k] = append(of[k], d)
	}
	from, to := time.UnixMilli(due[0].HourMS), time.UnixMilli(due[len(due)-1].HourMS).Add(time.Hour)
	var made []activity.Made
	for _, name := range nodesToRead(of) {
		for w, err := range r.store.Touching(ctx, from, to, name) {
			if err != nil {
				return nil, err
			}
			k := [2]string{w.Cluster, w.Node}
			if len(of[k]) == 0 {
				continue
			}
			hours, err := makeNode(w, of[k], idle[k])
			if err != nil {
				return nil, err
			}
			made = append(made, hours...)
			delete(of, k)
		}
	}
	for _, rest := range of { // no record touches them
		for _, d := range rest {
			made = append(made, activity.Made{Due: d, Rules: Rules})
		}
	}
	slices.SortFunc(made, func(a, b activity.Made) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node))
	})
	return made, nil
}

// nodesToRead are the names of nodes, or "" where there are so many that it is as
// well to read all.
func nodesToRead(of map[[2]string][]activity.Due) []string {
	var names []string
	for k := range of {
		names = append(names, k[1])
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 8 {
		return []string{""}
	}
	return names
}

// makeNode makes the hours of one node that are due. They keep parts of the records,
// whose memory is not given back.
func makeNode(w rating.Windows, due []activity.Due, idle map[gpu.UUID]signal.IdlePower) ([]activity.Made, error) {
	batches, err := w.Read()
	if err != nil {
		return nil, err
	}
	hours := activity.OfNode(batches, func(id gpu.UUID) *uint64 { return idle[id].MW() })
	quiet, others := activity.QuietHours(batches), activity.Others(batches)
	out := make([]activity.Made, len(due))
	for i, d := range due {
		out[i] = activity.Made{Due: d, Rules: Rules, Quiet: maps.Clone(quiet[d.HourMS]), Others: others[d.HourMS]}
		for j := range hours {
			if hours[j].HourMS == d.HourMS {
				out[i].Hours = append(out[i].Hours, hours[j])
			}
		}
	}
	return out, nil
}

// keep keeps hours. Where late records change what is known of a device's idle
// power, the days after are made again.
func (r *Recorder) keep(ctx context.Context, made []activity.Made) error {
	day := dayOf(made[0].HourMS)
	next := day.AddDate(0, 0, 1)
	learned := func() (map[[2]string]map[gpu.UUID]signal.IdlePower, error) {
		return r.store.IdlePower(ctx, next.AddDate(0, 0, -idleDays), next)
	}
	before, err := learned()
	if err != nil {
		return err
	}
	if err := r.store.KeepActivity(ctx, made); err != nil {
		return err
	}
	after, err := learned()
	if err != nil {
		return err
	}
	seen := map[[2]string]bool{}
	for i := range made {
		k := [2]string{made[i].Cluster, made[i].Node}
		if seen[k] || !changed(before[k], after[k]) {
			continue
		}
		seen[k] = true
		if err := r.store.AskActivity(ctx, k[0], k[1], next, next.AddDate(0, 0, idleDays)); err != nil {
			return err
		}
	}
	return nil
}

// changed: a device's idle power is another, or known now.
func changed(before, after map[gpu.UUID]signal.IdlePower) bool {
	for device, p := range after {
		was, is := before[device].MW(), p.MW()
		if is != nil && (was == nil || *was != *is) {
			return true
		}
	}
	return false
}
