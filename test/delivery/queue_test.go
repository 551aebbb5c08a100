// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"errors"

	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/journal"
)

// queue is the spool as the shipping loop needs it.
type queue struct{ *spool.Spool }

func (q queue) Walk(from ship.Position) ship.Walk {
	return walk{q.Reader(spool.Position(from))}
}

func (q queue) Acked() ship.Position { return ship.Position(q.Spool.Acked()) }

func (q queue) Ack(p ship.Position) error { return q.Spool.Ack(spool.Position(p)) }

type walk struct{ *spool.Reader }

func (w walk) Next() (ship.Entry, error) {
	e, err := w.Reader.Next()
	var p *spool.Problem
	if errors.As(err, &p) {
		return ship.Entry{}, &ship.Damage{Err: p}
	}
	if err != nil {
		return ship.Entry{}, err
	}
	return ship.Entry{Source: journal.SourceOf(&e.Batch), Seq: e.Batch.Seq, Payload: e.Payload, Next: ship.Position(e.Next)}, nil
}
