// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

var dueTable = table{name: "ledger_due", columns: columnsOf("cluster", text, "node", text, "hour", integer, "mark", bigint)}

// longestHole is the time without records that is taken for a time in which the
// machine was there. A longer one is a clock that was wrong: only its ends are.
const longestHole = int64(400) * 24 * hourMS

// dueHours collects the hours that batches make due.
type dueHours map[ledger.NodeHour]bool

func (d dueHours) add(cluster, node string, hour int32) {
	d[ledger.NodeHour{Cluster: cluster, Node: node, HourMS: int64(hour) * hourMS}] = true
}

// span adds every hour that [from, to) has a part in, and the first in any case.
func (d dueHours) span(b *usage.Batch, from, to int64) {
	first, last := hourOf(from), hourOf(max(from, to-1))
	if to-from > longestHole {
		d.add(b.Cluster, b.Node, first)
		first = last
	}
	for h := first; h <= last; h++ {
		d.add(b.Cluster, b.Node, h)
	}
}

// batch adds the hours that a batch touches, with the interval after its window, up
// to which its machine is paid for; those of its gap; and those that were without
// records between it and what is known of its machine. known are the stays
// of the machines that had the node's name, by their provider's id.
func (d dueHours) batch(b *usage.Batch, known map[string]stay) {
	d.span(b, b.StartMS, plus(plus(b.StartMS, b.DurationMS), b.IntervalMS))
	if g := b.Gap; g != nil {
		d.span(b, g.StartMS, plus(g.StartMS, g.DurationMS))
	}
	is := stayOf(b)
	before, after := neighbours(b.ProviderID, is, known)
	if before != nil && before.last < is.first {
		d.span(b, before.last, is.first)
	}
	if after != nil && after.first > is.last {
		d.span(b, is.last, after.first)
	}
}

// neighbours are, of the stays that may be the same machine's, the one that ends
// last before a time and the one that begins first after it, nil where there is
// none. One that the time is within is both. Who does not say which machine it is
// may be any.
func neighbours(providerID string, is stay, known map[string]stay) (before, after *stay) {
	consider := func(s stay) {
		if s.first <= is.last && (before == nil || s.last > before.last) {
			before = &s
		}
		if s.last >= is.first && (after == nil || s.first < after.first) {
			after = &s
		}
	}
	own, there := known[providerID]
	switch {
	case providerID == "":
		for _, s := range known {
			consider(s)
		}
	case there:
		consider(own)
	default:
		if s, ok := known[""]; ok {
			consider(s)
		}
	}
	return before, after
}

// stays are the times of machines by node, as of the last commit, and what the
// transaction that is under way makes of them.
type stays struct {
	known   map[nodeName]map[string]stay
	pending map[nodeName]map[string]stay
}

// nodeName is a node's name, whatever machine is behind it.
type nodeName struct{ cluster, node string }

func (s *stays) of(n nodeName) map[string]stay {
	if p, ok := s.pending[n]; ok {
		return p
	}
	return s.known[n]
}

// add takes a batch in.
func (s *stays) add(b *usage.Batch) {
	n, is := nodeName{b.Cluster, b.Node}, stayOf(b)
	p, ok := s.pending[n]
	if !ok {
		p = maps.Clone(s.known[n])
		if p == nil {
			p = map[string]stay{}
		}
		if s.pending == nil {
			s.pending = map[nodeName]map[string]stay{}
		}
		s.pending[n] = p
	}
	if had, ok := p[b.ProviderID]; ok {
		is = had.with(is)
	}
	p[b.ProviderID] = is
}

// settle makes known what was committed, forget what was not.
func (s *stays) settle() {
	maps.Copy(s.known, s.pending)
	s.pending = nil
}

func (s *stays) forget() { s.pending = nil }

func readStays(ctx context.Context, conn *columnar) (s stays, err error) {
	s.known = map[nodeName]map[string]stay{}
	query := `SELECT ` + machineTable.list() + `, EXISTS (FROM usage_shape s WHERE s.cluster = m.cluster AND s.node = m.node AND s.provider_id = m.provider_id)::BIGINT
		FROM usage_machine m`
	err = conn.rows(ctx, query, append(slices.Clone(machineTable.columns), columnsOf("told", bigint)...), newMemo(), func(r *row) {
		n, id := nodeName{r.text(), r.text()}, r.text()
		if s.known[n] == nil {
			s.known[n] = map[string]stay{}
		}
		s.known[n][id] = stay{r.i64(), r.i64(), r.i64(), r.i64(), r.i64() == 1}
	})
	if err != nil {
		return s, fmt.Errorf("%s: %w", machineTable.name, err)
	}
	return s, nil
}

