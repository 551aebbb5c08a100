// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"

	"github.com/gputally/gputally/internal/core/ledger"
)

// AddDrift adds the lines that a drift comes to, and returns them. Nothing else is
// booked meanwhile.
func (s *Store) AddDrift(ctx context.Context, d ledger.Drift, p ledger.Periods) ([]ledger.Line, error) {
	s.books.keep.Lock()
	defer s.books.keep.Unlock()
	done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var w *speller
	var settle func()
	var lines []ledger.Line
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		before, err := s.driftLines(ctx, conn, d.Reference)
		if err != nil {
			return err
		}
		if lines, err = ledger.BookDrift(before, d, p); err != nil {
			return err
		}
		days := map[int32]bool{}
		for i := range lines {
			days[hourOf(lines[i].StartMS)/dayHours] = true
		}
		if settle, err = s.unroll(ctx, conn, days); err != nil {
			return err
		}
		w = newSpeller(conn, s.books.dictionary)
		for i := range lines {
			if err = w.line(&lines[i], nil); err != nil {
				break
			}
		}
		return w.finish(err)
	})
	if err != nil {
		return nil, fmt.Errorf("add drift: %w", err)
	}
	s.learn(w.settle())
	settle()
	return lines, nil
}

// driftLines are the lines of a reference.
func (s *Store) driftLines(ctx context.Context, conn *columnar, reference string) (out []ledger.Line, err error) {
	drifts := s.sorts().which(func(s *lineSort) bool { return s.entryKind == "" })
	w := &walk{conn: conn, words: newWordReader(conn), store: s, within: true}
	lines, err := w.lines(ctx, drifts+" AND note = "+literal(reference))
	for _, l := range lines {
		out = append(out, *l)
	}
	return out, err
}
