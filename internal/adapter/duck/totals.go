// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Totals sums the batches that began in the hours of [from, to), both cut to
// whole hours, sealed or not. DuckDB sums 64-bit columns in 128 bits.
func (s *Store) Totals(ctx context.Context, from, to time.Time) (journal.Totals, error) {
	t, err := s.totals(ctx, hourOf(from.UnixMilli()), hourOf(to.UnixMilli()))
	if err != nil {
		return journal.Totals{}, fmt.Errorf("sum hours from %s to %s: %w", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), err)
	}
	return t, nil
}

func (s *Store) totals(ctx context.Context, from, to int32) (t journal.Totals, err error) {
	if err := s.usable(); err != nil {
		return t, err
	}
	s.files.RLock()
	defer s.files.RUnlock()
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return t, err
	}
	defer conn.close()
	if err := conn.exec(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		return t, err
	}
	directories, err := conn.texts(ctx, fmt.Sprintf("SELECT directory FROM usage_sealed WHERE hour >= %d AND hour < %d", from, to))
	if err != nil {
		return t, err
	}
	for _, q := range []struct {
		t     table
		count *int64
		sums  []sum
	}{
		{batchTable, &t.Batches, nil}, {findingTable, &t.Findings, nil}, {gapTable, &t.Gaps, nil},
		{partitionTable, &t.Partitions, []sum{{"capacity_byte_ms", &t.CapacityByteMS}, {"reserved_byte_ms", &t.ReservedByteMS},
			{"unattributed_byte_ms", &t.UnattributedByteMS}, {"free_byte_ms", &t.FreeByteMS}, {"measured_ms", &t.MeasuredMS}}},
		{holderTable, &t.Holders, []sum{{"byte_ms", &t.HolderByteMS}}},
		{grantTable, &t.Grants, []sum{{"granted_ms", &t.GrantedMS}}},
		{podTable, &t.Pods, []sum{{"cpu_nanos", &t.CPUNanos}}},
	} {
		rel := fmt.Sprintf("SELECT %s FROM %s WHERE hour >= %d AND hour < %d", q.t.list(), q.t.name, from, to)
		if q.t.name != gapTable.name {
			for _, d := range directories {
				rel += fmt.Sprintf(" UNION ALL SELECT %s FROM %s", q.t.list(), inFiles(q.t, literal(filepath.Join(s.sealedPath(d), q.t.name+parquetSuffix))))
			}
		}
		if err := conn.sums(ctx, rel, q.count, q.sums); err != nil {
			return t, fmt.Errorf("%s: %w", q.t.name, err)
		}
	}
	return t, nil
}

// sum is a column and where its sum goes.
type sum struct {
	column string
	into   *usage.Total
}

func (c *columnar) sums(ctx context.Context, rows string, count *int64, sums []sum) error {
	query, want := "SELECT count(*)", []column{{"count", bigint}}
	for _, s := range sums {
		query += fmt.Sprintf(", coalesce(sum(%s), 0)::VARCHAR", s.column)
		want = append(want, column{s.column, text})
	}
	var bad error
	err := c.rows(ctx, query+" FROM ("+rows+")", want, newMemo(), func(r *row) {
		*count = r.i64()
		for _, s := range sums {
			if err := s.into.UnmarshalText([]byte(r.text())); err != nil {
				bad = fmt.Errorf("%s: %w", s.column, err)
			}
		}
	})
	return errors.Join(err, bad)
}
