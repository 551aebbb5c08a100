// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// crashed is a copy of a journal as an accident leaves it: 20 batches
// checkpointed, 20 more only in the log, one transaction each.
func crashed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, data := range crash(t) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// crashFiles are the files of a crashed journal, made once.
var crashFiles map[string][]byte

func crash(t *testing.T) map[string][]byte {
	t.Helper()
	if crashFiles != nil {
		return crashFiles
	}
	dir := t.TempDir()
	s, _ := opened(t, dir)
	add := func(from, to uint64) {
		for seq := from; seq <= to; seq++ {
			if _, err := s.Append(context.Background(), []usage.Batch{storetest.Minute("a", "b", seq, 2, 2)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1, 20)
	if err := s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	add(21, 40)
	files := map[string][]byte{}
	for _, name := range []string{databaseFile, databaseFile + logSuffix} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	crashFiles = files
	return files
}

func ackOf(s *Store) journal.Ack { return s.Ack(journal.Source{Agent: "a", Boot: "b"}) }

// change alters the log of a crashed journal.
func change(t *testing.T, dir string, f func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, databaseFile+logSuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(data), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestCrashLosesNothingAccepted(t *testing.T) {
	s, problems := opened(t, crashed(t))
	if a := ackOf(s); len(problems) != 0 || a.Accepted.Seq != 40 || a.Durable.Seq != 40 {
		t.Errorf("%+v, problems %v; want all 40 accepted, and durable by the checkpoint of the open", a, problems)
	}
}

// TestTornLog: the log ends in the middle of a transaction, at any byte. What
// was whole before is there.
func TestTornLog(t *testing.T) {
	for _, part := range []int{1, 40, 77, 99} {
		dir := crashed(t)
		change(t, dir, func(b []byte) []byte { return b[:len(b)*part/100] })
		s, problems := opened(t, dir)
		a := ackOf(s)
		if len(problems) > 0 || a.Accepted.Seq < 20 || a.Accepted.Seq >= 40 || len(a.Accepted.Missing) > 0 {
			t.Errorf("log cut at %d %%: %+v, problems %v", part, a, problems)
		}
		checkResend(t, s)
	}
}

// TestFlippedByteInTheLog: wherever it is, the journal opens, nothing durable is
// missing, and what is sent again makes it whole. The log is kept.
func TestFlippedByteInTheLog(t *testing.T) {
	set := 0
	for _, part := range []int{0, 3, 25, 60, 90} {
		dir := crashed(t)
		change(t, dir, func(b []byte) []byte { b[len(b)*part/100+9] ^= 0x40; return b })
		s, problems := opened(t, dir)
		a := ackOf(s)
		if a.Accepted.Seq < 20 || len(a.Accepted.Missing) > 0 {
			t.Errorf("byte at %d %% flipped: %+v, problems %v", part, a, problems)
		}
		for _, p := range problems {
			if _, err := os.Stat(p.File); err != nil || p.Kind != CorruptLog || !strings.Contains(p.File, ".wal.corrupt-") {
				t.Errorf("problem %+v: %v", p, err)
			}
			set++
		}
		checkResend(t, s)
	}
	if set == 0 {
		t.Error("no log was set aside: none of the flipped bytes was noticed")
	}
	t.Logf("%d of 5 logs were set aside", set)
}

// checkResend sends all again and looks whether each is there once.
func checkResend(t *testing.T, s *Store) {
	t.Helper()
	before := ackOf(s).Accepted.Seq
	var all []usage.Batch
	for seq := uint64(1); seq <= 40; seq++ {
		all = append(all, storetest.Minute("a", "b", seq, 2, 2))
	}
	n, err := s.Append(context.Background(), all)
	if err != nil || uint64(n) != 40-before {
		t.Errorf("%d new of 40 after %d: %v", n, before, err)
	}
	total, err := s.Totals(context.Background(), everyHour[0], everyHour[1])
	if err != nil || total.Batches != 40 || total.Holders != 160 || !total.Balanced() {
		t.Errorf("totals %+v, %v", total, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReplayWithoutMemoryIsNoDamage: a log that cannot be replayed for want of
// memory is whole: it must not be set aside.
func TestReplayWithoutMemoryIsNoDamage(t *testing.T) {
	for text, corrupt := range map[string]bool{
		`IO Error: Corrupt WAL file: entry at byte position 4242 computed checksum 1 does not match stored checksum 2`: true,
		`Failure while replaying WAL file "x.wal": Serialization Error: Failed to deserialize: field id mismatch`:      true,
		`Failure while replaying checkpoint WAL file "x.wal": checkpoint WAL cannot contain a checkpoint marker`:       true,
		`IO Error: Corrupt Encrypted WAL file: entry size exceeded remaining data in file at byte position 1`:          true,
		`IO Error: Cannot open file "x.wal": Permission denied`:                                                        false,
		`Failure while replaying WAL file "x.wal": Out of Memory Error: failed to pin block of size 256.0 KiB`:         false,
		`IO Error: Could not set lock on file "x": Conflicting lock is held in /bin/x (PID 1)`:                         false,
		`Failure while replaying WAL file "x.wal": IO Error: Could not write file "x": No space left on device`:        false,
	} {
		if isCorruptLog(textError(text)) != corrupt {
			t.Errorf("%q: corrupt %v, want %v", text, !corrupt, corrupt)
		}
	}
}

type textError string

func (e textError) Error() string { return string(e) }

// TestSecondProcessIsToldWhoHasIt: only one process has the journal open; the
// next one learns which.
func TestSecondProcessIsToldWhoHasIt(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GPUTALLY_TEST_STORE_WRITER="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has it open") || !strings.Contains(string(out), "API") {
		t.Errorf("%v: %s; want who has it open and a word about the API", err, out)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestDirectoryNamesThatDoNotWork(t *testing.T) {
	_, _, err := Open(context.Background(), filepath.Join(t.TempDir(), "a?b"), Options{})
	if err == nil || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("%v", err)
	}
}

// tearFirst spoils the checksum of the first block, which has metadata, as a
// write of it that was cut off does.
func tearFirst(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, databaseFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[blocksBegin] ^= 0xFF
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
}

// TestTornBlockIsMended, with everything in it, where a checkpoint can have been
// cut off; where none can, the file is damaged and says so.
func TestTornBlockIsMended(t *testing.T) {
	dir := crashed(t)
	tearFirst(t, dir)
	s, problems := opened(t, dir)
	if a := ackOf(s); len(problems) != 1 || problems[0].Kind != TornBlock || a.Accepted.Seq != 40 || a.Durable.Seq != 40 {
		t.Errorf("%+v, problems %+v", a, problems)
	}
	if info, err := os.Stat(problems[0].File); err != nil || info.Size() != blockSize {
		t.Errorf("the block as it was: %v", err)
	}
	checkResend(t, s)

	dir = crashed(t)
	tearFirst(t, dir)
	if err := os.Remove(filepath.Join(dir, databaseFile+logSuffix)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(context.Background(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "restore the last backup") {
		t.Errorf("without a log: %v, want a word about the backup", err)
	}
}
