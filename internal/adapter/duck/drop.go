// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Drop deletes the hours before a time, sealed or not, and returns how many
// batches that were. Watermarks stay, so that none of them is ever taken again.
func (s *Store) Drop(ctx context.Context, before time.Time) (int64, error) {
	n, directories, err := s.dropHours(ctx, hourOf(before.UnixMilli()))
	if err != nil {
		return 0, fmt.Errorf("drop hours before %s: %w", before.UTC().Format(time.RFC3339), err)
	}
	return n, s.settle(ctx, directories...)
}

func (s *Store) dropHours(ctx context.Context, before int32) (n int64, directories []string, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.usable(); err != nil {
		return 0, nil, err
	}
	ctx = context.WithoutCancel(ctx)
	reached, err := s.reached(ctx, before)
	if err != nil {
		return 0, nil, s.judge(err)
	}
	defer s.stamps.touchBefore(reached)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, rollback(tx)) }()
	rows, err := tx.QueryContext(ctx, `SELECT directory, batches FROM usage_sealed WHERE hour < ?`, before)
	if err != nil {
		return 0, nil, err
	}
	for rows.Next() {
		var d string
		var batches int64
		if err := errors.Join(rows.Scan(&d, &batches)); err != nil {
			return 0, nil, errors.Join(err, rows.Close())
		}
		n += batches
		directories = append(directories, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, nil, err
	}
	for _, t := range append([]table{{name: "usage_sealed"}}, everyTables...) {
		r, err := tx.ExecContext(ctx, `DELETE FROM `+t.name+` WHERE hour < ?`, before)
		if err != nil {
			return 0, nil, s.judge(err)
		}
		if t.name == batchTable.name {
			gone, err := r.RowsAffected()
			if err != nil {
				return 0, nil, err
			}
			n += gone
		}
	}
	if err := s.thinShapes(ctx, tx, before); err != nil {
		return 0, nil, s.judge(err)
	}
	if err := tx.Commit(); err != nil {
		return 0, nil, s.judge(err)
	}
	s.words.forgetBefore(before)
	return n, directories, nil
}

// rollback ends a transaction that was not committed.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// settle makes a change of the sealed hours durable. Only then may the files that
// counted before go: no accident can bring their entries back.
func (s *Store) settle(ctx context.Context, old ...string) error {
	s.mu.Lock()
	s.unlinked = append(s.unlinked, old...)
	s.mu.Unlock()
	if err := s.Checkpoint(ctx); err != nil && !errors.Is(err, errNotNow) {
		return err
	}
	return nil
}

// unlink removes the directories that count no longer, unless somebody reads files
// just now. It is called after a checkpoint.
func (s *Store) unlink() error {
	// Waiting would hold up every reader behind a backup; the next checkpoint, or
	// the next Open, does it as well.
	if !s.files.TryLock() {
		return nil
	}
	defer s.files.Unlock()
	s.mu.Lock()
	directories := s.unlinked
	s.unlinked = nil
	s.mu.Unlock()
	var errs []error
	for _, d := range directories {
		if d == "" {
			continue
		}
		errs = append(errs, os.RemoveAll(s.sealedPath(d)))
		// The day's directory goes with its last hour; until then it cannot.
		_ = os.Remove(filepath.Dir(s.sealedPath(d)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove sealed files: %w", err)
	}
	return nil
}

// tidy brings the sealed files in line with what the journal names, after an
// open: unfinished files and those that a newer directory replaced are removed;
// others that nothing names are set aside, never deleted.
func (s *Store) tidy(ctx context.Context) ([]Problem, error) {
	named, err := s.sealedNames(ctx)
	if err != nil {
		return nil, err
	}
	problems, err := s.tidyStatements(ctx)
	if err != nil {
		return problems, err
	}
	for _, d := range named {
		if _, err := os.Stat(s.sealedPath(d)); err != nil {
			problems = append(problems, Problem{Kind: MissingFiles, File: s.sealedPath(d), Detail: err.Error(),
				Hint: "the hour cannot be read until the directory is put back, from a backup for example"})
		}
	}
	paths, err := filepath.Glob(s.sealedPath("*/*"))
	if err != nil {
		return problems, err
	}
	for _, path := range paths {
		p, err := s.tidyOne(path, named)
		if err != nil {
			return problems, err
		}
		problems = append(problems, p...)
	}
	return problems, nil
}

// sealedNames are the directories that count, by their hour ("2026-12-01/15").
func (s *Store) sealedNames(ctx context.Context) (map[string]string, error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT directory FROM usage_sealed`)
	if err != nil {
		return nil, fmt.Errorf("list sealed hours: %w", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var d string
		if err := rows.Scan(&d); err != nil {
			return nil, fmt.Errorf("list sealed hours: %w", err)
		}
		hour, _, _ := strings.Cut(d, ".")
		out[hour] = d
	}
	return out, rows.Err()
}

func (s *Store) tidyOne(path string, named map[string]string) ([]Problem, error) {
	rel, err := filepath.Rel(s.sealedPath(""), path)
	if err != nil {
		return nil, err
	}
	hour, _, _ := strings.Cut(rel, ".")
	counts := named[hour]
	switch {
	case rel == counts || strings.HasSuffix(rel, asideSuffix):
		return nil, nil
	case strings.HasSuffix(rel, writingSuffix), counts != "" && generation(rel) < generation(counts):
		if err := os.RemoveAll(path); err != nil {
			return nil, fmt.Errorf("remove leftover files: %w", err)
		}
		return nil, nil
	}
	if err := os.Rename(path, path+asideSuffix); err != nil {
		return nil, fmt.Errorf("set leftover files aside: %w", err)
	}
	return []Problem{{Kind: LeftoverFiles, File: path + asideSuffix, Detail: "the journal does not name these files: they are from a seal or drop that was interrupted, or newer than a restored backup",
		Hint: "nothing is lost; delete them, or keep them until the totals of that hour have been looked at"}}, nil
}
