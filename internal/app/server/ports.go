// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Journal keeps batches, each once.
type Journal interface {
	// Append adds the batches that are not there yet, all or none, with the
	// marks that say so, and returns how many those were. A *journal.Refusal
	// names the one batch that can never be added, by its Index. An error that
	// is journal.ErrBroken stays: the store must be opened again.
	Append(ctx context.Context, batches []usage.Batch) (fresh int, err error)
	// Checkpoint makes everything durable that was appended before.
	Checkpoint(ctx context.Context) error
	// Acks tells how the batches of an agent stand, of every boot, by boot.
	Acks(agent string) []journal.Ack
}

// Hours reads batches back, of one node or of all (""), in the order of agent,
// boot and sequence number. What is yielded is not to be changed. An error is
// yielded last.
type Hours interface {
	// Hour walks the batches that began in an hour.
	Hour(ctx context.Context, hour time.Time, node string) iter.Seq2[usage.Batch, error]
	// Gaps walks the batches whose gap overlaps [from, to), without records.
	Gaps(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error]
	// Totals sums the batches that began in the hours of [from, to).
	Totals(ctx context.Context, from, to time.Time) (journal.Totals, error)
}

// Archive moves old hours to where they take less room, and away.
type Archive interface {
	// Sealable lists the hours before a time that are not sealed, or to which
	// batches came since.
	Sealable(ctx context.Context, before time.Time) ([]time.Time, error)
	// Seal moves one hour. It can be read before, after and meanwhile.
	Seal(ctx context.Context, hour time.Time) error
	// Drop deletes the hours before a time, and returns how many batches those had.
	Drop(ctx context.Context, before time.Time) (batches int64, err error)
}

// Days of the ledger can be made fast to read once they are over.
type Days interface {
	// Compactable lists the days of UTC before a time that were never compacted, or
	// to which lines came since, oldest first.
	Compactable(ctx context.Context, before time.Time) ([]time.Time, error)
	// Compact makes one day fast to read. No answer changes. Nothing is booked
	// meanwhile.
	Compact(ctx context.Context, day time.Time) error
}

// Store is what a Keeper keeps.
type Store interface {
	Archive
	Days
}
