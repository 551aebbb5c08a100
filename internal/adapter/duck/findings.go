// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// Findings walks the windows that began in the hours of [from, to) and have findings,
// of one node or of all (""), with their findings and without any other record: by
// node, agent, boot and number. Findings are few; reading everything else that was
// recorded beside them would take a thousand times as long.
func (s *Store) Findings(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		batches, err := s.findings(ctx, hourOf(from.UnixMilli()), hourOf(to.UnixMilli()-1), node)
		if err != nil {
			yield(usage.Batch{}, fmt.Errorf("read findings: %w", err))
			return
		}
		for i := range batches {
			if !yield(batches[i], nil) {
				return
			}
		}
	}
}

func (s *Store) findings(ctx context.Context, first, last int32, node string) ([]usage.Batch, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	h := &hourReader{conn: conn, files: &s.files, raw: s.sealedPath(""), node: node, memo: newMemo(), words: newWords()}
	for hour := first; hour <= last; hour++ {
		h.hours = append(h.hours, hour)
	}
	var out []usage.Batch
	err = h.atOneMoment(ctx, func(ctx context.Context) error {
		out, err = h.readFindings(ctx)
		return err
	})
	sortByNode(out)
	return out, err
}

// readFindings reads the batches that have any, whose findings those are, and then the
// findings. It is called within atOneMoment.
func (h *hourReader) readFindings(ctx context.Context) (out []usage.Batch, err error) {
	of := map[int64]int{}
	err = h.askWhere(ctx, batchTable, "batch IN ("+h.all(findingTable, "batch")+")", func(r *row) {
		at, b := readBatch(r)
		if h.node == "" || b.Node == h.node {
			of[at.batch] = len(out)
			out = append(out, b)
		}
	})
	if err != nil {
		return nil, err
	}
	err = h.askWhere(ctx, ownerTable, "id IN ("+h.all(findingTable, "owner")+")", func(r *row) { h.words.owners.put(readOwner(r)) })
	if err != nil {
		return nil, err
	}
	var all []foundAt
	err = h.ask(ctx, findingTable, false, func(r *row) {
		_, batch, line := r.i32(), r.i64(), r.u32()
		f := readFinding(r, &h.words)
		if i, ok := of[batch]; ok {
			all = append(all, foundAt{i, line, f})
		}
	})
	slices.SortFunc(all, func(a, b foundAt) int { return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.line, b.line)) })
	for i := range all {
		b := &out[all[i].batch]
		b.Findings = append(b.Findings, all[i].finding)
	}
	return out, err
}

// foundAt is a finding and where it stands.
type foundAt struct {
	batch   int
	line    uint32
	finding usage.FindingRecord
}

// all is one column of a table's rows of the hours, whether or not they are sealed, as
// a query.
func (h *hourReader) all(t table, column string) string {
	q := "SELECT " + column + " FROM " + t.name + " WHERE " + h.inHours()
	if len(h.sealed) > 0 {
		q += " UNION ALL SELECT " + column + " FROM " + h.parquet(t) + " WHERE " + h.inHours()
	}
	return q
}

// askWhere reads the rows of the hours that meet a condition.
func (h *hourReader) askWhere(ctx context.Context, t table, condition string, f func(*row)) error {
	for _, query := range h.queries(t, false) {
		if err := h.conn.rows(ctx, query+" AND "+condition, t.columns, h.memo, f); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}
