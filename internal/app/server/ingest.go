// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// IngestConfig are the limits of taking deliveries. Zero values take the defaults.
type IngestConfig struct {
	// Linger is how long the first delivery of a group waits for others (500 ms,
	// at most 1 s): one commit serves them all.
	Linger time.Duration
	// GroupRows is the number of rows at which a group is written at once (50,000).
	GroupRows int
	// QueueRows bounds what waits to be written (500,000 rows). What does not fit
	// is told to come again.
	QueueRows int
	// CheckpointEvery is how long an accepted batch waits to become durable (10 s).
	CheckpointEvery time.Duration
	// Seen, where it is set, is handed what was written, new or not, in order and
	// before the callers are answered. It must not take long.
	Seen func([]usage.Batch)
	Log  *slog.Logger
}

func (c IngestConfig) withDefaults() IngestConfig {
	if c.Linger <= 0 {
		c.Linger = 500 * time.Millisecond
	}
	c.Linger = min(c.Linger, time.Second)
	if c.GroupRows <= 0 {
		c.GroupRows = 50_000
	}
	if c.QueueRows <= 0 {
		c.QueueRows = 500_000
	}
	if c.CheckpointEvery <= 0 {
		c.CheckpointEvery = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Ingest takes deliveries from any number of callers and writes them in groups,
// from one goroutine (Run).
type Ingest struct {
	journal Journal
	cfg     IngestConfig
	queue   chan *delivery

	mu    sync.Mutex
	rows  int // waiting
	ended bool
	stats IngestStatus

	// Of Run alone.
	dirty          bool
	nextCheckpoint time.Time
}

// delivery is one caller's batches on their way.
type delivery struct {
	batches []usage.Batch
	index   []int // of each, in what the caller gave
	rows    int
	refused []journal.Refusal
	done    chan error
}

// IngestStatus counts since the start.
type IngestStatus struct {
	Deliveries uint64 `json:"deliveries"`
	// Batches were taken for the first time, Duplicates had been taken before.
	Batches    uint64 `json:"batches"`
	Duplicates uint64 `json:"duplicates"`
	// Refused counts batches that break a rule, by code.
	Refused map[string]uint64 `json:"refused"`
	// Busy counts deliveries that were told to come again.
	Busy             uint64    `json:"busy"`
	Groups           uint64    `json:"groups"`
	WriteErrors      uint64    `json:"write_errors"`
	Checkpoints      uint64    `json:"checkpoints"`
	CheckpointErrors uint64    `json:"checkpoint_errors"`
	QueuedRows       int       `json:"queued_rows"`
	LastError        string    `json:"last_error,omitempty"`
	LastWrite        time.Time `json:"last_write,omitzero"`
	LastCheckpoint   time.Time `json:"last_checkpoint,omitzero"`
}

// NewIngest takes deliveries for a journal. Nothing is written before Run.
func NewIngest(j Journal, cfg IngestConfig) *Ingest {
	return &Ingest{journal: j, cfg: cfg.withDefaults(), queue: make(chan *delivery, 4096),
		stats: IngestStatus{Refused: map[string]uint64{}}}
}

// Status returns the counts.
func (i *Ingest) Status() IngestStatus {
	i.mu.Lock()
	defer i.mu.Unlock()
	st := i.stats
	st.QueuedRows, st.Refused = i.rows, map[string]uint64{}
	for code, n := range i.stats.Refused {
		st.Refused[code] = n
	}
	return st
}

// Take checks batches, waits until those that pass are written, and tells how
// all batches of their sources stand. A batch that breaks a rule is refused by
// name and is in nobody's way. A *journal.Busy says that nothing was taken for
// certain, and when to come again: what was written all the same will be known.
func (i *Ingest) Take(ctx context.Context, batches []usage.Batch) (journal.Receipt, error) {
	d := &delivery{done: make(chan error, 1)}
	for n := range batches {
		if r := examine(&batches[n], n); r != nil {
			d.refused = append(d.refused, *r)
			continue
		}
		d.batches, d.index = append(d.batches, batches[n]), append(d.index, n)
		d.rows += rowsOf(&batches[n])
	}
	if len(d.batches) > 0 {
		if err := i.enqueue(d); err != nil {
			return journal.Receipt{}, err
		}
		select {
		case err := <-d.done:
			if err != nil {
				return journal.Receipt{}, err
			}
		case <-ctx.Done():
			return journal.Receipt{}, ctx.Err()
		}
	}
	i.count(func(s *IngestStatus) {
		s.Deliveries++
		for _, r := range d.refused {
			s.Refused[r.Code]++
		}
	})
	return journal.Receipt{Acks: i.acksOf(batches), Refused: d.refused}, nil
}

// rowsOf is how many rows a batch becomes.
func rowsOf(b *usage.Batch) int {
	return 1 + len(b.Partitions) + len(b.Holders) + len(b.Grants) + len(b.Pods) + len(b.Findings)
}

func (i *Ingest) enqueue(d *delivery) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		i.stats.Busy++
		return &journal.Busy{After: 5 * time.Second, Why: "the server is stopping"}
	}
	full := i.rows > 0 && i.rows+d.rows > i.cfg.QueueRows
	if !full {
		select {
		case i.queue <- d:
			i.rows += d.rows
			return nil
		default:
		}
	}
	i.stats.Busy++
	return &journal.Busy{After: 2 * time.Second, Why: "more is waiting to be written than there is room for"}
}

