// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// What a machine was stands until something else is told, so a shape that comes late
// is also that of hours to which its window does not reach, and which were rated by
// another one. When the machine's object was made is told with it.

// toldLate says that a batch tells a shape that other hours may have been rated
// without: the machine was seen later already, or was seen and never told one.
func toldLate(b *usage.Batch, known map[string]stay) bool {
	if b.Shape == nil {
		return false
	}
	seen, told := false, false
	for id, is := range known {
		if !mayBe(id, b.ProviderID) {
			continue
		}
		if is.last > b.StartMS {
			return true
		}
		seen, told = true, told || is.told
	}
	return seen && !told
}

// mayBe says that two records may be of one machine: who does not say which one it
// is may be any.
func mayBe(id, other string) bool { return id == other || id == "" || other == "" }

// dueByShapes adds the hours in which the shapes of some batches stand: until the
// next one that was told, and, where none was told before, since the machine's
// beginning. The rows of the batches are written.
func (s *Store) dueByShapes(ctx context.Context, due dueHours, late []*usage.Batch) (err error) {
	if len(late) == 0 {
		return nil
	}
	values := make([]string, len(late))
	for i, b := range late {
		values[i] = fmt.Sprintf("(%d, %s, %s, %s, %d)", i, literal(b.Cluster), literal(b.Node), literal(b.ProviderID), b.StartMS)
	}
	rows, err := s.conn.QueryContext(ctx, `SELECT i, min(from_ms) FILTER (from_ms > ms), count(*) FILTER (from_ms < ms)
		FROM (VALUES `+strings.Join(values, ", ")+`) AS late(i, c, n, id, ms) JOIN usage_shape
			ON cluster = c AND node = n AND (provider_id = id OR provider_id = '' OR id = '')
		GROUP BY i`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var i, before int
		var next sql.NullInt64
		if err := rows.Scan(&i, &next, &before); err != nil {
			return err
		}
		b := late[i]
		is := s.books.stays.around(b)
		if before == 0 {
			due.span(b, is.first, b.StartMS)
		}
		if !next.Valid {
			next.Int64 = plus(is.last, is.interval)
		}
		due.span(b, b.StartMS, next.Int64)
	}
	return rows.Err()
}

// around is the time of all machines that a batch may be of.
func (s *stays) around(b *usage.Batch) stay {
	out := stay{first: math.MaxInt64, last: math.MinInt64}
	for id, is := range s.of(nodeName{b.Cluster, b.Node}) {
		if mayBe(id, b.ProviderID) {
			out = out.with(is)
		}
	}
	return out
}

// boot adds the hours in which a machine booted, as it seems now or as it seemed
// before, where a batch tells of another time at which its object was made.
func (d dueHours) boot(b *usage.Batch, was, is stay) {
	if from := min(was.paidFrom(), is.paidFrom()); was.created != is.created && from < is.first {
		d.span(b, from, is.first+1)
	}
}

func (s stay) paidFrom() int64 {
	m := rating.Machine{FirstMS: s.first, CreatedMS: s.created}
	return m.PaidFrom()
}
