// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// opened is a store in dir, closed at the test's end, and what was found.
func opened(t *testing.T, dir string) (*Store, []Problem) {
	t.Helper()
	s, problems, err := Open(context.Background(), dir, small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // closed before where that matters
	return s, problems
}

// TestTablesAreThoseOfTheSchema: rows are written and read by position, so the
// columns must be the schema's, in its order and of its types.
func TestTablesAreThoseOfTheSchema(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	names := map[mapping.Type]string{text: "VARCHAR", integer: "INTEGER", bigint: "BIGINT", ubigint: "UBIGINT", uinteger: "UINTEGER", double: "DOUBLE", boolean: "BOOLEAN", hugeint: "HUGEINT", uuid: "UUID", blob: "BLOB"}
	for _, table := range slices.Concat(everyTables, shapeTables, []table{machineTable}, ledgerTables, activityTables, []table{decisionTable}) {
		var want []string
		for _, c := range table.columns {
			want = append(want, c.name+" "+names[c.kind])
		}
		rows, err := s.db.Query(`SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position`, table.name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for rows.Next() {
			var c string
			if err := rows.Scan(&c); err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s has\n%v\nthe code writes\n%v", table.name, got, want)
		}
	}
}

// TestNewerSchemaIsRefused: a journal of a later program is left as it is.
func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir)
	if _, err := s.db.Exec(`INSERT INTO schema_version VALUES (99, 'later', now()::TIMESTAMP)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := Open(context.Background(), dir, Options{})
	if err == nil || !strings.Contains(err.Error(), "the schema has version 99") || !strings.Contains(err.Error(), "newer one") {
		t.Errorf("%v, want a word about version 99 and a newer gputally", err)
	}
}

// TestMigrationsGoOn: an older journal gets what it lacks, once, and a migration
// that fails leaves it as it was.
func TestMigrationsGoOn(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	ctx := context.Background()
	all, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	n := len(all)
	more := append(all, migration{n + 1, "more", "CREATE TABLE more (x INTEGER); INSERT INTO more VALUES (1)"})
	for range 2 {
		if err := migrateTo(ctx, s.conn, more); err != nil {
			t.Fatal(err)
		}
	}
	bad := append(more, migration{n + 2, "bad", "INSERT INTO more VALUES (2); INSERT INTO nowhere VALUES (1)"})
	if err := migrateTo(ctx, s.conn, bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("migration %04d_bad", n+2)) {
		t.Errorf("%v, want the migration's name", err)
	}
	var rows, version int
	if err := s.conn.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM more), (SELECT max(version) FROM schema_version)`).Scan(&rows, &version); err != nil {
		t.Fatal(err)
	}
	if rows != 1 || version != n+1 {
		t.Errorf("%d rows and version %d, want 1 and %d", rows, version, n+1)
	}
	if _, err := os.Stat(s.path() + logSuffix); err == nil {
		t.Error("a migration was left in the log")
	}
}

func TestMigrationNames(t *testing.T) {
	for names, says := range map[string]string{
		"schema/usage.sql": "want a name like", "schema/0002_a.sql": "number 1 is expected", "schema/00x1_a.sql": "want a name like",
	} {
		if _, err := migrations(fstest.MapFS{names: {Data: []byte("SELECT 1")}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", names, err, says)
		}
	}
}
