// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/gputally/gputally/internal/core/ledger"
)

var eventTable = table{name: "ledger_event", columns: columnsOf("seq", ubigint, "event_json", text)}

// AddEvent adds an event to the trail, as the next of those that are there.
func (s *Store) AddEvent(ctx context.Context, e ledger.Event) (ledger.Event, error) {
	done, err := s.begin(ctx)
	if err != nil {
		return e, err
	}
	defer done()
	err = s.change(ctx, func(ctx context.Context, conn *columnar) (err error) {
		e, err = addEvent(ctx, conn, e)
		return err
	})
	if err != nil {
		return ledger.Event{}, fmt.Errorf("keep event: %w", err)
	}
	return e, nil
}

// addEvent adds an event within a transaction.
func addEvent(ctx context.Context, conn *columnar, e ledger.Event) (ledger.Event, error) {
	var last *ledger.Event
	_, err := eachEvent(ctx, conn, "ORDER BY seq DESC LIMIT 1", func(e ledger.Event) bool { last = &e; return true })
	if err != nil {
		return e, err
	}
	if e, err = e.Follow(last); err != nil {
		return e, err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	return e, conn.exec(ctx, fmt.Sprintf("INSERT INTO ledger_event VALUES (%d, %s)", e.Seq, literal(string(data))))
}

// eachEvent hands out events until f says no, and returns how many there were.
func eachEvent(ctx context.Context, conn *columnar, which string, f func(ledger.Event) bool) (n int, err error) {
	memo := newMemo()
	more := true
	err = conn.rows(ctx, "SELECT "+eventTable.list()+" FROM ledger_event "+which, eventTable.columns, memo, func(r *row) {
		n++
		r.skip(1)
		var e ledger.Event
		if err := json.Unmarshal(r.bytes(), &e); err != nil {
			memo.fail(fmt.Errorf("event_json: %w", err))
		} else if more {
			more = f(e)
		}
	})
	return n, err
}

// eventsAtOnce is how many events are read in one go.
const eventsAtOnce = 1024

// Events walks the trail in order.
func (s *Store) Events(ctx context.Context) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		after := uint64(0)
		for {
			events, err := s.events(ctx, after)
			if err != nil {
				yield(ledger.Event{}, fmt.Errorf("read trail: %w", err))
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(events) < eventsAtOnce {
				return
			}
		}
	}
}

func (s *Store) events(ctx context.Context, after uint64) (out []ledger.Event, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	_, err = eachEvent(ctx, conn, fmt.Sprintf("WHERE seq > %d ORDER BY seq LIMIT %d", after, eventsAtOnce), func(e ledger.Event) bool {
		out = append(out, e)
		return true
	})
	return out, err
}

var textTable = table{name: "ledger_text", columns: columnsOf("key", text, "text", blob)}

// KeepText puts a text in the place of an earlier one of the key.
func (s *Store) KeepText(ctx context.Context, key string, text []byte) (err error) {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("keep text %s: %w", key, s.judge(err))
	}
	if text == nil {
		text = []byte{}
	}
	if _, err = tx.ExecContext(ctx, `DELETE FROM ledger_text WHERE key = ?`, key); err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO ledger_text VALUES (?, ?)`, key, text)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("keep text %s: %w", key, s.judge(errors.Join(err, rollback(tx))))
	}
	return nil
}

// Text is the text of a key, nil where there is none.
func (s *Store) Text(ctx context.Context, key string) (text []byte, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT text FROM ledger_text WHERE key = ?`, key).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read text %s: %w", key, err)
	case text == nil:
		text = []byte{}
	}
	return text, nil
}
