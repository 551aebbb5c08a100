// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/usage"
)

// model is a spool under random treatment, and what was asked of it.
type model struct {
	dir  string
	q    *quota
	s    *Spool
	next int // minutes appended so far
	// acked is the last minute that was acknowledged, -1 if none.
	acked int
}

func (m *model) open(t *rapid.T) {
	s, problems, err := Open(m.dir, Options{MaxBytes: 12000, SegmentBytes: 3000, PendingBytes: 6000, disk: m.q})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Fatalf("problem: %v", p)
	}
	m.s = s
}

func (m *model) append(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "batches") {
		_ = m.s.Append(minute(m.next, rapid.IntRange(0, 900).Draw(t, "pad")))
		m.next++
	}
}

// ack acknowledges some of what can be read.
func (m *model) ack(t *rapid.T) {
	r := m.s.Reader(m.s.Acked())
	defer r.Close()
	for range rapid.IntRange(0, 6).Draw(t, "read") {
		e, err := r.Next()
		if err != nil {
			return
		}
		if err := m.s.Ack(e.Next); err != nil {
			t.Fatal(err)
		}
		m.acked = max(m.acked, lastMinute(e.Batch))
	}
}

// room makes the disk fuller or emptier.
func (m *model) room(t *rapid.T) {
	m.q.mu.Lock()
	m.q.left = int64(rapid.SampledFrom([]int{0, 300, 2000, 1 << 20}).Draw(t, "left"))
	m.q.mu.Unlock()
	_ = m.s.Flush()
}

// reopen ends the writer and begins another. A writer that is killed while
// batches wait in memory loses them, so the disk has room first.
func (m *model) reopen(t *rapid.T) {
	m.drain(t)
	if err := m.s.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *model) drain(t *rapid.T) {
	m.q.give(1 << 20)
	for range 20 {
		if m.s.Flush() == nil {
			return
		}
	}
	t.Fatalf("nothing can be written though the disk has room: %+v", m.s.Status())
}

// check reads everything: each minute ever appended is on disk once, or was
// acknowledged, or lies in the time of a gap; no number is there twice.
func (m *model) check(t *rapid.T) {
	there := make([]int, m.next)
	named := make([]bool, m.next)
	rep, err := Verify(m.dir, func(e Entry) error {
		if e.Batch.Gap == nil {
			there[e.Batch.StartMS/60000]++
			return nil
		}
		for i := e.Batch.Gap.StartMS / 60000; i <= int64(lastMinute(e.Batch)); i++ {
			named[i] = true
		}
		if lastMinute(e.Batch) > 0 && e.Batch.ProviderID != "machine" {
			t.Fatalf("a gap up to minute %d does not name the machine: %+v", lastMinute(e.Batch), e.Batch)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.OK() {
		t.Fatalf("verify: %+v", rep)
	}
	for i := range m.next {
		if there[i] > 1 {
			t.Fatalf("minute %d is there %d times", i, there[i])
		}
		if there[i] == 0 && !named[i] && i > m.acked {
			t.Fatalf("minute %d of %d (acknowledged up to %d) is neither there nor named", i, m.next, m.acked)
		}
	}
	if st := m.s.Status(); st.Pending != 0 || st.Bytes > 12000+3000 {
		t.Fatalf("status %+v", st)
	}
}

func lastMinute(b usage.Batch) int { return int((b.StartMS+b.DurationMS)/60000) - 1 }

// Nothing is lost silently, whatever is done: random appends, a disk that
// fills up and gets room, acknowledgements, restarts.
func TestNothingIsLostSilently(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{dir: dir, q: newQuota(1 << 20), acked: -1}
		m.q.lazy = true
		m.open(t)
		defer func() { _ = m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append, "ack": m.ack, "room": m.room, "reopen": m.reopen,
		})
		m.drain(t)
		m.check(t)
	})
}
