// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"

	"github.com/gputally/gputally/internal/core/journal"
)

// Queue is the spool as the loop needs it.
type Queue interface {
	// Walk reads records from a position on, in the order they were written.
	Walk(from Position) Walk
	// Acked is the position up to which the queue may forget, Ack moves it on.
	Acked() Position
	Ack(Position) error
}

// Walk reads records one by one. At the end Next returns io.EOF and may be called
// again when there is more. A *Damage is a stretch that cannot be read; the next
// call goes on behind it.
type Walk interface {
	Next() (Entry, error)
	Close() error
}

// Position is a place between two records of the queue. The zero value is the
// beginning.
type Position struct {
	Segment uint64
	Offset  int64
}

func (p Position) before(q Position) bool {
	if p.Segment != q.Segment {
		return p.Segment < q.Segment
	}
	return p.Offset < q.Offset
}

// Entry is one record: its name, its bytes and where the next one begins.
type Entry struct {
	Source  journal.Source
	Seq     uint64
	Payload []byte
	Next    Position
}

// Damage is a stretch of the queue that cannot be read.
type Damage struct{ Err error }

func (d *Damage) Error() string { return d.Err.Error() }
func (d *Damage) Unwrap() error { return d.Err }

// Server takes deliveries. Its errors are journal.ErrTooLarge, a *journal.Busy, or
// anything else, which passes by itself or by somebody's hand.
type Server interface {
	Send(ctx context.Context, batches [][]byte) (journal.Receipt, error)
	// Acks tells how all batches of an agent stand.
	Acks(ctx context.Context, agent string) ([]journal.Ack, error)
}

// Aside keeps batches that the server will never take, for people to look at.
type Aside interface {
	Keep(batch []byte, why journal.Refusal) error
}
