// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"sync"
	"time"
)

// Status counts since the start.
type Status struct {
	// Sent batches were accepted by the server, Refused ones kept aside.
	Sent    uint64 `json:"sent"`
	Refused uint64 `json:"refused"`
	// Durable batches may be forgotten by the spool.
	Durable uint64 `json:"durable"`
	// Waiting are sent and not durable yet.
	Waiting int `json:"waiting"`
	// Damaged counts stretches of the spool that could not be read.
	Damaged uint64 `json:"damaged"`
	// Lost counts the times the server no longer had what it had accepted, and
	// Rewinds the times it no longer had what had been durable.
	Lost        uint64    `json:"lost"`
	Rewinds     uint64    `json:"rewinds"`
	Failures    uint64    `json:"failures"`
	LastError   string    `json:"last_error,omitempty"` // empty while all is well
	LastSuccess time.Time `json:"last_success,omitzero"`
	NextTry     time.Time `json:"next_try,omitzero"`
}

type counters struct {
	mu sync.Mutex
	s  Status
}

func (c *counters) change(f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.s)
}

func (c *counters) status() (s Status) {
	c.change(func(v *Status) { s = *v })
	return s
}

func (c *counters) fail(err error, wait time.Duration) {
	c.change(func(s *Status) {
		s.Failures++
		s.NextTry = time.Now().Add(wait)
		if err != nil {
			s.LastError = err.Error()
		}
	})
}

func (c *counters) succeed() {
	c.change(func(s *Status) { s.LastError, s.LastSuccess, s.NextTry = "", time.Now(), time.Time{} })
}

func (c *counters) sent(n, refused int) {
	c.change(func(s *Status) { s.Sent += uint64(n); s.Refused += uint64(refused) })
}

func (c *counters) forgot(n int)  { c.change(func(s *Status) { s.Durable += uint64(n) }) }
func (c *counters) waiting(n int) { c.change(func(s *Status) { s.Waiting = n }) }
func (c *counters) damage()       { c.change(func(s *Status) { s.Damaged++ }) }
func (c *counters) lost()         { c.change(func(s *Status) { s.Lost++ }) }
func (c *counters) rewind()       { c.change(func(s *Status) { s.Rewinds++ }) }
