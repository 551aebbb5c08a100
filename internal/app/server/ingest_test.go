// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// memory is a journal in memory, whose failures the tests choose.
type memory struct {
	mu          sync.Mutex
	marks       map[journal.Source]journal.Ack
	groups      [][]usage.Batch
	checkpoints int
	fail        error         // of Append
	failCheck   error         // of Checkpoint
	refuse      uint64        // a sequence number
	slow        time.Duration // of Append
}

func newMemory() *memory { return &memory{marks: map[journal.Source]journal.Ack{}} }

func (m *memory) Append(ctx context.Context, batches []usage.Batch) (fresh int, err error) {
	time.Sleep(m.slow)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return 0, m.fail
	}
	for i := range batches {
		if batches[i].Seq == m.refuse {
			return 0, &journal.Refusal{Source: journal.SourceOf(&batches[i]), Seq: m.refuse, Index: i, Code: journal.RefusedByStore, Detail: "no"}
		}
	}
	for i := range batches {
		src := journal.SourceOf(&batches[i])
		ack := m.marks[src]
		next, isNew := ack.Accepted.With(batches[i].Seq)
		if isNew {
			fresh++
		}
		ack.Source, ack.Accepted = src, next
		m.marks[src] = ack
	}
	m.groups = append(m.groups, append([]usage.Batch{}, batches...))
	return fresh, nil
}

func (m *memory) Checkpoint(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failCheck != nil {
		return m.failCheck
	}
	m.checkpoints++
	for src, ack := range m.marks {
		ack.Durable = ack.Accepted
		m.marks[src] = ack
	}
	return nil
}

func (m *memory) Acks(agent string) (out []journal.Ack) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for src, ack := range m.marks {
		if src.Agent == agent {
			out = append(out, ack)
		}
	}
	return out
}

func (m *memory) set(f func()) { m.mu.Lock(); defer m.mu.Unlock(); f() }

func (m *memory) count() (n int) { m.set(func() { n = m.checkpoints }); return n }

func sound(agent string, seq uint64) usage.Batch {
	return usage.Batch{Version: usage.BatchVersion, Node: "n", Agent: agent, Boot: "b", Seq: seq, StartMS: 1000, DurationMS: 10}
}

// running runs f against an Ingest that runs, in time of its own.
func running(t *testing.T, m *memory, cfg IngestConfig, f func(t *testing.T, i *Ingest, stop func() error)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		i := NewIngest(m, cfg)
		ended := make(chan error, 1)
		go func() { ended <- i.Run(ctx) }()
		var once sync.Once
		var err error
		stop := func() error {
			once.Do(func() { cancel(); err = <-ended })
			return err
		}
		f(t, i, stop)
		_ = stop() // looked at by those who care
	})
}

// TestOneCommitServesMany: deliveries that come together are one group, and wait
// no longer than Linger.
func TestOneCommitServesMany(t *testing.T) {
	m := newMemory()
	running(t, m, IngestConfig{Linger: 300 * time.Millisecond}, func(t *testing.T, i *Ingest, _ func() error) {
		began := time.Now()
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				r, err := i.Take(t.Context(), []usage.Batch{sound(fmt.Sprint("a", n), 1), sound(fmt.Sprint("a", n), 1)})
				if err != nil || len(r.Acks) != 1 || !r.Acks[0].Accepted.Has(1) || r.Acks[0].Durable.Has(1) {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d != 300*time.Millisecond {
			t.Errorf("answered after %s, want Linger", d)
		}
		if st := i.Status(); len(m.groups) != 1 || st.Groups != 1 || st.Batches != 20 || st.Duplicates != 20 || st.QueuedRows != 0 {
			t.Errorf("%d groups, %+v", len(m.groups), st)
		}
	})
}

// TestStopWritesWhatWaits: what was taken when the server is told to stop is
// written, made durable and acknowledged.
func TestStopWritesWhatWaits(t *testing.T) {
	m := newMemory()
	running(t, m, IngestConfig{Linger: time.Second, CheckpointEvery: time.Hour}, func(t *testing.T, i *Ingest, stop func() error) {
		taken := make(chan error, 2)
		for seq := range uint64(2) {
			go func() {
				_, err := i.Take(t.Context(), []usage.Batch{sound("a", seq+1)})
				taken <- err
			}()
		}
		synctest.Wait() // the group is being collected
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-taken; err != nil {
				t.Error(err)
			}
		}
		if acks := i.Acks("a"); len(acks) != 1 || !acks[0].Durable.Has(2) || m.count() != 1 {
			t.Errorf("%+v after %d checkpoints", acks, m.count())
		}
	})
}

