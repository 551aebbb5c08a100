// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gputally/gputally/internal/core/usage"
)

// room says how large a file of the running server's may get. One that may not
// grow is to a program what a full disk is.
func (s *ledgerServer) room(bytes uint64) {
	s.t.Helper()
	var was unix.Rlimit
	s.must(unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &was))
	s.must(unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: min(bytes, was.Max), Max: was.Max}, nil))
}

// largest is the size of the database's largest file.
func (s *ledgerServer) largest() (n uint64) {
	s.t.Helper()
	for _, name := range []string{"journal.duckdb", "journal.duckdb.wal"} {
		if info, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			n = max(n, uint64(info.Size()))
		}
	}
	return n
}

// up waits until the process answers, and says whether it does: it may end.
func (s *ledgerServer) up() bool {
	for {
		if _, err := s.get("/healthz"); err == nil {
			return true
		}
		select {
		case <-s.ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// refusing waits until agents are told that there is no room, and returns how many
// processes it took: one that cannot finish a checkpoint ends, and another is
// started, as a supervisor does.
func (o *once) refusing(limit uint64) (processes int) {
	o.t.Helper()
	told := func() bool {
		for _, s := range o.senders {
			if strings.Contains(s.shipper.Status().LastError, "File too large") {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(finishWithin); !told(); {
		if time.Now().After(deadline) {
			o.t.Fatalf("no delivery is refused: %s", o.said())
		}
		select {
		case <-o.ended:
			o.kill()
			o.start(leaveRecords...)
			o.room(limit)
			processes++
		case <-time.After(10 * time.Millisecond):
		}
	}
	return processes + 1
}

// TestFullDisk: a server whose files may grow no more refuses deliveries and loses
// nothing. Once there is room, all that waits is taken and rated. One that cannot
// even begin says what to do.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	o := newOnce(t, nil, func(_ int, batches []usage.Batch) []usage.Batch { return batches })
	o.start(leaveRecords...)
	for _, s := range o.senders {
		s.parcels.come(1, 4)
		s.start(50)
	}
	o.wait("accepted", func() int { _, left := o.sent(); return left })
	limit := o.largest() + 64<<10
	o.room(limit)
	for _, s := range o.senders {
		s.parcels.come(1, 1) // much more than there is room for
	}
	processes := o.refusing(limit)
	o.kill()
	o.start(leaveRecords...)
	o.room(limit)
	up := o.up()
	o.kill()
	if said := o.said(); !up && !strings.Contains(said, "make room and start again") {
		t.Errorf("a server that finds no room does not say what to do: %s", said)
	}
	got := o.finish()
	for line := range o.complaints() {
		if !strings.Contains(line, "File too large") {
			t.Errorf("a server said: %s", line)
		}
	}
	want, _ := undisturbed(t)
	want.same(t, &got)
	t.Logf("%d processes took deliveries until there was no room; another one could begin without: %v", processes, up)
}
