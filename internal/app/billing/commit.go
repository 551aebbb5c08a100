// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
)

// linesAtOnce is how many lines are booked in one transaction, about.
const linesAtOnce = 50_000

// book books the outcomes, many in one transaction, and returns how many.
func (r *Rater) book(ctx context.Context, w *stretch, outcomes []rating.Outcome) (int, error) {
	var group []rating.Booking
	lines, done := 0, 0
	flush := func() error {
		n, err := r.commit(ctx, group)
		group, lines, done = nil, 0, done+n
		return err
	}
	for _, hour := range r.shared(w, outcomes, r.fail) {
		for i := range hour {
			b, err := r.booking(w, &hour[i])
			if err != nil {
				r.fail(hour[i].NodeHour, err)
				continue
			}
			group = append(group, b)
			lines += len(b.Lines)
		}
		if lines >= linesAtOnce {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	err := flush()
	return done, err
}

// shared is the outcomes by hour, with what the policy passes on within clusters
// passed on.
func (r *Rater) shared(w *stretch, outcomes []rating.Outcome, fail func(ledger.NodeHour, error)) (out [][]rating.Outcome) {
	for len(outcomes) > 0 {
		n := 1
		for n < len(outcomes) && outcomes[n].HourMS == outcomes[0].HourMS {
			n++
		}
		hour := outcomes[:n]
		outcomes = outcomes[n:]
		if err := rating.Share(hour, w.rules[hour[0].HourMS].Policy); err != nil {
			for i := range hour {
				fail(hour[i].NodeHour, err)
			}
			continue
		}
		out = append(out, hour)
	}
	return out
}

func (r *Rater) booking(w *stretch, o *rating.Outcome) (rating.Booking, error) {
	rules := w.rules[o.HourMS]
	rev := ledger.Revision{Prices: rules.Revision, Policy: rules.Policy.Name(), AtMS: r.cfg.Now().UnixMilli()}
	b, err := o.Book(w.before[o.NodeHour], rev, w.periods)
	b.Mark = w.due[o.NodeHour].Mark
	return b, err
}

// commit books a group. What somebody else has rated meanwhile stays due.
func (r *Rater) commit(ctx context.Context, group []rating.Booking) (int, error) {
	for len(group) > 0 {
		err := r.store.Book(ctx, group)
		var overtaken *rating.Overtaken
		if errors.As(err, &overtaken) {
			r.cfg.Log.Warn("an hour was rated by another process meanwhile; it is rated again", "hour", overtaken.NodeHour.String())
			kept := slices.DeleteFunc(slices.Clone(group), func(b rating.Booking) bool { return b.Rated.NodeHour == overtaken.NodeHour })
			if len(kept) == len(group) {
				return 0, err
			}
			group = kept
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("book: %w", err)
		}
		for i := range group {
			r.succeed(group[i].Rated.NodeHour, len(group[i].Lines))
		}
		return len(group), nil
	}
	return 0, nil
}
