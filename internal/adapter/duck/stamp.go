// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
// being there now, or as being something else. The rows of the batches are written.
func (s *Store) touched(ctx context.Context, due dueHours, batches []usage.Batch, fresh []int) ([]hourSpan, error) {
	all, told := maps.Clone(due), []*usage.Batch(nil)
	for _, i := range fresh {
		b := &batches[i]
		own, there := s.books.stays.known[nodeName{b.Cluster, b.Node}][b.ProviderID]
		if !there {
			continue
		}
		is := stayOf(b)
		all.span(b, min(own.last, is.first), max(own.first, is.first))
		if b.Shape == nil {
			continue
		}
		if own.last >= b.StartMS {
			all.span(b, b.StartMS, plus(own.last, own.interval))
		}
		if own.first < b.StartMS {
			told = append(told, b)
		}
	}
	if err := s.standIns(ctx, all, told); err != nil {
		return nil, err
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
	return slices.Collect(maps.Values(of)), nil
}

// standIns adds the hours before batches that tell of a machine what nobody told of it
// before: there, it stands in.
func (s *Store) standIns(ctx context.Context, all dueHours, told []*usage.Batch) (err error) {
	if len(told) == 0 {
		return nil
	}
	values := make([]string, len(told))
	for i, b := range told {
		values[i] = fmt.Sprintf("(%d, %s, %s, %s, %d)", i, literal(b.Cluster), literal(b.Node), literal(b.ProviderID), b.StartMS)
	}
	rows, err := s.conn.QueryContext(ctx, `SELECT i FROM (VALUES `+strings.Join(values, ", ")+`) AS told(i, c, n, id, ms)
		WHERE NOT EXISTS (FROM usage_shape WHERE cluster = c AND node = n AND provider_id = id AND from_ms < ms)`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var i int
		if err := rows.Scan(&i); err != nil {
			return err
		}
		b := told[i]
		own := s.books.stays.known[nodeName{b.Cluster, b.Node}][b.ProviderID]
		all.span(b, own.first, b.StartMS)
	}
	return rows.Err()
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
