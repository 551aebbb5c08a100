// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
)

// linesAtOnce is how many lines are booked in one transaction, about.
const linesAtOnce = 50_000

// booker books the hours of a stretch while others are still rated.
type booker struct {
	r     *Rater
	w     *stretch
	queue chan rating.Outcome
	ended chan struct{}

	// What follows is the booking goroutine's until ended is closed.
	group []rating.Booking
	lines int
	done  int
	err   error

	mu    sync.Mutex
	whole []rating.Outcome // of hours that are booked when all of the cluster is rated
}

// booker starts to book.
func (r *Rater) booker(ctx context.Context, w *stretch) *booker {
	b := &booker{r: r, w: w, queue: make(chan rating.Outcome, 64), ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		for o := range b.queue {
			if b.err == nil {
				b.err = b.add(ctx, &o)
			}
		}
	}()
	return b
}

// take takes an hour that was rated. It may be called from several goroutines.
func (b *booker) take(o rating.Outcome) error {
	if b.w.rules[o.HourMS].Policy.Scope == allocation.ScopeGiven {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.whole = append(b.whole, o)
		return nil
	}
	b.queue <- o
	return nil
}

// finish books what is left, unless the rating failed, and returns how many hours
// are booked.
func (b *booker) finish(ctx context.Context, failed error) (int, error) {
	close(b.queue)
	<-b.ended
	err := cmp.Or(failed, b.err)
	if err == nil {
		for _, hour := range b.r.shared(b.w, b.whole, b.r.fail) {
			for i := range hour {
				if err = b.add(ctx, &hour[i]); err != nil {
					return b.done, err
				}
			}
		}
		err = b.flush(ctx)
	}
	return b.done, err
}

// add books an hour, many in one transaction.
func (b *booker) add(ctx context.Context, o *rating.Outcome) error {
	booking, err := b.r.booking(b.w, o)
	if err != nil {
		b.r.fail(o.NodeHour, err)
		return nil
	}
	b.group = append(b.group, booking)
	b.lines += len(booking.Lines)
	if b.lines < linesAtOnce {
		return nil
	}
	return b.flush(ctx)
}

// flush books what was added, in order.
func (b *booker) flush(ctx context.Context) error {
	slices.SortFunc(b.group, func(x, y rating.Booking) int { return x.Rated.Compare(y.Rated.NodeHour) })
	n, err := b.r.commit(ctx, b.group)
	b.group, b.lines, b.done = nil, 0, b.done+n
	return err
}

// shared is the outcomes by hour, with what the policy passes on within clusters
// passed on.
func (r *Rater) shared(w *stretch, outcomes []rating.Outcome, fail func(ledger.NodeHour, error)) (out [][]rating.Outcome) {
	slices.SortFunc(outcomes, func(a, b rating.Outcome) int { return a.Compare(b.NodeHour) })
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
