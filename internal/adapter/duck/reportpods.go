// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/gputally/gputally/internal/core/report"
)

// podCache remembers what pods were, by number: most fleets have some thousand such
// combinations of owner and labels, and a number never means something else.
type podCache struct {
	mu      sync.Mutex
	pods    map[int64]*report.PodDimensions
	through int64 // all up to this number are known
}

// podsKept bounds a podCache; of more, those that are needed are read each time.
// Tests make it small.
var podsKept = int64(1 << 16)

// eachPod hands out what pods were, of those whose number meets a condition or, where
// they are remembered, of all.
func (s *Store) eachPod(ctx context.Context, conn *columnar, where string, f func(int64, *report.PodDimensions)) error {
	c := &s.books.pods
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	err := conn.rows(ctx, "SELECT count(*) FROM ledger_pod", columnsOf("pods", bigint), newMemo(), func(r *row) { n = r.i64() })
	if err != nil {
		return err
	}
	if n > podsKept {
		c.pods, c.through = nil, 0
		return eachLedgerPod(ctx, conn, where, f)
	}
	if err := c.learn(ctx, conn); err != nil {
		return err
	}
	for id, p := range c.pods {
		f(id, p)
	}
	return nil
}

// learn reads the pods that came since, all or none: numbers are given in the order
// of commits, but are not read in any.
func (c *podCache) learn(ctx context.Context, conn *columnar) error {
	fresh, through := map[int64]*report.PodDimensions{}, c.through
	err := eachLedgerPod(ctx, conn, fmt.Sprintf("id > %d", c.through), func(id int64, p *report.PodDimensions) {
		fresh[id], through = p, max(through, id)
	})
	if err != nil {
		return err
	}
	if c.pods == nil {
		c.pods = fresh
	}
	maps.Copy(c.pods, fresh)
	c.through = through
	return nil
}

func eachLedgerPod(ctx context.Context, conn *columnar, where string, f func(int64, *report.PodDimensions)) error {
	return conn.rows(ctx, "SELECT "+ledgerPodTable.list()+" FROM ledger_pod WHERE "+where, ledgerPodTable.columns, newMemo(), func(r *row) { f(readLedgerPod(r)) })
}

// alikePods are pods as a report tells them apart: those with the same values of its
// dimensions are one.
type alikePods struct {
	of map[int64]*report.PodDimensions
	// join is added to a table so that sql is the number of a line's pod in of, 0
	// where nobody knows what it was.
	join, sql string
}

// podsJoined is up to how many pods are told apart within SQL. Tests make it small.
var podsJoined = 1 << 14

// readPods finds out what the pods of the lines were that meet a condition.
func (q *reportQuery) readPods(ctx context.Context, where string) error {
	var used []string
	for _, from := range q.from {
		used = append(used, fmt.Sprintf("SELECT pod FROM %s WHERE %s AND %s", from.table, from.where, where))
	}
	pods := map[int64]*report.PodDimensions{}
	err := q.walk.store.eachPod(ctx, q.walk.conn, "id IN ("+strings.Join(used, " UNION ALL ")+")", func(id int64, p *report.PodDimensions) { pods[id] = p })
	if err != nil {
		return err
	}
	q.pods = alikePods{of: pods, sql: "coalesce(pod, 0)"}
	if len(pods) == 0 || len(pods) > podsJoined {
		return nil
	}
	var by []report.Dimension
	for _, d := range q.Needs {
		if d.LookedUp() {
			by = append(by, d)
		}
	}
	first := map[string]int64{}
	rows := make([]string, 0, len(pods))
	for id, p := range pods {
		key := ""
		for _, d := range by {
			value := d.OfPod(p)
			key += fmt.Sprintf("%d:%s", len(value), value)
		}
		if first[key] == 0 {
			first[key] = id
		}
		rows = append(rows, fmt.Sprintf("(%d, %d)", id, first[key]))
	}
	q.pods.join = " LEFT JOIN (VALUES " + strings.Join(rows, ", ") + ") AS alike(pod_id, alike_id) ON pod = pod_id"
	q.pods.sql = "coalesce(alike_id, pod, 0)::BIGINT" // one that is not in of is found out
	return nil
}
