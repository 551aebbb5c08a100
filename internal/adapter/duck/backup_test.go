// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// filled is a journal with a sealed hour, one sealed twice, and one open.
func filled(t *testing.T, dir string) *Store {
	t.Helper()
	s, _ := opened(t, dir)
	add(t, s, 1, 150)
	hour := time.UnixMilli(storetest.Start)
	for _, h := range []time.Time{hour, hour.Add(time.Hour)} {
		if err := s.Seal(context.Background(), h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(context.Background(), []usage.Batch{storetest.Minute("late", "b", 3, 1, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(context.Background(), hour); err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Store, from, to uint64) {
	t.Helper()
	var group []usage.Batch
	for seq := from; seq <= to; seq++ {
		group = append(group, storetest.Minute("a", "b", seq, 1, 2))
	}
	if _, err := s.Append(context.Background(), group); err != nil {
		t.Fatal(err)
	}
}

// TestBackupWhileWriting: a backup of a journal in use is one moment of it, and
// a restored one goes on from there.
func TestBackupWhileWriting(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, filepath.Join(dir, "live"))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for seq := uint64(151); ; seq++ {
			select {
			case <-stop:
				return
			default:
				add(t, s, seq, seq)
			}
		}
	}()
	b, err := s.Backup(context.Background(), filepath.Join(dir, "backup"))
	close(stop)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	if b.Totals.Batches < 151 || !b.Totals.Balanced() || len(b.Sealed) != 2 {
		t.Errorf("backup %+v", b)
	}
	if _, err := s.Backup(context.Background(), filepath.Join(dir, "backup")); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second backup into the same directory: %v", err)
	}
	if _, err := Restore(context.Background(), filepath.Join(dir, "backup"), filepath.Join(dir, "restored")); err != nil {
		t.Fatal(err)
	}
	r, problems := opened(t, filepath.Join(dir, "restored"))
	if a := ackOf(r); len(problems) != 0 || int64(a.Accepted.Seq) != b.Totals.Batches-1 {
		t.Errorf("restored: %+v, problems %v; the backup has %d batches", a, problems, b.Totals.Batches)
	}
	add(t, r, 1, 400)
	if total, err := r.Totals(context.Background(), everyHour[0], everyHour[1]); err != nil || total.Batches != 401 || !total.Balanced() {
		t.Errorf("all sent again: %+v %v", total, err)
	}
}

// TestRestoreRefuses what is no whole backup, and to overwrite anything.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, filepath.Join(dir, "live"))
	backup := filepath.Join(dir, "backup")
	b, err := s.Backup(context.Background(), backup)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name, says string) {
		t.Helper()
		if _, err := Restore(context.Background(), backup, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
	refused("live", "not empty")
	damaged := filepath.Join(backup, sealedDir, b.Sealed[0], holderTable.name+parquetSuffix)
	if err := os.Remove(damaged); err != nil {
		t.Fatal(err)
	}
	refused("without a file", damaged)
	if err := os.Remove(filepath.Join(backup, manifestFile)); err != nil {
		t.Fatal(err)
	}
	refused("without manifest", "no whole backup")
}

// TestTidy: files of a seal that was interrupted go or are set aside, those that
// count stay, those that should be there and are not are told.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, dir)
	total, err := s.Totals(context.Background(), everyHour[0], everyHour[1])
	if err != nil {
		t.Fatal(err)
	}
	named, err := s.sealedNames(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var counts string // sealed twice
	for _, d := range named {
		if generation(d) == 2 {
			counts = d
		}
	}
	hour, _, _ := strings.Cut(counts, ".")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hour + ".1", hour + ".3", hour + ".4" + writingSuffix} {
		if err := os.MkdirAll(filepath.Join(dir, sealedDir, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	s, problems := opened(t, dir)
	if len(problems) != 1 || problems[0].Kind != LeftoverFiles || !strings.HasSuffix(problems[0].File, hour+".3"+asideSuffix) {
		t.Errorf("problems %+v, want one about the leftover of generation 3", problems)
	}
	for name, there := range map[string]bool{counts: true, hour + ".1": false, hour + ".3" + asideSuffix: true, hour + ".4" + writingSuffix: false} {
		if _, err := os.Stat(filepath.Join(dir, sealedDir, name)); (err == nil) != there {
			t.Errorf("%s: there %v, want %v", name, err == nil, there)
		}
	}
	if again, err := s.Totals(context.Background(), everyHour[0], everyHour[1]); err != nil || again != total {
		t.Errorf("totals %+v (%v), before %+v", again, err, total)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, sealedDir, counts), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	_, problems = opened(t, dir)
	if len(problems) != 1 || problems[0].Kind != MissingFiles {
		t.Errorf("problems %+v, want the missing files", problems)
	}
}