// saveDue puts the hours that new batches concern on the list, in the transaction
// of their rows. mark is the number of the last of them.
func (s *Store) saveDue(ctx context.Context, batches []usage.Batch, fresh []int, mark int64) error {
	due := dueHours{}
	s.books.stays.forget()
	var late []*usage.Batch
	for _, i := range fresh {
		b := &batches[i]
		known := s.books.stays.of(nodeName{b.Cluster, b.Node})
		due.batch(b, known)
		if toldLate(b, known) {
			late = append(late, b)
		}
		was := s.books.stays.around(b)
		s.books.stays.add(b)
		if b.Shape != nil {
			due.boot(b, was, s.books.stays.around(b))
		}
	}
	if err := s.dueByShapes(ctx, due, late); err != nil {
		return fmt.Errorf("find hours that are due: %w", err)
	}
	s.books.touched = s.touched(due, batches, fresh)
	if err := s.conn.Raw(func(conn any) error { return writeDue(conn.(driver.Conn), due, mark) }); err != nil {
		return fmt.Errorf("write hours that are due: %w", err)
	}
	return nil
}

func writeDue(conn driver.Conn, due dueHours, mark int64) error {
	a, err := duckdb.NewAppenderFromConn(conn, "", dueTable.name)
	if err != nil {
		return err
	}
	for _, h := range slices.SortedFunc(maps.Keys(due), ledger.NodeHour.Compare) {
		if err := a.AppendRow(h.Cluster, h.Node, hourOf(h.HourMS), mark); err != nil {
			return errors.Join(err, a.Clear(), a.Close())
		}
	}
	return a.Close()
}

// Due lists the hours of nodes that are to be rated and ended at or before a time,
// oldest first, then by cluster and node, at most limit.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) (out []rating.Due, err error) {
	query := fmt.Sprintf(`SELECT hour, cluster, node, max(mark) FROM ledger_due WHERE hour < %d
		GROUP BY hour, cluster, node ORDER BY hour, cluster, node LIMIT %d`, hourOf(before.UnixMilli()), limit)
	want := columnsOf("hour", integer, "cluster", text, "node", text, "mark", bigint)
	err = s.ask(ctx, query, want, func(r *row) {
		hour := r.i32()
		out = append(out, rating.Due{NodeHour: ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}, Mark: r.i64()})
	})
	if err != nil {
		return nil, fmt.Errorf("list hours to rate: %w", err)
	}
	return out, nil
}

// Backlog counts the hours of nodes that are to be rated and ended at or before a
// time, and names the first.
func (s *Store) Backlog(ctx context.Context, before time.Time) (n int, oldest *ledger.NodeHour, err error) {
	query := fmt.Sprintf(`SELECT count(DISTINCT (hour, cluster, node)) FROM ledger_due WHERE hour < %d`, hourOf(before.UnixMilli()))
	if err = s.ask(ctx, query, columnsOf("n", bigint), func(r *row) { n = int(r.i64()) }); err != nil {
		return 0, nil, fmt.Errorf("count hours to rate: %w", err)
	}
	first, err := s.Due(ctx, before, 1)
	if err != nil || len(first) == 0 {
		return n, nil, err
	}
	return max(n, 1), &first[0].NodeHour, nil
}

// ask reads an answer row by row, on a connection of its own.
func (s *Store) ask(ctx context.Context, query string, want []column, f func(*row)) error {
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.rows(ctx, query, want, newMemo(), f)
}

// Ask puts hours on the list of those that are to be rated, whether or not a rating
// of them is under way.
func (s *Store) Ask(ctx context.Context, hours []ledger.NodeHour) error {
	if len(hours) == 0 {
		return nil
	}
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	next := s.next
	next.batch++ // a number that no batch has: newer than all that was seen
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		b, err := newBulk(conn, dueTable)
		if err != nil {
			return err
		}
		for _, h := range hours {
			b.text(h.Cluster)
			b.text(h.Node)
			b.i32(hourOf(h.HourMS))
			b.i64(s.next.batch)
			if err = b.end(); err != nil {
				break
			}
		}
		if err = b.finish(err); err != nil {
			return err
		}
		return conn.exec(ctx, fmt.Sprintf("UPDATE usage_counter SET next_batch = %d", next.batch))
	})
	if err != nil {
		return fmt.Errorf("ask for hours to be rated: %w", err)
	}
	s.next = next
	return nil
}

// clearDue takes an hour of nodes off the list, as far as their rating has seen
// what arrived.
func clearDue(ctx context.Context, conn *columnar, hour int32, of []*rating.Booking) error {
	rows := make([]string, len(of))
	for i, n := range of {
		rows[i] = fmt.Sprintf("(%s, %s, %d)", literal(n.Rated.Cluster), literal(n.Rated.Node), n.Mark)
	}
	return conn.exec(ctx, fmt.Sprintf(`DELETE FROM ledger_due USING (VALUES %s) AS v(c, n, m)
		WHERE hour = %d AND cluster = v.c AND node = v.n AND mark <= v.m`, strings.Join(rows, ", "), hour))
}
