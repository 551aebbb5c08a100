// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// stamps number the changes, by the hours that they are about. They are of this process:
// nobody else writes to the database.
type stamps struct {
	mu    sync.Mutex
	last  uint64
	hours map[int32]uint64 // the last change of an hour
	// all is the last change of every hour, early that of every one before first.
	all, early uint64
	first      int32
}

// Stamp is the state of the hours of [from, to): whatever changes an answer about them, of
// records, activity or ledger, changes it before the change is over. Equal stamps of one
// open store are of equal answers. A stamp is to be asked for before what it is kept with.
func (s *Store) Stamp(from, to time.Time) uint64 {
	return s.stamps.of(hourOf(from.UnixMilli()), hourOf(to.UnixMilli()-1))
}

// of is the last change of any of some hours.
func (s *stamps) of(from, to int32) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.all
	if from < s.first {
		last = max(last, s.early)
	}
	for h := from; h <= to; h++ {
		last = max(last, s.hours[h])
	}
	return last
}

// touch numbers a change of some hours.
func (s *stamps) touch(spans ...hourSpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	if s.hours == nil {
		s.hours = map[int32]uint64{}
	}
	for _, in := range spans {
		n := int64(in.last) - int64(in.first)
		if n < 0 || n > longestHole/hourMS {
			s.all, n = s.last, -1 // a clock that was wrong
		}
		for i := range n + 1 {
			s.hours[in.first+int32(i)] = s.last
		}
	}
}

// touchBefore numbers a change of all hours before one.
func (s *stamps) touchBefore(hour int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.early, s.first = s.last, max(s.first, hour)
	maps.DeleteFunc(s.hours, func(h int32, _ uint64) bool { return h < s.first })
}

// hourSpan is hours from the first to the last.
type hourSpan struct{ first, last int32 }

func spanOf(from, to time.Time) hourSpan {
	return hourSpan{hourOf(from.UnixMilli()), hourOf(to.UnixMilli() - 1)}
}

// touched are the hours that batches have a part in, from the first to the last of each
// node: those that are due by them, and those in which the machine that sent them counts as
// being there now, or as being something else.
func (s *Store) touched(due dueHours, batches []usage.Batch, fresh []int) []hourSpan {
	all := maps.Clone(due)
	for _, i := range fresh {
		b := &batches[i]
		if own, there := s.books.stays.known[nodeName{b.Cluster, b.Node}][b.ProviderID]; there {
			is := stayOf(b)
			all.span(b, min(own.last, is.first), max(own.first, is.first))
			s.books.told.standIn(all, b, own)
		}
	}
	of := map[nodeName]hourSpan{}
	for h := range all {
		n, at := nodeName{h.Cluster, h.Node}, hourOf(h.HourMS)
		in, there := of[n]
		if !there {
			in = hourSpan{at, at}
		}
		of[n] = hourSpan{min(in.first, at), max(in.last, at)}
	}
	return slices.Collect(maps.Values(of))
}

// firstTold is when it was first told what a machine is.
type firstTold map[machineKey]int64

// standIn adds the hours in which what a batch tells of its machine stands: those after it
// that the machine has been in, and those before it where nobody told before.
func (t firstTold) standIn(all dueHours, b *usage.Batch, own stay) {
	if b.Shape == nil {
		return
	}
	if own.last >= b.StartMS {
		all.span(b, b.StartMS, plus(own.last, own.interval))
	}
	if first, known := t[machineKey{b.Cluster, b.Node, b.ProviderID}]; own.first < b.StartMS && (!known || first >= b.StartMS) {
		all.span(b, own.first, b.StartMS)
	}
}

// add takes over what was committed.
func (t firstTold) add(batches []usage.Batch, fresh []int) {
	for _, i := range fresh {
		b := &batches[i]
		k := machineKey{b.Cluster, b.Node, b.ProviderID}
		if first, known := t[k]; b.Shape != nil && (!known || b.StartMS < first) {
			t[k] = b.StartMS
		}
	}
}

func readTold(ctx context.Context, conn *columnar) (firstTold, error) {
	out := firstTold{}
	query := "SELECT cluster, node, provider_id, min(from_ms) AS first FROM usage_shape GROUP BY cluster, node, provider_id"
	err := conn.rows(ctx, query, columnsOf("cluster", text, "node", text, "provider_id", text, "first", bigint), newMemo(), func(r *row) {
		k := machineKey{r.text(), r.text(), r.text()}
		out[k] = r.i64()
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shapeTable.name, err)
	}
	return out, nil
}

// reached is the hour after all that records of hours before one tell of: a window or a gap
// of theirs may end later.
func (s *Store) reached(ctx context.Context, before int32) (int32, error) {
	var ms sql.NullInt64
	err := s.conn.QueryRowContext(ctx, `SELECT least(max(ms), 7730941132800000)::BIGINT FROM (
		SELECT max(until_ms) AS ms FROM usage_sealed WHERE hour < $1
		UNION ALL SELECT max(start_ms::HUGEINT + duration_ms) FROM usage_batch WHERE hour < $1
		UNION ALL SELECT max(gap_start_ms::HUGEINT + gap_duration_ms) FROM usage_gap WHERE hour < $1)`, before).Scan(&ms)
	if err != nil {
		return 0, fmt.Errorf("find what records reach to: %w", err)
	}
	return max(before, hourOf(ms.Int64)+1), nil
}

// hoursBooked are those of bookings.
func hoursBooked(bookings []rating.Booking) (out []hourSpan) {
	for i := range bookings {
		h := hourOf(bookings[i].Rated.HourMS)
		out = append(out, hourSpan{h, h})
	}
	return out
}
