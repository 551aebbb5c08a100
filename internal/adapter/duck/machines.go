// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// Machines are those that stood behind the names of nodes in [from, to), of one
// node or of all (""), by cluster, node and time, with what they were said to be. A
// machine is there until an interval after its last window. One that no record names (ProviderID "") is one of its own here.
func (s *Store) Machines(ctx context.Context, from, to time.Time, node string) ([]rating.Machine, error) {
	out, err := s.machines(ctx, from.UnixMilli(), to.UnixMilli(), node)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	return out, nil
}

func (s *Store) machines(ctx context.Context, from, to int64, node string) (out []rating.Machine, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	w := &walk{conn: conn, words: newWordReader(conn), store: s}
	of := map[machineKey]int{}
	err = w.atOneMoment(ctx, func() error {
		where := fmt.Sprintf("first_ms < %d AND last_ms + interval_ms >= %d", to, from)
		if node != "" {
			where += " AND node = " + literal(node)
		}
		query := "SELECT " + machineTable.list() + " FROM usage_machine WHERE " + where
		err := conn.rows(ctx, query, machineTable.columns, w.words.memo, func(r *row) {
			m := rating.Machine{Cluster: r.text(), Node: r.text(), ProviderID: r.text(), FirstMS: r.i64(), LastMS: r.i64(), IntervalMS: r.i64(), CreatedMS: r.i64()}
			of[machineKey{m.Cluster, m.Node, m.ProviderID}] = len(out)
			out = append(out, m)
		})
		if err != nil || len(out) == 0 {
			return err
		}
		return w.shapes(ctx, from, to, node, func(k machineKey, shape rating.ShapeAt) {
			if i, ok := of[k]; ok {
				out[i].Shapes = append(out[i].Shapes, shape)
			}
		})
	})
	slices.SortFunc(out, func(a, b rating.Machine) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), cmp.Compare(a.FirstMS, b.FirstMS),
			cmp.Compare(a.LastMS, b.LastMS), strings.Compare(a.ProviderID, b.ProviderID))
	})
	return out, err
}

// shapes hands out, for each machine by time, the last shape that was told at or
// before a time and those told up to another, leaving out what only repeats the one
// before; where none was told before, the first one after stands in.
func (w *walk) shapes(ctx context.Context, from, to int64, node string, f func(machineKey, rating.ShapeAt)) error {
	where := "true"
	if node != "" {
		where = "node = " + literal(node)
	}
	// at_or_before and after are, of each machine, the last time up to from and the
	// first from then on.
	query := fmt.Sprintf(`
		WITH told AS (SELECT cluster, node, provider_id, from_ms, shape FROM usage_shape WHERE %s),
		edges AS (SELECT cluster, node, provider_id, max(from_ms) FILTER (from_ms <= %d) AS before, min(from_ms) FILTER (from_ms > %[2]d) AS after
			FROM told GROUP BY cluster, node, provider_id)
		SELECT told.cluster, told.node, told.provider_id, from_ms, shape_json
		FROM told JOIN edges USING (cluster, node, provider_id) JOIN usage_shape_text ON id = shape
		WHERE from_ms = coalesce(before, after) OR from_ms > %[2]d AND from_ms < %[3]d
		ORDER BY told.cluster, told.node, told.provider_id, from_ms, shape_json`, where, from, to)
	want := columnsOf("cluster", text, "node", text, "provider_id", text, "from_ms", bigint, "shape_json", text)
	var last machineKey
	var lastText string
	var lastMS int64
	return w.conn.rows(ctx, query, want, w.words.memo, func(r *row) {
		k := machineKey{r.text(), r.text(), r.text()}
		at := r.i64()
		shape := string(r.bytes())
		r.col--
		if k == last && (shape == lastText || at == lastMS) {
			return // two windows of one time: the first by text stands
		}
		last, lastText, lastMS = k, shape, at
		if of := readWire[*usage.NodeShape](r); of != nil {
			f(k, rating.ShapeAt{FromMS: at, NodeShape: *of})
		}
	})
}
