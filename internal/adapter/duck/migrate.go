// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// The schema is what its migrations make of an empty database: files
// NNNN_name.sql, applied once each in the order of their numbers. A migration
// that was released is never changed; what comes later is another file.
//
//go:embed schema/*.sql
var schemaFiles embed.FS

type migration struct {
	version int
	name    string
	text    string
}

func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, path := range names {
		number, name, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(path, "schema/"), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || version <= 0 {
			return nil, fmt.Errorf("migration %s: want a name like 0001_usage.sql", path)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{version: version, name: name, text: string(text)})
	}
	slices.SortFunc(out, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	for i, m := range out {
		if m.version != i+1 {
			return nil, fmt.Errorf("migration %04d_%s: number %d is expected", m.version, m.name, i+1)
		}
	}
	return out, nil
}

// migrate brings the database to the newest schema this program knows. Each
// migration is one transaction and is checkpointed before the next, since a log
// that holds changes of the schema is the hardest to replay.
func migrate(ctx context.Context, conn *sql.Conn) error {
	all, err := migrations(schemaFiles)
	if err != nil {
		return err
	}
	return migrateTo(ctx, conn, all)
}

func migrateTo(ctx context.Context, conn *sql.Conn, all []migration) error {
	_, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
		version INTEGER NOT NULL, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)`)
	if err != nil {
		return fmt.Errorf("prepare schema: %w", err)
	}
	var have int
	if err := conn.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have > len(all) {
		return fmt.Errorf("the schema has version %d, this gputally knows versions up to %d: use the gputally that wrote it or a newer one, or restore a backup from before", have, len(all))
	}
	for _, m := range all[have:] {
		if err := apply(ctx, conn, m); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", m.version, m.name, err)
		}
	}
	return nil
}

func apply(ctx context.Context, conn *sql.Conn, m migration) error {
	if _, err := conn.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, m.text)
	if err == nil {
		_, err = conn.ExecContext(ctx, `INSERT INTO schema_version VALUES (?, ?, now()::TIMESTAMP)`, m.version, m.name)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, back := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, back)
	}
	_, err = conn.ExecContext(ctx, "CHECKPOINT")
	return err
}
