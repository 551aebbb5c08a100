// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A sealed hour lies in raw/YYYY-MM-DD/HH.N/TABLE.parquet. N counts how often
// the hour was sealed: late batches make it be written again, as a whole, beside
// the old directory. The table usage_sealed names the one that counts, so the
// change from the old to the new and the removal of the rows from the tables are
// one transaction. Old directories are removed once that transaction is durable.
const (
	parquetSuffix = ".parquet"
	writingSuffix = ".writing"
	asideSuffix   = ".leftover"
)

// sealedDirectory is where the files of an hour lie, relative to raw/; "" where
// it is not sealed.
func (c *columnar) sealedDirectory(ctx context.Context, hour int32) (string, error) {
	names, err := c.texts(ctx, fmt.Sprintf("SELECT directory FROM usage_sealed WHERE hour = %d", hour))
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// sealedDirectories are those of several hours, in the order of the hours.
func (c *columnar) sealedDirectories(ctx context.Context, hours []int32) ([]string, error) {
	h := hourReader{hours: hours}
	return c.texts(ctx, "SELECT directory FROM usage_sealed WHERE "+h.inHours()+" ORDER BY hour")
}

// Sealable lists the hours before a time that have rows in the tables, oldest
// first: those never sealed, and those that late batches came to.
func (s *Store) Sealable(ctx context.Context, before time.Time) ([]time.Time, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT DISTINCT hour FROM usage_batch WHERE hour < ? ORDER BY hour`, hourOf(before.UnixMilli()))
	if err != nil {
		return nil, fmt.Errorf("list hours to seal: %w", err)
	}
	defer rows.Close()
	var out []time.Time
	for rows.Next() {
		var hour int32
		if err := rows.Scan(&hour); err != nil {
			return nil, fmt.Errorf("list hours to seal: %w", err)
		}
		out = append(out, hourTime(hour))
	}
	return out, rows.Err()
}

func hourTime(hour int32) time.Time { return time.UnixMilli(int64(hour) * hourMS).UTC() }

// Seal moves the rows of an hour from the tables to Parquet files, together
// with what was sealed of it before. At every moment in between the hour is
// readable, and whole, once.
func (s *Store) Seal(ctx context.Context, hour time.Time) error {
	h := hourOf(hour.UnixMilli())
	if err := s.seal(ctx, h); err != nil {
		return fmt.Errorf("seal hour %s: %w", hourTime(h).Format(time.RFC3339), err)
	}
	return nil
}

func (s *Store) seal(ctx context.Context, hour int32) error {
	old, err := s.sealHour(ctx, hour)
	if err != nil {
		return err
	}
	return s.settle(ctx, old)
}

// sealHour writes the files and changes over to them. It returns the directory
// that counts no longer, "" where there was none.
func (s *Store) sealHour(ctx context.Context, hour int32) (old string, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.usable(); err != nil {
		return "", err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return "", err
	}
	defer conn.close()
	if old, err = conn.sealedDirectory(ctx, hour); err != nil {
		return "", err
	}
	directory := s.nextDirectory(hour, old)
	entry, err := s.writeFiles(ctx, conn, hour, old, directory)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(s.sealedPath(directory)+writingSuffix))
	}
	// Where this fails nobody knows whether it was committed: the files stay, and
	// the next Open sees which of them count.
	if err := s.changeOver(ctx, hour, entry); err != nil {
		return "", err
	}
	s.words.forgetHour(hour)
	return old, nil
}

func (s *Store) sealedPath(directory string) string {
	return filepath.Join(s.dir, sealedDir, directory)
}

// nextDirectory is the name after old, where nothing lies yet.
func (s *Store) nextDirectory(hour int32, old string) string {
	for n := generation(old) + 1; ; n++ {
		name := fmt.Sprintf("%s.%d", hourTime(hour).Format("2006-01-02/15"), n)
		if _, err := os.Stat(s.sealedPath(name)); errors.Is(err, os.ErrNotExist) {
			return name
		}
	}
}

// generation is N of a directory HH.N, 0 where there is none.
func generation(directory string) int {
	_, number, _ := strings.Cut(filepath.Base(directory), ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// sealed is a row of usage_sealed.
type sealed struct {
	directory      string
	batches, bytes int64
	until          int64
}

// writeFiles writes every table of the hour under a name that marks it as
// unfinished, makes it durable and gives it its name.
func (s *Store) writeFiles(ctx context.Context, conn *columnar, hour int32, old, directory string) (sealed, error) {
	final := s.sealedPath(directory)
	dir := final + writingSuffix
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o750)); err != nil {
		return sealed{}, err
	}
	entry := sealed{directory: directory}
	reach := fmt.Sprintf("SELECT least(coalesce(max(start_ms::HUGEINT + duration_ms), 0), %d)::BIGINT FROM ", math.MaxInt64) + s.everything(batchTable, hour, old)
	if err := conn.rows(ctx, reach, columnsOf("until", bigint), newMemo(), func(r *row) { entry.until = r.i64() }); err != nil {
		return sealed{}, err
	}
	for _, t := range everyTables {
		path := filepath.Join(dir, t.name+parquetSuffix)
		n, err := s.copyTable(ctx, conn, t, hour, old, path)
		if err != nil {
			return sealed{}, fmt.Errorf("write %s: %w", filepath.Base(path), err)
		}
		if t.name == batchTable.name {
			entry.batches = n
		}
		size, err := syncFile(path)
		if err != nil {
			return sealed{}, err
		}
		entry.bytes += size
	}
	if err := errors.Join(syncDir(dir), os.Rename(dir, final), syncDir(filepath.Dir(final)), syncDir(s.sealedPath(""))); err != nil {
		return sealed{}, err
	}
	return entry, nil
}

// copyTable writes one table of an hour as a Parquet file, in the order of
// nodes and batches, and returns its number of rows.
func (s *Store) copyTable(ctx context.Context, conn *columnar, t table, hour int32, old, path string) (int64, error) {
	rows := s.everything(t, hour, old)
	order := "ORDER BY id"
	if t.columns[batchColumn].name == "batch" {
		rows += fmt.Sprintf(" JOIN (SELECT batch AS b, node AS n, agent AS a, boot AS o, seq AS q FROM %s) ON batch = b", s.everything(batchTable, hour, old))
		order = "ORDER BY n, a, o, q"
		if t.columns[batchColumn+1].name == "line" {
			order += ", line"
		}
	}
	query := fmt.Sprintf("COPY (SELECT %s FROM %s %s) TO %s (FORMAT parquet, COMPRESSION zstd)", t.list(), rows, order, literal(path))
	var n int64
	err := conn.rows(ctx, query, []column{{"count", bigint}}, newMemo(), func(r *row) { n += r.i64() })
	return n, err
}

// everything is the rows of an hour in a table, sealed and not, as a relation.
// Gaps stay in the table, so their old files have nothing more.
func (s *Store) everything(t table, hour int32, old string) string {
	rows := fmt.Sprintf("SELECT %s FROM %s WHERE hour = %d", t.list(), t.name, hour)
	if old != "" && t.name != gapTable.name {
		path := filepath.Join(s.sealedPath(old), t.name+parquetSuffix)
		rows += fmt.Sprintf(" UNION ALL SELECT %s FROM %s", t.list(), inFiles(t, literal(path)))
	}
	return "(" + rows + ")"
}

// changeOver makes the files count and removes the rows, in one transaction.
func (s *Store) changeOver(ctx context.Context, hour int32, entry sealed) error {
	ctx = context.WithoutCancel(ctx)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	run := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	run(`DELETE FROM usage_sealed WHERE hour = ?`, hour)
	run(`INSERT INTO usage_sealed VALUES (?, ?, ?, ?, ?)`, hour, entry.directory, entry.batches, entry.bytes, entry.until)
	for _, t := range hourTables {
		run(`DELETE FROM `+t.name+` WHERE hour = ?`, hour)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return s.judge(errors.Join(fmt.Errorf("change over: %w", err), tx.Rollback()))
	}
	return nil
}
