// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
)

// session asks the server what it has, reads the queue from where that ends, and
// sends. It ends with an error, with ctx, or, if upToEnd, when all is sent.
func (s *Shipper) session(ctx context.Context, upToEnd bool) error {
	s.window, s.group = nil, s.cfg.GroupBatches
	acks, err := s.server.Acks(ctx, s.cfg.Agent)
	if err != nil {
		return fmt.Errorf("ask the server what it has: %w", err)
	}
	clear(s.marks)
	s.learn(acks)
	from, err := s.begin()
	if err != nil {
		return err
	}
	walk := s.queue.Walk(from)
	defer walk.Close() // read only
	s.heard = time.Now()
	var held *Entry
	for ctx.Err() == nil {
		group, rest, end, err := s.fill(walk, held)
		if err != nil {
			return err
		}
		held = rest
		if end && len(group) == 0 {
			s.rewound = false // all that the spool has was read and sent
			s.caughtUp()
		}
		if err := s.forget(); err != nil {
			return err
		}
		if len(group) > 0 {
			if err := s.send(ctx, group); err != nil {
				return err
			}
			continue
		}
		if !end && len(s.window) < s.cfg.Window {
			continue
		}
		if upToEnd && end {
			return nil
		}
		every := s.cfg.AskEvery
		if len(s.window) >= s.cfg.Window {
			every = s.cfg.Poll // nothing can be sent before something is durable
		}
		if len(s.window) > 0 && time.Since(s.heard) >= every {
			if err := s.ask(ctx); err != nil {
				return err
			}
			continue
		}
		s.wait(ctx, s.pause())
	}
	return ctx.Err()
}

// begin is where to read from: behind what the queue may forget; or, where the
// server does not have that, from the very beginning, since the queue forgets
// only when it needs the room.
func (s *Shipper) begin() (Position, error) {
	acked := s.queue.Acked()
	if !s.looked {
		last, err := s.lastAcked(acked)
		if err != nil {
			return acked, err
		}
		s.looked, s.proof = true, last
	}
	if s.rewound {
		return Position{}, nil
	}
	if s.proof == nil || s.marks[s.proof.source].Durable.Has(s.proof.seq) {
		return acked, nil
	}
	s.cfg.Log.Warn("the server does not have what it had made durable: it was restored from an older backup; sending again what the spool still has",
		"missing", s.proof.String())
	s.proof, s.rewound = nil, true
	s.stats.rewind()
	return Position{}, nil
}

// lastAcked reads the last record before a position, nil where there is none.
func (s *Shipper) lastAcked(acked Position) (last *sent, err error) {
	if acked == (Position{}) {
		return nil, nil
	}
	walk := s.queue.Walk(Position{Segment: acked.Segment})
	defer walk.Close() // read only
	for {
		e, err := walk.Next()
		var damage *Damage
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case errors.As(err, &damage):
			continue // told when it is read to be sent
		case err != nil:
			return nil, fmt.Errorf("read spool: %w", err)
		case acked.before(e.Next):
			return last, nil
		}
		last = &sent{source: e.Source, seq: e.Seq, next: e.Next}
	}
}

// fill reads the next group to send. What the server has accepted already is not
// sent again. held is a record that was read before, rest one that did not fit;
// end says that the queue has no more.
func (s *Shipper) fill(walk Walk, held *Entry) (group []Entry, rest *Entry, end bool, err error) {
	bytes := 0
	for len(group) < s.group && len(s.window)+len(group) < s.cfg.Window {
		e, err := s.next(walk, held)
		held = nil
		if errors.Is(err, io.EOF) {
			return group, nil, true, nil
		}
		if err != nil {
			return nil, nil, false, err
		}
		if s.marks[e.Source].Accepted.Has(e.Seq) && len(group) == 0 {
			s.window = append(s.window, sent{source: e.Source, seq: e.Seq, next: e.Next})
			continue
		}
		if s.marks[e.Source].Accepted.Has(e.Seq) || (len(group) > 0 && bytes+len(e.Payload) > s.cfg.GroupBytes) {
			return group, &e, false, nil
		}
		group, bytes = append(group, e), bytes+len(e.Payload)
	}
	return group, held, false, nil
}

// next reads a record, and tells of those that cannot be read.
func (s *Shipper) next(walk Walk, held *Entry) (Entry, error) {
	if held != nil {
		return *held, nil
	}
	for {
		e, err := walk.Next()
		var damage *Damage
		if errors.As(err, &damage) {
			s.stats.damage()
			s.cfg.Log.Warn("damage in the spool: these records cannot be shipped", "error", damage)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return e, fmt.Errorf("read spool: %w", err)
		}
		return e, err
	}
}

