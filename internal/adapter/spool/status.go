// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"fmt"
	"time"
)

// Status is how a spool stands. Counts are since it was opened, except those
// of what lies on disk.
type Status struct {
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"max_bytes"`
	Segments int   `json:"segments"`
	// Unacked is how many records on disk are not acknowledged.
	Unacked int `json:"unacked"`
	// Pending is how many batches wait in memory, PendingBytes their size.
	Pending      int   `json:"pending"`
	PendingBytes int64 `json:"pending_bytes"`
	// Dropped counts batches given up; each is named in a gap record.
	Dropped     uint64 `json:"dropped"`
	Problems    int    `json:"problems"`
	WriteErrors uint64 `json:"write_errors"`
	// LastError is empty when the last write succeeded.
	LastError string    `json:"last_error,omitempty"`
	LastWrite time.Time `json:"last_write,omitzero"`
}

// Status returns how the spool stands now.
func (s *Spool) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.MaxBytes, st.Segments = s.opt.MaxBytes, len(s.segments)
	st.Pending, st.PendingBytes = s.queue.len(), s.queue.bytes
	return st
}

// Reader reads from a position on, up to what is durable.
func (s *Spool) Reader(from Position) *Reader {
	r := NewReader(s.dir, from)
	r.committed = func(number uint64) (int64, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, g := range s.segments {
			if g.number == number {
				return g.size, true
			}
		}
		return 0, false
	}
	return r
}

// Acked returns the position up to which everything is acknowledged.
func (s *Spool) Acked() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ack
}

// Ack acknowledges every record before p, durably. Going back is an error: a
// receiver that asks for less was mixed up with another.
func (s *Spool) Ack(p Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Before(s.ack) {
		return fmt.Errorf("acknowledge %v: everything up to %v is acknowledged already", p, s.ack)
	}
	if n := len(s.segments); n == 0 || s.segments[n-1].end().Before(p) {
		return fmt.Errorf("acknowledge %v: nothing was written there yet", p)
	}
	if err := saveJSON(s.dir, ackFile, p); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	n, err := s.countBetween(s.ack, p)
	s.ack = p
	s.stats.Unacked -= n
	return err
}

// Instances returns what SaveInstances kept, nil if nothing.
func (s *Spool) Instances() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Instances
}

// SaveInstances keeps when each MIG instance was first seen, durably: an
// instance is told from a later one of the same id by that time.
func (s *Spool) SaveInstances(v json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Instances = v
	return saveJSON(s.dir, stateFile, s.state)
}