// TestFullGroupDoesNotWait.
func TestFullGroupDoesNotWait(t *testing.T) {
	running(t, newMemory(), IngestConfig{Linger: time.Second, GroupRows: 2}, func(t *testing.T, i *Ingest, _ func() error) {
		began := time.Now()
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 1), sound("a", 2)}); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestDurableFollows: a checkpoint comes CheckpointEvery after the first batch
// that is not durable, and none comes while all is.
func TestDurableFollows(t *testing.T) {
	m := newMemory()
	running(t, m, IngestConfig{CheckpointEvery: 10 * time.Second}, func(t *testing.T, i *Ingest, stop func() error) {
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 1)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if m.count() != 0 {
			t.Error("a checkpoint came early")
		}
		time.Sleep(2 * time.Second)
		if !i.Acks("a")[0].Durable.Has(1) {
			t.Error("not durable after CheckpointEvery")
		}
		time.Sleep(time.Hour)
		if m.count() != 1 {
			t.Errorf("%d checkpoints while nothing came, want 1", m.count())
		}
		m.set(func() { m.failCheck = errors.New("disk full") })
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 2)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		if st := i.Status(); st.CheckpointErrors != 2 || i.Acks("a")[0].Durable.Has(2) {
			t.Errorf("%+v", st)
		}
		m.set(func() { m.failCheck = nil })
		if err := stop(); err != nil || m.count() != 2 {
			t.Errorf("at the end %d checkpoints, %v", m.count(), err)
		}
	})
}

// TestPoisonIsRefusedByName: a batch that breaks a rule, or that the store cannot
// hold, takes nobody with it, in its delivery or in others.
func TestPoisonIsRefusedByName(t *testing.T) {
	m := newMemory()
	m.refuse = 66
	running(t, m, IngestConfig{}, func(t *testing.T, i *Ingest, _ func() error) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if r, err := i.Take(t.Context(), []usage.Batch{sound("other", 1)}); err != nil || len(r.Refused) > 0 {
				t.Errorf("%+v %v", r, err)
			}
		})
		bad := sound("a", 2)
		bad.DurationMS = -1
		r, err := i.Take(t.Context(), []usage.Batch{sound("a", 1), bad, sound("a", 3), sound("a", 66), sound("a", 67)})
		wg.Wait()
		if err != nil || len(r.Refused) != 2 {
			t.Fatalf("%+v %v, want two refused", r, err)
		}
		if first, second := r.Refused[0], r.Refused[1]; first.Index != 1 || first.Seq != 2 || first.Code != journal.RefusedInvalid || !strings.Contains(first.Detail, "duration") ||
			second.Index != 3 || second.Seq != 66 || second.Code != journal.RefusedByStore {
			t.Errorf("refused %+v", r.Refused)
		}
		for seq, want := range map[uint64]bool{1: true, 2: false, 3: true, 66: false, 67: true} {
			if r.Acks[0].Accepted.Has(seq) != want {
				t.Errorf("%d accepted %v, want %v", seq, !want, want)
			}
		}
		if st := i.Status(); st.Refused[journal.RefusedInvalid] != 1 || st.Refused[journal.RefusedByStore] != 1 || st.Batches != 4 {
			t.Errorf("%+v", st)
		}
	})
}

func TestNamesAndTimesAreChecked(t *testing.T) {
	for field, change := range map[string]func(*usage.Batch){
		"agent is empty":       func(b *usage.Batch) { b.Agent = "" },
		"boot has 300 bytes":   func(b *usage.Batch) { b.Boot = strings.Repeat("x", 300) },
		"control characters":   func(b *usage.Batch) { b.Node = "a\nb" },
		"start_ms":             func(b *usage.Batch) { b.StartMS = -1 },
		"version 2":            func(b *usage.Batch) { b.Version = 2 },
		"sequence number is 0": func(b *usage.Batch) { b.Seq = 0 },
	} {
		b := sound("a", 1)
		change(&b)
		if r := examine(&b, 0); r == nil || !strings.Contains(r.Detail, field) {
			t.Errorf("%s: %v", field, r)
		}
	}
}

// TestBackpressure: what does not fit in the queue is told to come again, at
// once, and what waits is written.
func TestBackpressure(t *testing.T) {
	m := newMemory()
	m.slow = time.Minute
	running(t, m, IngestConfig{QueueRows: 3, Linger: time.Millisecond}, func(t *testing.T, i *Ingest, _ func() error) {
		took := make(chan error, 3)
		for n := range 3 {
			go func() {
				_, err := i.Take(t.Context(), []usage.Batch{sound(fmt.Sprint("a", n), 1)})
				took <- err
			}()
		}
		synctest.Wait()
		_, err := i.Take(t.Context(), []usage.Batch{sound("late", 1)})
		var busy *journal.Busy
		if !errors.As(err, &busy) || busy.After <= 0 {
			t.Errorf("%v, want busy", err)
		}
		for range 3 {
			if err := <-took; err != nil {
				t.Error(err)
			}
		}
		if _, err := i.Take(t.Context(), []usage.Batch{sound("late", 1)}); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

// TestStoreFails: everybody is told to come again; a store that is beyond use
// ends the loop, and then everybody too.
func TestStoreFails(t *testing.T) {
	m := newMemory()
	running(t, m, IngestConfig{}, func(t *testing.T, i *Ingest, stop func() error) {
		var busy *journal.Busy
		m.set(func() { m.fail = errors.New("disk full") })
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 1)}); !errors.As(err, &busy) || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%v", err)
		}
		m.set(func() { m.fail = fmt.Errorf("%w: out of memory", journal.ErrBroken) })
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 1)}); !errors.As(err, &busy) {
			t.Errorf("%v", err)
		}
		if err := stop(); !errors.Is(err, journal.ErrBroken) {
			t.Errorf("Run returned %v", err)
		}
		if _, err := i.Take(t.Context(), []usage.Batch{sound("a", 1)}); !errors.As(err, &busy) || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("after the end: %v", err)
		}
	})
}
