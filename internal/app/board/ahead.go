// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"log/slog"
	"time"

	"github.com/gputally/gputally/internal/core/scene"
)

// aheadDays is how far back findings are read before somebody asks: as far as the page of
// findings looks back at once.
const aheadDays = 30

// aheadEvery is how often is looked whether hours are to be read again: one has ended, or late
// records came for one.
const aheadEvery = time.Minute

// Run reads what findings came to in whole hours until ctx ends, so that it is there when
// somebody asks. It takes no more than a tenth of the time.
func (b *Board) Run(ctx context.Context, log *slog.Logger) error {
	for {
		if err := b.ReadAhead(ctx, 9); err != nil && ctx.Err() == nil {
			log.Warn("findings of the last days could not be read ahead: who asks for them waits longer", "error", err)
		}
		if !pause(ctx, aheadEvery) {
			return nil
		}
	}
}

// ReadAhead reads the hours of the last days that are not kept as they are now, the newest
// day first, and rests so many times as long as that took after each. It ends where no more
// is kept.
func (b *Board) ReadAhead(ctx context.Context, rest int) error {
	to := b.now().Truncate(time.Hour)
	for range aheadDays {
		from := to.Add(-24 * time.Hour)
		began := time.Now()
		if err := b.whole(ctx, scene.NewFindings(), "", from.UnixMilli(), to.UnixMilli()); err != nil {
			return err
		}
		if b.found.get(from.UnixMilli(), b.journal.Stamp(from, from.Add(time.Hour))) == nil {
			return nil
		}
		if !pause(ctx, time.Duration(rest)*time.Since(began)) {
			return ctx.Err()
		}
		to = from
	}
	return nil
}

// pause waits, and says whether ctx lasted.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