// send delivers a group, in smaller ones where it is too large.
func (s *Shipper) send(ctx context.Context, group []Entry) error {
	payloads := make([][]byte, len(group))
	for i, e := range group {
		payloads[i] = e.Payload
	}
	receipt, err := s.server.Send(ctx, payloads)
	switch {
	case errors.Is(err, journal.ErrTooLarge) && len(group) > 1:
		half := len(group) / 2
		s.group = half
		if err := s.send(ctx, group[:half]); err != nil {
			return err
		}
		return s.send(ctx, group[half:])
	case errors.Is(err, journal.ErrTooLarge):
		receipt = journal.Receipt{Refused: []journal.Refusal{{Source: group[0].Source, Seq: group[0].Seq, Code: "too_large",
			Detail: fmt.Sprintf("%d bytes are more than the server takes", len(payloads[0])), Hint: "raise the server's limit, or look at what makes the batch so large"}}}
	case err != nil:
		return fmt.Errorf("send records: %w", err)
	}
	s.worked()
	refused, err := s.setAside(group, receipt.Refused)
	if err != nil {
		return err
	}
	for i, e := range group {
		s.window = append(s.window, sent{source: e.Source, seq: e.Seq, next: e.Next, refused: refused[i]})
	}
	s.stats.sent(len(group)-len(refused), len(refused))
	s.learn(receipt.Acks)
	if s.allIn(receipt.Acks) {
		s.heard = time.Now()
	}
	return s.compare()
}

// setAside keeps the refused batches of a group elsewhere, so that they are in
// nobody's way. One that cannot be kept stays in the spool, and holds it up:
// losing it would be worse.
func (s *Shipper) setAside(group []Entry, refusals []journal.Refusal) (map[int]bool, error) {
	refused := map[int]bool{}
	for _, r := range refusals {
		if r.Index < 0 || r.Index >= len(group) {
			return nil, fmt.Errorf("send records: the server refuses batch %d of %d", r.Index, len(group))
		}
		e := group[r.Index]
		r.Source, r.Seq = e.Source, e.Seq // the server may not have been able to read them
		if err := s.aside.Keep(e.Payload, r); err != nil {
			return nil, fmt.Errorf("keep the refused batch %s/%d aside: %w", e.Source.Boot, e.Seq, err)
		}
		s.cfg.Log.Error("the server refuses a batch for good; it is kept aside and not counted", "boot", e.Source.Boot, "seq", e.Seq,
			"code", r.Code, "detail", r.Detail, "hint", r.Hint)
		refused[r.Index] = true
	}
	return refused, nil
}

// allIn says whether a receipt tells how all batches stand that wait to become
// durable: it names the boots of its own delivery only, and before them there may
// be those of earlier ones.
func (s *Shipper) allIn(acks []journal.Ack) bool {
	for i := range s.window {
		w := &s.window[i]
		if !w.refused && !slices.ContainsFunc(acks, func(a journal.Ack) bool { return a.Source == w.source }) {
			return false
		}
	}
	return true
}

// ask learns what became durable of all that waits.
func (s *Shipper) ask(ctx context.Context) error {
	acks, err := s.server.Acks(ctx, s.cfg.Agent)
	if err != nil {
		return fmt.Errorf("ask the server what it has: %w", err)
	}
	s.worked()
	clear(s.marks)
	s.learn(acks)
	s.heard = time.Now()
	return s.compare()
}

func (s *Shipper) learn(acks []journal.Ack) {
	for _, a := range acks {
		s.marks[a.Source] = a
	}
}

// compare looks whether the server still has what it had.
func (s *Shipper) compare() error {
	if p := s.proof; p != nil && !s.marks[p.source].Durable.Has(p.seq) {
		return fmt.Errorf("%w: batch %s was durable", errAgain, p)
	}
	for _, e := range s.window {
		if !e.refused && !s.marks[e.source].Accepted.Has(e.seq) {
			s.stats.lost()
			return fmt.Errorf("%w: batch %s was accepted", errAgain, e)
		}
	}
	return nil
}

// forget lets the queue forget what is durable or refused, up to the first
// record that is neither.
func (s *Shipper) forget() error {
	n := 0
	for n < len(s.window) && s.window[n].settled(s.marks) {
		if !s.window[n].refused {
			proof := s.window[n]
			s.proof = &proof
		}
		n++
	}
	s.stats.waiting(len(s.window) - n)
	if n == 0 {
		return nil
	}
	s.again = 0
	last := s.window[n-1].next
	s.window = s.window[n:]
	if !s.queue.Acked().before(last) {
		return nil // read again after a rewind
	}
	if err := s.queue.Ack(last); err != nil {
		return fmt.Errorf("let the spool forget: %w", err)
	}
	s.stats.forgot(n)
	return nil
}

func (e sent) settled(marks map[journal.Source]journal.Ack) bool {
	return e.refused || marks[e.source].Durable.Has(e.seq)
}
