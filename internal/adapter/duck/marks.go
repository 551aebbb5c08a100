// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/gputally/gputally/internal/core/journal"
)

// standing is how the batches of one source stand: the marks are those of the
// last commit and of the last checkpoint.
type standing struct{ accepted, durable journal.Mark }

// maxMissing bounds the holes in one source's numbers. An agent sends in order
// and makes none; only a broken one comes near.
const maxMissing = 4096

// Acks tells how all batches of an agent stand, by boot.
func (s *Store) Acks(agent string) []journal.Ack {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []journal.Ack
	for src, st := range s.marks {
		if src.Agent == agent {
			out = append(out, st.ack(src))
		}
	}
	slices.SortFunc(out, func(a, b journal.Ack) int { return a.Compare(b.Source) })
	return out
}

// Ack tells how the batches of one source stand.
func (s *Store) Ack(src journal.Source) journal.Ack {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if st := s.marks[src]; st != nil {
		return st.ack(src)
	}
	return journal.Ack{Source: src}
}

func (st *standing) ack(src journal.Source) journal.Ack {
	return journal.Ack{Source: src, Accepted: st.accepted, Durable: st.durable}
}

// load reads watermarks and counter from the database, which knows best.
// Nothing of it counts as durable before the next checkpoint, unless it was.
func (s *Store) load(ctx context.Context) error {
	err := s.conn.QueryRowContext(ctx, `SELECT next_batch, next_id FROM usage_counter`).Scan(&s.next.batch, &s.next.id)
	if err != nil {
		return fmt.Errorf("read counter: %w", err)
	}
	marks, err := s.readMarks(ctx)
	if err != nil {
		return fmt.Errorf("read watermarks: %w", err)
	}
	if err := s.loadBooks(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dirty := map[journal.Source]bool{}
	for src, st := range marks {
		if before := s.marks[src]; before != nil {
			st.durable = before.durable
		}
		dirty[src] = true
	}
	s.marks, s.dirty = marks, dirty
	return nil
}

func (s *Store) readMarks(ctx context.Context) (map[journal.Source]*standing, error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT agent, boot, seq, missing_json FROM usage_watermark`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[journal.Source]*standing{}
	for rows.Next() {
		var src journal.Source
		var m journal.Mark
		var missing *string
		if err := rows.Scan(&src.Agent, &src.Boot, &m.Seq, &missing); err != nil {
			return nil, err
		}
		if missing != nil {
			if err := json.Unmarshal([]byte(*missing), &m.Missing); err != nil {
				return nil, fmt.Errorf("%s/%s: missing_json: %w", src.Agent, src.Boot, err)
			}
		}
		if err := m.Check(); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", src.Agent, src.Boot, err)
		}
		out[src] = &standing{accepted: m}
	}
	return out, rows.Err()
}

// saveMarks writes watermarks and counter into the transaction of the rows.
func (s *Store) saveMarks(ctx context.Context, marks map[journal.Source]journal.Mark, next counter) error {
	if err := s.conn.Raw(func(conn any) error { return writeMarks(conn.(driver.Conn), marks) }); err != nil {
		return fmt.Errorf("write watermarks: %w", err)
	}
	if _, err := s.conn.ExecContext(ctx, `UPDATE usage_counter SET next_batch = ?, next_id = ?`, next.batch, next.id); err != nil {
		return fmt.Errorf("write counter: %w", err)
	}
	return nil
}

// writeMarks writes all of them with one statement: one each is many times slower.
func writeMarks(conn driver.Conn, marks map[journal.Source]journal.Mark) error {
	var types []duckdb.TypeInfo
	for _, kind := range []duckdb.Type{text, text, ubigint, text} {
		info, err := duckdb.NewTypeInfo(kind)
		if err != nil {
			return err
		}
		types = append(types, info)
	}
	a, err := duckdb.NewQueryAppender(conn, `INSERT INTO usage_watermark SELECT * FROM appended_data
		ON CONFLICT (agent, boot) DO UPDATE SET seq = excluded.seq, missing_json = excluded.missing_json`, "", types, nil)
	if err != nil {
		return err
	}
	for src, m := range marks {
		if err := a.AppendRow(src.Agent, src.Boot, m.Seq, wireList(m.Missing)); err != nil {
			return errors.Join(err, a.Clear(), a.Close())
		}
	}
	return a.Close()
}

// Checkpoint moves everything from the log into the database file. What was
// accepted before is durable then. The proof is the log being empty: the
// statement can succeed without that.
func (s *Store) Checkpoint(ctx context.Context) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.runCheckpoint(ctx); err != nil {
		return s.judge(fmt.Errorf("checkpoint: %w", err))
	}
	for _, path := range s.logs() {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return fmt.Errorf("checkpoint: %w", err)
		case info.Size() > 0:
			return fmt.Errorf("checkpoint: %s still has %d bytes", path, info.Size())
		}
	}
	s.mu.Lock()
	for src := range s.dirty {
		s.marks[src].durable = s.marks[src].accepted
	}
	clear(s.dirty)
	s.mu.Unlock()
	return s.unlink()
}

// checkpointTries bounds the waiting for others: about half a second.
const checkpointTries = 9

// errNotNow says that somebody reads the database from before: a backup takes
// minutes. The next checkpoint makes up for it.
var errNotNow = errors.New("others are still reading what was there before")

// runCheckpoint tries again for a while where another transaction is in the way.
func (s *Store) runCheckpoint(ctx context.Context) (err error) {
	for try := range checkpointTries {
		_, err = s.conn.ExecContext(ctx, "CHECKPOINT")
		if err == nil || !strings.Contains(err.Error(), "Cannot CHECKPOINT") {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(time.Millisecond << try):
		}
	}
	return fmt.Errorf("%w: %w", errNotNow, err)
}