// Acks tells how all batches of an agent stand.
func (i *Ingest) Acks(agent string) []journal.Ack {
	return shorten(i.journal.Acks(agent))
}

// acksOf are the acknowledgements of the sources of some batches.
func (i *Ingest) acksOf(batches []usage.Batch) []journal.Ack {
	wanted, agents := map[journal.Source]bool{}, []string{}
	for n := range batches {
		src := journal.SourceOf(&batches[n])
		if !wanted[src] {
			wanted[src] = true
			agents = append(agents, src.Agent)
		}
	}
	out := []journal.Ack{}
	for _, agent := range agents {
		for _, ack := range i.journal.Acks(agent) {
			if wanted[ack.Source] {
				wanted[ack.Source] = false
				out = append(out, ack)
			}
		}
	}
	return shorten(out)
}

// maxRanges bounds the missing ranges that an answer names.
const maxRanges = 256

func shorten(acks []journal.Ack) []journal.Ack {
	for n := range acks {
		acks[n].Accepted, acks[n].Durable = acks[n].Accepted.AtMost(maxRanges), acks[n].Durable.AtMost(maxRanges)
	}
	return acks
}

func (i *Ingest) count(f func(*IngestStatus)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(&i.stats)
}

// Run writes what Take brings until ctx ends; then it writes what waits, makes
// it durable and returns nil. A store that can go on no more ends it with an
// error: the program should end too, and be started again.
func (i *Ingest) Run(ctx context.Context) error {
	defer i.abandon()
	work := context.WithoutCancel(ctx) // what is begun when ctx ends is done, too
	for {
		select {
		case <-ctx.Done():
			return i.finish(work)
		case d := <-i.queue:
			if err := i.write(work, i.collect(ctx, d)); err != nil {
				return err
			}
		case <-i.due():
		}
		if i.dirty && !time.Now().Before(i.nextCheckpoint) {
			if err := i.checkpoint(work); err != nil {
				return err
			}
		}
	}
}

// due fires when a checkpoint is due; never while there is nothing to do.
func (i *Ingest) due() <-chan time.Time {
	if !i.dirty {
		return nil
	}
	return time.After(time.Until(i.nextCheckpoint))
}

// collect waits for more deliveries until the group is large or old enough.
func (i *Ingest) collect(ctx context.Context, first *delivery) []*delivery {
	group, rows := []*delivery{first}, first.rows
	timer := time.NewTimer(i.cfg.Linger)
	defer timer.Stop()
	for rows < i.cfg.GroupRows {
		select {
		case d := <-i.queue:
			group, rows = append(group, d), rows+d.rows
		case <-timer.C:
			return group
		case <-ctx.Done():
			return group
		}
	}
	return group
}

