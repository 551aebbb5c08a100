// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/test/storetest"
)

// closedLedger is a store with a closed month.
func closedLedger(t *testing.T, dir string) (*Store, ledger.Closed) {
	t.Helper()
	s, _ := opened(t, dir)
	ctx := context.Background()
	if err := s.Book(ctx, storetest.Bookings(t, "n1", 3)); err != nil {
		t.Fatal(err)
	}
	m := ledger.MonthOf(storetest.Start)
	c, err := s.CloseMonth(ctx, ledger.Closing{Scope: ledger.Scope{Currency: "USD"}, Month: m, Level: ledger.ByAccount, AtMS: m.EndMS() + 10*hourMS, By: "kim"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KeepText(ctx, "policy", []byte("held")); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// TestBackupHasTheLedger: a restored ledger verifies its closed months.
func TestBackupHasTheLedger(t *testing.T) {
	dir := t.TempDir()
	s, c := closedLedger(t, filepath.Join(dir, "live"))
	backup := filepath.Join(dir, "backup")
	b, err := s.Backup(context.Background(), backup)
	if err != nil {
		t.Fatal(err)
	}
	if b.Ledger.Lines == 0 || b.Ledger.Closed != 1 || b.Ledger.Events != 1 || b.Ledger.Texts != 1 || len(b.Statements) != 1 {
		t.Errorf("backup %+v", b)
	}
	if _, err := Restore(context.Background(), backup, filepath.Join(dir, "restored")); err != nil {
		t.Fatal(err)
	}
	r, problems := opened(t, filepath.Join(dir, "restored"))
	if err := r.Verify(context.Background(), c); err != nil || len(problems) != 0 {
		t.Errorf("restored: %v, problems %v", err, problems)
	}
	path := filepath.Join(backup, statementsDir, b.Statements[0])
	if err := os.Truncate(path, 20); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(context.Background(), backup, filepath.Join(dir, "cut")); err == nil || !strings.Contains(err.Error(), b.Statements[0]) {
		t.Errorf("a backup with a cut file of statements: %v", err)
	}
}

// TestStatementsAreTidied: files of closings that came to no end go or are set
// aside, those that count stay, one that is missing is told, and one that was changed
// is found by Verify.
func TestStatementsAreTidied(t *testing.T) {
	dir := t.TempDir()
	s, c := closedLedger(t, dir)
	name := monthFileName(c.Scope, c.Month)
	path := func(name string) string { return filepath.Join(dir, statementsDir, name) }
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, leftover := range []string{"2026-10-USD-00000000.jsonl.gz", "x" + writingSuffix} {
		if err := os.WriteFile(path(leftover), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, problems := opened(t, dir)
	if len(problems) != 1 || problems[0].Kind != LeftoverFiles || !strings.Contains(problems[0].File, "2026-10-USD-00000000") {
		t.Errorf("problems %v, want the leftover", problems)
	}
	if _, err := os.Stat(path("x" + writingSuffix)); err == nil {
		t.Error("an unfinished file is still there")
	}
	if err := s.Verify(context.Background(), c); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path(name), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	s, problems = opened(t, dir)
	if len(problems) != 1 || problems[0].Kind != MissingFiles || problems[0].File != path(name) {
		t.Errorf("problems %v, want the missing file", problems)
	}
	if err := s.Verify(context.Background(), c); err == nil {
		t.Error("statements that are not there are verified")
	}
}

// TestStatementsAreReadByAnyGunzip: the file of a month is a run of gzip members.
func TestStatementsAreReadByAnyGunzip(t *testing.T) {
	dir := t.TempDir()
	s, c := closedLedger(t, dir)
	var all strings.Builder
	for _, d := range c.Statements {
		r, err := s.Statement(context.Background(), c, d.Payer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := gunzip(filepath.Join(dir, statementsDir, monthFileName(c.Scope, c.Month)))
	if err != nil || whole != all.String() || whole == "" {
		t.Errorf("%v: the file has %d bytes, its statements %d", err, len(whole), all.Len())
	}
}

func gunzip(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(zip)
	return string(b), err
}
