// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Append adds the batches that are not in the journal yet, in one transaction
// with the watermarks that say so, and returns how many those were. On an error
// nothing of it was added. A *journal.Refusal names the one batch that cannot be
// added, by its Index; journal.ErrBroken says that the store must be opened again.
func (s *Store) Append(ctx context.Context, batches []usage.Batch) (int, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.usable(); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	fresh, marks, err := s.sift(batches)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	// From here on it is done as a whole, whoever stops waiting for it.
	ctx = context.WithoutCancel(ctx)
	s.books.touched = nil
	defer func() { s.stamps.touch(s.books.touched...) }() // also what failed: it may be there
	next, err := s.transact(ctx, batches, fresh, marks)
	if err != nil {
		if err = s.recoverFrom(ctx, err); isDataError(err) {
			err = s.culprit(ctx, batches, fresh, err)
		}
		return 0, err
	}
	s.next = next
	s.books.stays.settle()
	s.books.told.add(batches, fresh)
	s.accept(marks)
	return len(fresh), nil
}

// sift returns the positions of the batches that are new, and the marks after them.
func (s *Store) sift(batches []usage.Batch) (fresh []int, marks map[journal.Source]journal.Mark, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	marks = map[journal.Source]journal.Mark{}
	for i := range batches {
		b := &batches[i]
		src := journal.SourceOf(b)
		mark, touched := marks[src]
		if st := s.marks[src]; !touched && st != nil {
			mark = st.accepted
		}
		next, isNew := mark.With(b.Seq)
		if len(next.Missing) > maxMissing {
			return nil, nil, refusal(b, i, journal.RefusedGaps,
				fmt.Sprintf("boot %s would have more than %d holes in its numbers", b.Boot, maxMissing), "send the batches of a boot in their order")
		}
		if isNew {
			marks[src] = next
			fresh = append(fresh, i)
		}
	}
	return fresh, marks, nil
}

func refusal(b *usage.Batch, index int, code, detail, hint string) *journal.Refusal {
	return &journal.Refusal{Source: journal.SourceOf(b), Seq: b.Seq, Index: index, Code: code, Detail: detail, Hint: hint}
}

func (s *Store) accept(marks map[journal.Source]journal.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for src, m := range marks {
		st := s.marks[src]
		if st == nil {
			st = &standing{}
			s.marks[src] = st
		}
		st.accepted = m
		s.dirty[src] = true
	}
}

// transact writes rows, marks and counter as one transaction.
func (s *Store) transact(ctx context.Context, batches []usage.Batch, fresh []int, marks map[journal.Source]journal.Mark) (next counter, err error) {
	if _, err := s.conn.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return next, fmt.Errorf("begin: %w", err)
	}
	err = s.conn.Raw(func(conn any) error {
		next, err = s.writeRows(conn.(driver.Conn), batches, fresh)
		return err
	})
	if err == nil {
		err = s.saveMachines(batches, fresh)
	}
	if err == nil {
		err = s.saveDue(ctx, batches, fresh, next.batch-1)
	}
	if err == nil {
		err = s.saveMarks(ctx, marks, next)
	}
	if err == nil {
		if _, err = s.conn.ExecContext(ctx, "COMMIT"); err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	if err != nil {
		err = errors.Join(err, s.rollBack(ctx))
	}
	return next, err
}

func (s *Store) writeRows(conn driver.Conn, batches []usage.Batch, fresh []int) (counter, error) {
	w, err := newWriter(conn, &s.words, s.next)
	if err != nil {
		return counter{}, err
	}
	for _, i := range fresh {
		if err := w.batch(&batches[i]); err != nil {
			return counter{}, errors.Join(err, w.abandon())
		}
	}
	return w.next, w.finish()
}

// recoverFrom brings memory back to what the database says after a transaction
// that failed, and may yet have been committed.
func (s *Store) recoverFrom(ctx context.Context, err error) error {
	s.words = vocabulary{}
	err = s.judge(err)
	if errors.Is(err, journal.ErrBroken) {
		return err
	}
	if load := s.load(ctx); load != nil {
		return s.judge(errors.Join(fmt.Errorf("%w: what it holds is not known after a failed write", journal.ErrBroken), err, load))
	}
	return err
}

// usable is the error that every call gets once the database is beyond use.
func (s *Store) usable() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.broken
}

// judge finds out whether the database can go on after an error.
func (s *Store) judge(err error) error {
	text := err.Error()
	if !errors.Is(err, journal.ErrBroken) && (strings.Contains(text, "database has been invalidated") || strings.Contains(text, "FATAL Error")) {
		err = fmt.Errorf("%w: %w%s", journal.ErrBroken, err, s.hint(text))
	}
	if errors.Is(err, journal.ErrBroken) {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
	}
	return err
}

// noRoom are the words of a disk that is full, or of a limit that is reached.
var noRoom = regexp.MustCompile(`(?i)no space left|file too large|quota exceeded`)

// hint says what to do about an error that ends the database, where that is known.
// One of a commit passes by itself; DuckDB gives up where a checkpoint fails.
func (s *Store) hint(text string) string {
	if !noRoom.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("; there is no room left for %s: make room and start again; nothing is lost, agents keep what is not durable", s.dir)
}

// dataError are the words of errors that a value brings about, whoever writes it
// whenever. A text that is no UTF-8, for one, becomes NULL on the way.
var dataError = regexp.MustCompile(`(?i)constraint failed|conversion error|out of range|invalid input|failed to set value|cast error`)

func isDataError(err error) bool {
	return !errors.Is(err, journal.ErrBroken) && dataError.MatchString(err.Error())
}

// culprit finds the first batch that cannot be written by itself, and refuses it.
func (s *Store) culprit(ctx context.Context, batches []usage.Batch, fresh []int, err error) error {
	for _, i := range fresh {
		alone := s.rehearse(ctx, batches, i)
		if alone != nil && isDataError(alone) {
			return refusal(&batches[i], i, journal.RefusedByStore, oneLine(alone), "this is a fault of gputally: report it with the batch")
		}
	}
	return err
}

// rehearse writes one batch and takes it back.
func (s *Store) rehearse(ctx context.Context, batches []usage.Batch, i int) error {
	if _, err := s.conn.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := s.conn.Raw(func(conn any) error {
		_, err := s.writeRows(conn.(driver.Conn), batches, []int{i})
		return err
	})
	s.words = vocabulary{} // it knows words now that nobody wrote
	return errors.Join(err, s.rollBack(ctx))
}

// rollBack ends a transaction, also one that ended by itself.
func (s *Store) rollBack(ctx context.Context) error {
	if _, err := s.conn.ExecContext(ctx, "ROLLBACK"); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}