// finish writes what waits when the server stops.
func (i *Ingest) finish(ctx context.Context) error {
	i.end()
	for {
		select {
		case d := <-i.queue:
			if err := i.write(ctx, []*delivery{d}); err != nil {
				return err
			}
		default:
			if i.dirty {
				return i.checkpoint(ctx)
			}
			return nil
		}
	}
}

// end refuses what comes from here on.
func (i *Ingest) end() {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
}

// abandon tells those who wait after Run failed to come again.
func (i *Ingest) abandon() {
	i.end()
	for {
		select {
		case d := <-i.queue:
			d.done <- &journal.Busy{After: 5 * time.Second, Why: "the server is stopping"}
		default:
			return
		}
	}
}

// write writes a group as one transaction and answers everyone in it.
func (i *Ingest) write(ctx context.Context, group []*delivery) error {
	fresh, total, err := i.store(ctx, group)
	for _, d := range group {
		i.mu.Lock()
		i.rows -= d.rows
		i.mu.Unlock()
		var answer error
		if err != nil {
			answer = &journal.Busy{After: 5 * time.Second, Why: "the store failed: " + err.Error()}
		}
		d.done <- answer
	}
	if err != nil {
		i.cfg.Log.Error("deliveries could not be written; agents will send them again", "deliveries", len(group), "error", err)
		i.count(func(s *IngestStatus) { s.WriteErrors++; s.LastError = err.Error() })
		if errors.Is(err, journal.ErrBroken) {
			return fmt.Errorf("write deliveries: %w", err)
		}
		return nil
	}
	if fresh > 0 && !i.dirty {
		i.dirty, i.nextCheckpoint = true, time.Now().Add(i.cfg.CheckpointEvery)
	}
	i.count(func(s *IngestStatus) {
		s.Groups++
		s.Batches += uint64(fresh)
		s.Duplicates += uint64(total - fresh)
		s.LastWrite, s.LastError = time.Now(), ""
	})
	return nil
}

// store appends the batches of a group, without those that the store refuses.
func (i *Ingest) store(ctx context.Context, group []*delivery) (fresh, total int, err error) {
	var all []usage.Batch
	var from []origin
	for _, d := range group {
		for n := range d.batches {
			all, from = append(all, d.batches[n]), append(from, origin{d, d.index[n]})
		}
	}
	for {
		fresh, err = i.journal.Append(ctx, all)
		var r *journal.Refusal
		if !errors.As(err, &r) || r.Index < 0 || r.Index >= len(all) {
			if err == nil && i.cfg.Seen != nil {
				i.cfg.Seen(all)
			}
			return fresh, len(all), err
		}
		at := r.Index
		refusal := *r
		refusal.Index = from[at].index
		from[at].delivery.refused = append(from[at].delivery.refused, refusal)
		i.cfg.Log.Warn("batch refused", "agent", r.Agent, "boot", r.Boot, "seq", r.Seq, "code", r.Code, "detail", r.Detail)
		all, from = append(all[:at], all[at+1:]...), append(from[:at], from[at+1:]...)
	}
}

// origin says whose batch it is, and which of that one's.
type origin struct {
	delivery *delivery
	index    int
}

// checkpoint makes durable what was written. One that fails is tried again
// later: agents keep what is not durable.
func (i *Ingest) checkpoint(ctx context.Context) error {
	err := i.journal.Checkpoint(ctx)
	i.nextCheckpoint = time.Now().Add(i.cfg.CheckpointEvery)
	if err == nil {
		i.dirty = false
		i.count(func(s *IngestStatus) { s.Checkpoints++; s.LastCheckpoint = time.Now() })
		return nil
	}
	i.count(func(s *IngestStatus) { s.CheckpointErrors++; s.LastError = err.Error() })
	if errors.Is(err, journal.ErrBroken) {
		return err
	}
	i.cfg.Log.Warn("checkpoint failed; agents keep what is not durable", "error", err)
	return nil
}
