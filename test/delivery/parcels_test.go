// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// The fleet's history: two days of three nodes, of which one has its agent down
// for hours. The days are long over, so that everything can be rated at once, and
// lie in two months.
var (
	onceFrom = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	onceTo   = onceFrom.AddDate(0, 0, onceDays)
)

const (
	onceDays = 2
	// leadDays are left out: the days are those in which most happens.
	leadDays = 20
)

// historyOf makes the records, by node.
var historyOf = sync.OnceValue(func() map[string][]usage.Batch {
	out := map[string][]usage.Batch{}
	f := history.New(11, onceFrom.AddDate(0, 0, -leadDays), onceTo)
	for _, n := range f.Nodes() {
		for b := range f.Batches(n.Name) {
			if b.StartMS >= onceFrom.UnixMilli() {
				out[n.Name] = append(out[n.Name], b)
			}
		}
	}
	return out
})

// parcels is what an agent has to ship, as it comes in: a queue of the shipping
// loop in memory, which outlives the loop as a spool does.
type parcels struct {
	mu    sync.Mutex
	all   []ship.Entry // in the order in which they come in
	there int          // how many did so far
	acked ship.Position
}

// parcelsOf queues batches.
func parcelsOf(t *testing.T, batches []usage.Batch) *parcels {
	t.Helper()
	p := &parcels{}
	for i := range batches {
		text, err := json.Marshal(&batches[i])
		if err != nil {
			t.Fatal(err)
		}
		p.all = append(p.all, ship.Entry{Source: journal.SourceOf(&batches[i]), Seq: batches[i].Seq, Payload: text, Next: ship.Position{Segment: 1, Offset: int64(i + 1)}})
	}
	return p
}

// disturbed are batches in another order: each up to about a day later than its
// turn, and those before a time after all others.
func disturbed(rnd *rand.Rand, batches []usage.Batch, last time.Time) []usage.Batch {
	turn := func(b *usage.Batch) int64 {
		if b.StartMS < last.UnixMilli() {
			return onceTo.UnixMilli() + b.StartMS
		}
		return b.StartMS
	}
	at := map[string]int64{}
	for i := range batches {
		at[name(batches[i])] = turn(&batches[i])
		if rnd.IntN(4) == 0 {
			at[name(batches[i])] += rnd.Int64N((24 * time.Hour).Milliseconds())
		}
	}
	out := slices.Clone(batches)
	slices.SortStableFunc(out, func(a, b usage.Batch) int { return int(at[name(a)] - at[name(b)]) })
	return out
}

// come lets the first n of all be there, out of so many.
func (p *parcels) come(n, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.there = max(p.there, len(p.all)*n/of)
}

// some draws from what is there, in any order and now and then one twice.
func (p *parcels) some(rnd *rand.Rand, n int) (out [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		if p.there > 0 {
			out = append(out, p.all[rnd.IntN(p.there)].Payload)
		}
	}
	return out
}

// unacked is how many are there and not durable.
func (p *parcels) unacked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.there - int(p.acked.Offset)
}

// Acked is a method of ship.Queue.
func (p *parcels) Acked() ship.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked
}

// Ack is a method of ship.Queue.
func (p *parcels) Ack(at ship.Position) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked = at
	return nil
}

// Walk is a method of ship.Queue.
func (p *parcels) Walk(from ship.Position) ship.Walk {
	return &parcelWalk{of: p, next: int(from.Offset)}
}

type parcelWalk struct {
	of   *parcels
	next int
}

// Next is a method of ship.Walk.
func (w *parcelWalk) Next() (ship.Entry, error) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.next >= w.of.there {
		return ship.Entry{}, io.EOF
	}
	w.next++
	return w.of.all[w.next-1], nil
}

// Close is a method of ship.Walk.
func (w *parcelWalk) Close() error { return nil }
