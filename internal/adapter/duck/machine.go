// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/gputally/gputally/internal/core/usage"
)

// What stood behind the names of nodes is kept beside the hours, since it is
// asked for by hours that have no records, and after hours were dropped.

var machineTable = table{name: "usage_machine", columns: columnsOf(
	"cluster", text, "node", text, "provider_id", text, "first_ms", bigint, "last_ms", bigint, "interval_ms", bigint, "created_ms", bigint,
)}

var shapeTable = table{name: "usage_shape", columns: columnsOf(
	"cluster", text, "node", text, "provider_id", text, "from_ms", bigint, "shape", bigint,
)}

var shapeTextTable = table{name: "usage_shape_text", columns: columnsOf("id", bigint, "shape_json", text)}

func shapeRow(b *usage.Batch, shape int64) record {
	return record{b.Cluster, b.Node, b.ProviderID, b.StartMS, shape}
}

func shapeText(s *usage.NodeShape) string { return wire(s, false).(string) }

// machineKey names a machine: what stood behind the name of a node.
type machineKey struct{ cluster, node, providerID string }

// stay is the time in which a machine is known to have been there. created is when
// its object was made, 0 where nothing says it; told, that some window says what the
// machine was.
type stay struct {
	first, last, interval, created int64
	told                           bool
}

// with is both times together. The interval is that of the later one.
func (s stay) with(o stay) stay {
	if o.last > s.last || o.last == s.last && o.interval > s.interval {
		s.last, s.interval = o.last, o.interval
	}
	s.first, s.told = min(s.first, o.first), s.told || o.told
	if s.created == 0 || o.created != 0 && o.created < s.created {
		s.created = o.created
	}
	return s
}

// stayOf is the time of a batch: its window and the gap that it tells of, in
// which the same agent was there or was to be.
func stayOf(b *usage.Batch) stay {
	s := stay{first: b.StartMS, last: plus(b.StartMS, b.DurationMS), interval: b.IntervalMS}
	if b.Shape != nil {
		s.created, s.told = b.Shape.CreatedMS, true
	}
	if g := b.Gap; g != nil {
		s = s.with(stay{first: g.StartMS, last: plus(g.StartMS, g.DurationMS), interval: b.IntervalMS})
	}
	return s
}

// plus is the end of a time, at most the last one there is.
func plus(start, duration int64) int64 {
	switch {
	case duration <= 0:
		return start
	case start > math.MaxInt64-duration:
		return math.MaxInt64
	}
	return start + duration
}

// saveMachines brings usage_machine up to date, in the transaction of the rows.
func (s *Store) saveMachines(batches []usage.Batch, fresh []int) error {
	stays := map[machineKey]stay{}
	for _, i := range fresh {
		b := &batches[i]
		k := machineKey{b.Cluster, b.Node, b.ProviderID}
		is := stayOf(b)
		if had, ok := stays[k]; ok {
			is = had.with(is)
		}
		stays[k] = is
	}
	if err := s.conn.Raw(func(conn any) error { return writeMachines(conn.(driver.Conn), stays) }); err != nil {
		return fmt.Errorf("write machines: %w", err)
	}
	return nil
}

func writeMachines(conn driver.Conn, stays map[machineKey]stay) error {
	types, err := typesOf(machineTable)
	if err != nil {
		return err
	}
	a, err := duckdb.NewQueryAppender(conn, `INSERT INTO usage_machine SELECT * FROM appended_data
		ON CONFLICT (cluster, node, provider_id) DO UPDATE SET
			first_ms = least(first_ms, excluded.first_ms),
			interval_ms = CASE
				WHEN excluded.last_ms > last_ms THEN excluded.interval_ms
				WHEN excluded.last_ms = last_ms THEN greatest(interval_ms, excluded.interval_ms)
				ELSE interval_ms END,
			created_ms = CASE
				WHEN created_ms = 0 THEN excluded.created_ms
				WHEN excluded.created_ms = 0 THEN created_ms
				ELSE least(created_ms, excluded.created_ms) END,
			last_ms = greatest(last_ms, excluded.last_ms)`, "", types, nil)
	if err != nil {
		return err
	}
	for k, is := range stays {
		if err := a.AppendRow(k.cluster, k.node, k.providerID, is.first, is.last, is.interval, is.created); err != nil {
			return errors.Join(err, a.Clear(), a.Close())
		}
	}
	return a.Close()
}

func typesOf(t table) (out []duckdb.TypeInfo, err error) {
	for _, c := range t.columns {
		info, err := duckdb.NewTypeInfo(c.kind)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// thinShapes takes away what only repeats the time before it, of the hours before
// one that are dropped with it. Until then all of it is kept, so that a batch that
// comes late meets what it would have met in time. Of texts that stand there twice
// the newest one stays, which the vocabulary knows.
func (s *Store) thinShapes(ctx context.Context, tx *sql.Tx, before int32) error {
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM usage_shape WHERE from_ms < ? AND rowid IN (
			SELECT row FROM (
				SELECT s.rowid AS row, shape_json,
					lag(shape_json) OVER (PARTITION BY cluster, node, provider_id ORDER BY from_ms, shape_json) AS before
				FROM usage_shape s JOIN usage_shape_text ON id = shape)
			WHERE shape_json = before)`, []any{int64(before) * hourMS}},
		{`UPDATE usage_shape SET shape = newest FROM (
			SELECT id, max(id) OVER (PARTITION BY shape_json) AS newest FROM usage_shape_text)
			WHERE shape = id AND id <> newest`, nil},
	} {
		if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
			return fmt.Errorf("thin shapes: %w", err)
		}
	}
	return s.dropTexts(ctx, tx)
}

// dropTexts removes the texts that nothing names, here and from the vocabulary.
func (s *Store) dropTexts(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, `DELETE FROM usage_shape_text WHERE id NOT IN (SELECT shape FROM usage_shape) RETURNING id`)
	if err != nil {
		return fmt.Errorf("drop texts of shapes: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	gone := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		gone[id] = true
	}
	maps.DeleteFunc(s.words.shapes, func(_ string, id int64) bool { return gone[id] })
	return rows.Err()
}
