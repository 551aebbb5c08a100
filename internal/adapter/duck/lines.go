// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// linesAtOnce is about how many lines are in memory while lines are walked: some
// 60 MB. No transaction is open while they are handed out. Tests make it small.
var linesAtOnce = int64(1 << 16)

// Lines walks lines in the order of ledger.Line.Compare, hours by hours. What is
// yielded is the caller's. Lines that are added meanwhile may or may not be seen.
func (s *Store) Lines(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		where, possible := conditionOf(&q, s.sorts())
		if !possible {
			return
		}
		err := s.byHours(ctx, lineTable.name, where, linesAtOnce, func(l *walk, hours string) (bool, error) {
			lines, err := l.lines(ctx, hours+" AND "+where)
			if err != nil {
				return false, err
			}
			slices.SortFunc(lines, (*ledger.Line).Compare)
			for _, line := range lines {
				if !yield(line, nil) {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			yield(nil, fmt.Errorf("read lines: %w", err))
		}
	}
}

// conditionOf is a query as a condition of SQL, false where no line can meet it.
func conditionOf(q *ledger.Query, known *sorts) (where string, possible bool) {
	and := []string{"true"}
	add := func(format string, args ...any) { and = append(and, fmt.Sprintf(format, args...)) }
	if q.FromMS != 0 {
		add("hour >= %d AND start_ms >= %d", q.FromMS/hourMS, q.FromMS)
	}
	if q.ToMS != 0 {
		add("hour <= %d AND start_ms < %d", q.ToMS/hourMS, q.ToMS)
	}
	if q.Booked != nil {
		add("period = %d", *q.Booked)
	}
	if q.Cluster != "" || q.Node != "" {
		add("cluster = %s", literal(q.Cluster))
	}
	if q.Node != "" {
		add("node = %s", literal(q.Node))
	}
	if q.PodUID != "" {
		add("pod_uid = %s", literal(q.PodUID))
	}
	if q.Account != "" {
		add("%s", known.accountIn([]string{q.Account}))
	}
	for _, id := range []struct{ column, text string }{{"entry", q.Entry}, {"id", q.ID}} {
		if id.text == "" {
			continue
		}
		if _, err := parseID(id.text); err != nil {
			return "", false
		}
		add("%s = '%s'::UUID", id.column, id.text)
	}
	return strings.Join(and, " AND "), true
}

// walk reads the rows of some hours at a time, each time as of one moment.
type walk struct {
	conn  *columnar
	words *wordReader
	store *Store
	// within: the connection has a transaction already.
	within bool
}

// byHours goes through the rows of a table that meet a condition, about atOnce rows
// of whole hours at a time. f says whether to go on.
func (s *Store) byHours(ctx context.Context, table, where string, atOnce int64, f func(w *walk, hours string) (bool, error)) error {
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	type part struct{ from, to int32 }
	var parts []part
	rows := atOnce
	query := fmt.Sprintf("SELECT hour, count(*) FROM %s WHERE %s GROUP BY hour ORDER BY hour", table, where)
	err = conn.rows(ctx, query, columnsOf("hour", integer, "rows", bigint), newMemo(), func(r *row) {
		hour, n := r.i32(), r.i64()
		if rows += n; rows > atOnce {
			parts, rows = append(parts, part{hour, hour}), n
		}
		parts[len(parts)-1].to = hour
	})
	if err != nil {
		return err
	}
	w := &walk{conn: conn, words: newWordReader(conn), store: s}
	for _, p := range parts {
		more, err := f(w, fmt.Sprintf("hour BETWEEN %d AND %d", p.from, p.to))
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// atOneMoment runs f within one transaction.
func (w *walk) atOneMoment(ctx context.Context, f func() error) error {
	if w.within {
		return f()
	}
	if err := w.conn.exec(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		return err
	}
	err := f()
	if end := w.conn.exec(context.WithoutCancel(ctx), "COMMIT"); err == nil {
		err = end
	}
	return err
}

// sorts are all there are, as of the transaction: those in memory, unless somebody
// has just added some.
func (w *walk) sorts(ctx context.Context) (*sorts, error) {
	n := int64(-1)
	err := w.conn.rows(ctx, "SELECT count(*) FROM ledger_sort", columnsOf("sorts", bigint), w.words.memo, func(r *row) { n = r.i64() })
	if known := w.store.sorts(); err != nil || int64(len(known.all)) == n {
		return known, err
	}
	return readSorts(ctx, w.conn)
}

// lines reads the lines that meet a condition, in no order.
func (w *walk) lines(ctx context.Context, where string) (out []*ledger.Line, err error) {
	var raw []rawLine
	var ratings, words []int64
	var bad error
	err = w.atOneMoment(ctx, func() error {
		known, err := w.sorts(ctx)
		if err != nil {
			return err
		}
		err = w.conn.rows(ctx, "SELECT "+lineTable.list()+" FROM ledger_line WHERE "+where, lineTable.columns, w.words.memo, func(r *row) {
			l, err := readLine(r, known)
			if err != nil {
				bad = err
			}
			raw = append(raw, l)
			ratings = append(ratings, l.rating)
			if l.basis != 0 {
				words = append(words, l.basis)
			}
		})
		if err != nil || bad != nil {
			return joined2(err, bad)
		}
		if err := w.words.needRatings(ctx, ratings); err != nil {
			return err
		}
		return w.words.need(ctx, words)
	})
	if err != nil {
		return nil, err
	}
	out = make([]*ledger.Line, len(raw))
	for i := range raw {
		if err := raw[i].fill(w.words); err != nil {
			return nil, err
		}
		out[i] = &raw[i].Line
	}
	return out, nil
}

func joined2(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// hoursBetween is the condition of hours that begin in [from, to).
func hoursBetween(from, to time.Time) string {
	up := func(t time.Time) int32 { return hourOf(t.UnixMilli() + hourMS - 1) }
	return fmt.Sprintf("hour >= %d AND hour < %d", up(from), up(to))
}

// Rated walks the hours in [from, to) as last rated, of one node (in any cluster)
// or of all, in the order of ledger.NodeHour.Compare.
func (s *Store) Rated(ctx context.Context, from, to time.Time, node string) iter.Seq2[*rating.Rated, error] {
	return func(yield func(*rating.Rated, error) bool) {
		where := hoursBetween(from, to)
		if node != "" {
			where += " AND node = " + literal(node)
		}
		err := s.byHours(ctx, ratedTable.name, where, ratedAtOnce, func(w *walk, hours string) (bool, error) {
			rated, err := w.rated(ctx, hours+" AND "+where)
			if err != nil {
				return false, err
			}
			for i := range rated {
				if !yield(&rated[i].Rated, nil) {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			yield(nil, fmt.Errorf("read rated hours: %w", err))
		}
	}
}

// ratedAtOnce is about how many rated hours are in memory at a time.
var ratedAtOnce = int64(1 << 13)

// rated reads the rated hours that meet a condition, with their costs, in order.
func (w *walk) rated(ctx context.Context, where string) (out []rawRated, err error) {
	err = w.atOneMoment(ctx, func() error {
		var ratings, words []int64
		query := "SELECT " + ratedTable.list() + " FROM ledger_rated WHERE " + where + " ORDER BY hour, cluster, node"
		err := w.conn.rows(ctx, query, ratedTable.columns, w.words.memo, func(r *row) {
			h := readRated(r)
			out = append(out, h)
			ratings = append(ratings, h.number)
			for _, p := range h.pieces {
				words = append(words, p.Node)
			}
		})
		if err != nil {
			return err
		}
		if err := w.words.needRatings(ctx, ratings); err != nil {
			return err
		}
		if err := w.words.need(ctx, words); err != nil {
			return err
		}
		for i := range out {
			if err := out[i].fill(w.words); err != nil {
				return err
			}
		}
		costs, err := w.costs(ctx, where)
		if err != nil {
			return err
		}
		at := 0
		for i := range costs { // both are in order
			for at < len(out) && out[at].NodeHour != costs[i].of() {
				at++
			}
			if at == len(out) {
				return fmt.Errorf("a cost is of %s, which is not rated", costs[i].of())
			}
			out[at].Costs = append(out[at].Costs, costs[i].NodeCost)
		}
		return nil
	})
	return out, err
}

func (c *rawCost) of() ledger.NodeHour {
	return ledger.NodeHour{Cluster: c.Cluster, Node: c.Node, HourMS: int64(c.hour) * hourMS}
}

// costs reads the costs that meet a condition, in order.
func (w *walk) costs(ctx context.Context, where string) (out []rawCost, err error) {
	var words []int64
	query := "SELECT " + costTable.list() + " FROM ledger_cost WHERE " + where + " ORDER BY hour, cluster, node, piece"
	err = w.conn.rows(ctx, query, costTable.columns, w.words.memo, func(r *row) {
		c := readCost(r)
		out = append(out, c)
		for _, id := range []int64{c.reason, c.slots, c.basis} {
			if id != 0 {
				words = append(words, id)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := w.words.need(ctx, words); err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].fill(w.words); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Costs walks what the nodes cost, as last rated, in the hours in [from, to), by
// hour, cluster, node and time.
func (s *Store) Costs(ctx context.Context, from, to time.Time) iter.Seq2[*pricing.NodeCost, error] {
	return func(yield func(*pricing.NodeCost, error) bool) {
		where := hoursBetween(from, to)
		err := s.byHours(ctx, costTable.name, where, linesAtOnce, func(w *walk, hours string) (more bool, err error) {
			var costs []rawCost
			err = w.atOneMoment(ctx, func() error {
				costs, err = w.costs(ctx, hours)
				return err
			})
			if err != nil {
				return false, err
			}
			for i := range costs {
				if !yield(&costs[i].NodeCost, nil) {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil {
			yield(nil, fmt.Errorf("read costs: %w", err))
		}
	}
}
