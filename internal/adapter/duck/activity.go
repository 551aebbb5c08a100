// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

var activityNodeTable = table{name: "activity_node", columns: columnsOf("hour", integer, "cluster", text, "node", text, "records", text, "rules", text)}

var activityIdleTable = table{name: "activity_idle", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "device", text, "lowest_mw", ubigint, "seen_ms", bigint,
)}

var activityHostTable = table{name: "activity_host", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "pods", bigint, "cpu_milli", bigint, "memory_bytes", ubigint,
	"movable_pods", bigint, "movable_cpu_milli", bigint, "movable_memory_bytes", ubigint,
)}

// activityTables are made of records and ledger, and can be made again.
var activityTables = []table{activityNodeTable, activityPodTable, activityIdleTable, activityHostTable}

var decisionTable = table{name: "advice_decision", columns: columnsOf("id", text, "at_ms", bigint, "decision_json", text)}

// ActivityDue lists hours of nodes, oldest first, then by cluster and node, that are
// rated and whose activity is not there, or was made from other records or by other
// rules. Hours before a time, and those whose records are deleted, are left as they
// are.
func (s *Store) ActivityDue(ctx context.Context, since time.Time, rules string, limit int) (out []activity.Due, err error) {
	query := fmt.Sprintf(`WITH kept AS (SELECT min(hour) AS first FROM (SELECT min(hour) AS hour FROM usage_batch UNION ALL SELECT min(hour) FROM usage_sealed))
		SELECT r.hour, r.cluster, r.node, any_value(w.records) AS records
		FROM ledger_rated r JOIN ledger_rating w ON w.id = r.rating LEFT JOIN activity_node a ON a.hour = r.hour AND a.cluster = r.cluster AND a.node = r.node
		WHERE r.hour >= greatest(%d, (SELECT first FROM kept)) AND (a.records IS NULL OR a.records <> w.records OR a.rules <> %s)
		GROUP BY r.hour, r.cluster, r.node ORDER BY r.hour, r.cluster, r.node LIMIT %d`, hourOf(since.UnixMilli()), literal(rules), limit)
	err = s.read(ctx, query, columnsOf("hour", integer, "cluster", text, "node", text, "records", text), func(r *row) error {
		hour := r.i32()
		out = append(out, activity.Due{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS, Records: r.text()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list hours whose activity is due: %w", err)
	}
	return out, nil
}

// read answers a query as of one moment.
func (s *Store) read(ctx context.Context, query string, want []column, f func(*row) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	memo := newMemo()
	return conn.rows(ctx, query, want, memo, func(r *row) {
		if err := f(r); err != nil {
			memo.fail(err)
		}
	})
}

// IdlePower is what devices drew without any process in the hours of [from, to), by
// cluster, node and device.
func (s *Store) IdlePower(ctx context.Context, from, to time.Time) (map[[2]string]map[gpu.UUID]signal.IdlePower, error) {
	out := map[[2]string]map[gpu.UUID]signal.IdlePower{}
	query := "SELECT cluster, node, device, min(lowest_mw)::UBIGINT AS lowest, sum(seen_ms)::BIGINT AS seen FROM activity_idle WHERE " + hoursBetween(from, to) +
		" GROUP BY cluster, node, device"
	err := s.read(ctx, query, columnsOf("cluster", text, "node", text, "device", text, "lowest", ubigint, "seen", bigint), func(r *row) error {
		k := [2]string{r.text(), r.text()}
		if out[k] == nil {
			out[k] = map[gpu.UUID]signal.IdlePower{}
		}
		out[k][gpu.UUID(r.text())] = signal.IdlePower{LowestMW: r.u64(), SeenMS: r.i64()}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read idle power: %w", err)
	}
	return out, nil
}

// KeepActivity keeps hours in the place of what is there of them, all or none.
func (s *Store) KeepActivity(ctx context.Context, made []activity.Made) error {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer s.stamps.touch(hoursMade(made)...)
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		if err := forgetActivity(ctx, conn, made); err != nil {
			return err
		}
		return appendActivity(conn, made)
	})
	if err != nil {
		return fmt.Errorf("keep activity: %w", err)
	}
	return nil
}

func hoursMade(made []activity.Made) (out []hourSpan) {
	for i := range made {
		h := hourOf(made[i].HourMS)
		out = append(out, hourSpan{h, h})
	}
	return out
}

// forgetActivity removes what is there of hours that are made again.
func forgetActivity(ctx context.Context, conn *columnar, made []activity.Made) error {
	var hours []string
	for i := range made {
		hours = append(hours, fmt.Sprintf("(%d, %s, %s)", hourOf(made[i].HourMS), literal(made[i].Cluster), literal(made[i].Node)))
	}
	these := strings.Join(hours, ", ")
	for _, t := range activityTables {
		if err := conn.exec(ctx, "DELETE FROM "+t.name+" WHERE (hour, cluster, node) IN ("+these+")"); err != nil {
			return err
		}
	}
	return nil
}

func appendActivity(conn *columnar, made []activity.Made) (err error) {
	tables := make([]*bulk, len(activityTables))
	defer func() {
		for _, b := range tables {
			if b != nil {
				if e := b.finish(err); err == nil {
					err = e
				}
			}
		}
	}()
	for i, t := range activityTables {
		if tables[i], err = newBulk(conn, t); err != nil {
			return err
		}
	}
	for i := range made {
		err := appendMade(tables[0], tables[1], tables[2], &made[i])
		if err == nil {
			err = appendOthers(tables[3], &made[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func appendMade(nodes, pods, idle *bulk, m *activity.Made) error {
	hour := hourOf(m.HourMS)
	nodes.i32(hour)
	for _, v := range []string{m.Cluster, m.Node, m.Records, m.Rules} {
		nodes.text(v)
	}
	if err := nodes.end(); err != nil {
		return err
	}
	for i := range m.Hours {
		if err := appendHour(pods, hour, &m.Due, &m.Hours[i]); err != nil {
			return err
		}
	}
	for device, q := range m.Quiet {
		idle.i32(hour)
		for _, v := range []string{m.Cluster, m.Node, string(device)} {
			idle.text(v)
		}
		idle.u64(q.LowestMW)
		idle.i64(q.SeenMS)
		if err := idle.end(); err != nil {
			return err
		}
	}
	return nil
}

func appendOthers(hosts *bulk, m *activity.Made) error {
	o := m.Others
	if o == nil {
		return nil
	}
	hosts.i32(hourOf(m.HourMS))
	hosts.text(m.Cluster)
	hosts.text(m.Node)
	for _, r := range []attribution.Requests{o.Requests, o.Movable} {
		hosts.i64(r.Pods)
		hosts.i64(r.CPUMilli)
		hosts.u64(r.MemoryBytes)
	}
	return hosts.end()
}

// NodeOthers is what pods without a GPU asked for in [from, to), hour by hour, by
// cluster and node.
func (s *Store) NodeOthers(ctx context.Context, from, to time.Time) (out []activity.NodeOthers, err error) {
	query := "SELECT " + activityHostTable.list() + " FROM activity_host WHERE " + hoursBetween(from, to) + " ORDER BY cluster, node, hour"
	requests := func(r *row) attribution.Requests {
		return attribution.Requests{Pods: r.i64(), CPUMilli: r.i64(), MemoryBytes: r.u64()}
	}
	err = s.read(ctx, query, activityHostTable.columns, func(r *row) error {
		n := activity.NodeOthers{HourMS: int64(r.i32()) * hourMS, Cluster: r.text(), Node: r.text()}
		n.Requests, n.Movable = requests(r), requests(r)
		out = append(out, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what other pods ask for: %w", err)
	}
	return out, nil
}

// AskActivity has hours of a node in [from, to) made again, though their records
// are the same.
func (s *Store) AskActivity(ctx context.Context, cluster, node string, from, to time.Time) error {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer s.stamps.touch(spanOf(from, to))
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		return conn.exec(ctx, fmt.Sprintf("DELETE FROM activity_node WHERE cluster = %s AND node = %s AND %s", literal(cluster), literal(node), hoursBetween(from, to)))
	})
	if err != nil {
		return fmt.Errorf("ask for activity of %s: %w", node, err)
	}
	return nil
}

// DropActivity deletes what is of hours before a time.
func (s *Store) DropActivity(ctx context.Context, before time.Time) error {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer s.stamps.touchBefore(hourOf(before.UnixMilli()))
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		for _, t := range activityTables {
			if err := conn.exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE hour < %d", t.name, hourOf(before.UnixMilli()))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop activity: %w", err)
	}
	return nil
}

// errEnough ends a walk of which no more is wanted.
var errEnough = errors.New("enough")

// Activity walks hours by cluster, namespace, owner, hour, device, instance and pod:
// those of one workload come together.
func (s *Store) Activity(ctx context.Context, q activity.Query) iter.Seq2[*activity.Hour, error] {
	return func(yield func(*activity.Hour, error) bool) {
		query := "SELECT " + activityPodTable.list() + " FROM activity_pod WHERE " + activityWhere(&q) +
			" ORDER BY cluster, namespace, owner_kind, owner_name, pod_uid, hour, device, instance, since_ms"
		stopped := false
		err := s.read(ctx, query, activityPodTable.columns, func(r *row) error {
			if stopped {
				return nil // the rest of what was read in one go
			}
			h, err := readHour(r)
			if err != nil {
				return err
			}
			if !yield(h, nil) {
				stopped = true
				return errEnough
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("read activity: %w", err))
		}
	}
}

func activityWhere(q *activity.Query) string {
	and := []string{hoursBetween(time.UnixMilli(q.FromMS), time.UnixMilli(q.ToMS))}
	for _, c := range []struct{ column, value string }{{"cluster", q.Cluster}, {"node", q.Node}, {"namespace", q.Namespace},
		{"owner_kind", q.OwnerKind}, {"owner_name", q.OwnerName}, {"pod_name", q.PodName}} {
		if c.value != "" {
			and = append(and, c.column+" = "+literal(c.value))
		}
	}
	return strings.Join(and, " AND ")
}

// ClassTimes is how long pods were of each class in [from, to), by cluster,
// namespace and class.
func (s *Store) ClassTimes(ctx context.Context, from, to time.Time) (out []activity.ClassTime, err error) {
	query := "SELECT cluster, namespace, class, sum(duration_ms)::BIGINT AS ms FROM activity_pod WHERE " + hoursBetween(from, to) +
		" GROUP BY cluster, namespace, class ORDER BY cluster, namespace, class"
	err = s.read(ctx, query, columnsOf("cluster", text, "namespace", text, "class", text, "ms", bigint), func(r *row) error {
		out = append(out, activity.ClassTime{Cluster: r.text(), Namespace: r.text(), Class: signal.Class(r.text()), MS: r.i64()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read classes: %w", err)
	}
	return out, nil
}

// Holders are the workloads that had GPUs of each node in [from, to).
func (s *Store) Holders(ctx context.Context, from, to time.Time) (out []activity.NodeHolder, err error) {
	query := `SELECT DISTINCT cluster, node, namespace, owner_kind, owner_name, CASE WHEN owner_name = '' THEN pod_name ELSE '' END AS pod FROM activity_pod WHERE ` +
		hoursBetween(from, to) + ` ORDER BY ALL`
	want := columnsOf("cluster", text, "node", text, "namespace", text, "owner_kind", text, "owner_name", text, "pod", text)
	err = s.read(ctx, query, want, func(r *row) error {
		out = append(out, activity.NodeHolder{Cluster: r.text(), Node: r.text(), Namespace: r.text(), OwnerKind: r.text(), OwnerName: r.text(), Pod: r.text()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read who has GPUs: %w", err)
	}
	return out, nil
}
