// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
)

// A backup is a directory with the same files as a journal, and backup.json,
// which is written last: without it a backup did not come to its end.
const manifestFile = "backup.json"

// Backup says what a backup holds.
type Backup struct {
	Format  int       `json:"format"`
	TakenAt time.Time `json:"taken_at"`
	// Totals are over everything in it; Restore compares them.
	Totals journal.Totals `json:"totals"`
	// Sealed are the directories of sealed hours, relative to raw/.
	Sealed []string `json:"sealed"`
	// Ledger is over all of the ledger, Statements are the files of closed months,
	// relative to statements/.
	Ledger     LedgerTotals `json:"ledger"`
	Statements []string     `json:"statements"`
}

// files are the files of a backup, relative to its directory.
func (b *Backup) files() (names []string) {
	for _, d := range b.Sealed {
		for _, t := range everyTables {
			names = append(names, filepath.Join(sealedDir, d, t.name+parquetSuffix))
		}
	}
	for _, name := range b.Statements {
		names = append(names, filepath.Join(statementsDir, name))
	}
	return names
}

const backupFormat = 1

// everyHour spans all hours there are.
var everyHour = [2]time.Time{time.UnixMilli(-1 << 50), time.UnixMilli(1 << 50)}

// Backup writes a consistent copy of the journal into a new directory while
// agents go on sending and others go on reading. Batches accepted after it
// began are not in it; agents still have those that are not durable, and those
// newer than a restored backup are theirs to send again where they still can.
func (s *Store) Backup(ctx context.Context, dir string) (b Backup, err error) {
	if err := s.usable(); err != nil {
		return b, err
	}
	if err := errors.Join(checkPath(dir), newDirectory(dir)); err != nil {
		return b, fmt.Errorf("back up journal: %w", err)
	}
	s.backup.Lock()
	defer s.backup.Unlock()
	// Sealed files stay while they are copied.
	s.files.RLock()
	defer s.files.RUnlock()
	if err = s.copyDatabase(ctx, filepath.Join(dir, databaseFile), &b); err != nil {
		return b, fmt.Errorf("back up journal to %s: %w", dir, err)
	}
	for _, name := range b.files() {
		if err := errors.Join(ctx.Err(), copyFile(filepath.Join(s.dir, name), filepath.Join(dir, name))); err != nil {
			return b, fmt.Errorf("back up journal to %s: %w", dir, err)
		}
	}
	b.Format, b.TakenAt = backupFormat, s.opt.Now().UTC().Truncate(time.Second)
	if b.Totals, b.Ledger, err = totalsOf(ctx, dir); err != nil {
		return b, fmt.Errorf("back up journal to %s: look at the copy: %w", dir, err)
	}
	if err := writeManifest(dir, b); err != nil {
		return b, fmt.Errorf("back up journal to %s: %w", dir, err)
	}
	return b, nil
}

func newDirectory(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a new directory", dir)
	}
	return os.MkdirAll(dir, 0o750)
}

// copyDatabase copies the database as of one moment into a new file and notes the
// sealed directories and the statements that it names.
func (s *Store) copyDatabase(ctx context.Context, to string, b *Backup) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var name string
	if err := conn.QueryRowContext(ctx, `SELECT current_database()`).Scan(&name); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `ATTACH `+literal(to)+` AS copy`); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`COPY FROM DATABASE %q TO copy`, name))
	if err == nil {
		b.Sealed, err = readDirectories(ctx, conn)
	}
	if err == nil {
		var files map[string]int64
		files, err = statementFiles(ctx, conn, "copy.")
		b.Statements = slices.Sorted(maps.Keys(files))
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, `CHECKPOINT copy`)
	}
	_, detach := conn.ExecContext(context.WithoutCancel(ctx), `DETACH copy`)
	return errors.Join(err, detach)
}

func readDirectories(ctx context.Context, conn *sql.Conn) ([]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT directory FROM copy.usage_sealed ORDER BY directory`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var d string
		if err := rows.Scan(&d); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// totalsOf opens the journal in dir and sums all of it.
func totalsOf(ctx context.Context, dir string) (t journal.Totals, l LedgerTotals, err error) {
	s, problems, err := Open(ctx, dir, Options{})
	if err != nil {
		return t, l, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, p := range problems {
		return t, l, p
	}
	if l, err = s.ledgerTotals(ctx); err != nil {
		return t, l, err
	}
	t, err = s.Totals(ctx, everyHour[0], everyHour[1])
	return t, l, err
}

func writeManifest(dir string, b Backup) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, manifestFile)
	if err := os.WriteFile(path, append(data, '\n'), 0o640); err != nil {
		return err
	}
	_, err = syncFile(path)
	return errors.Join(err, syncDir(dir))
}

// Restore makes a journal in dir, which must be empty or not there, from a
// backup, and checks that it has what the backup had.
func Restore(ctx context.Context, backup, dir string) (b Backup, err error) {
	fail := func(err error) (Backup, error) {
		return b, fmt.Errorf("restore %s to %s: %w", backup, dir, err)
	}
	data, err := os.ReadFile(filepath.Join(backup, manifestFile))
	if err != nil {
		return fail(fmt.Errorf("%w: a directory without it is no whole backup", err))
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return fail(fmt.Errorf("read %s: %w", manifestFile, err))
	}
	if b.Format != backupFormat {
		return fail(fmt.Errorf("the backup has format %d, this gputally knows %d: use the gputally that wrote it or a newer one", b.Format, backupFormat))
	}
	if err := errors.Join(checkPath(dir), newDirectory(dir)); err != nil {
		return fail(err)
	}
	for _, name := range append(b.files(), databaseFile) {
		if err := errors.Join(ctx.Err(), copyFile(filepath.Join(backup, name), filepath.Join(dir, name))); err != nil {
			return fail(err)
		}
	}
	got, ledger, err := totalsOf(ctx, dir)
	if err != nil {
		return fail(err)
	}
	if got != b.Totals || ledger != b.Ledger {
		return fail(fmt.Errorf("what was restored sums to %+v and %+v, the backup said %+v and %+v: the files were damaged since", got, ledger, b.Totals, b.Ledger))
	}
	return b, nil
}
