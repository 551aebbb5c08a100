// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// Report answers as report.Run does from all lines, costs and pods. DuckDB adds up
// lines that the report need not tell apart (report.Alike); which rows that makes,
// and in which order, core decides.
func (s *Store) Report(ctx context.Context, spec report.Spec) (report.Report, error) {
	plan, err := report.PlanOf(spec)
	if err != nil {
		return report.Report{}, err
	}
	if err := s.usable(); err != nil {
		return report.Report{}, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return report.Report{}, err
	}
	defer conn.close()
	q := &reportQuery{Plan: plan, walk: &walk{conn: conn, words: newWordReader(conn), store: s}}
	var out report.Report
	err = q.walk.atOneMoment(ctx, func() error {
		out, err = q.run(ctx)
		return err
	})
	if err != nil {
		return report.Report{}, fmt.Errorf("report: %w", err)
	}
	return out, nil
}

// reportQuery is one report on its way through SQL.
type reportQuery struct {
	report.Plan
	walk  *walk
	sorts *sorts
	pods  alikePods
	from  []source
	adder *report.Adder
	// included is, by currency, what of the total is for hours of the report.
	included map[money.Currency]money.Sum
}

// group is lines that are alike, as SQL adds them up.
type group struct {
	report.Alike
	line ledger.Line
}

func (q *reportQuery) run(ctx context.Context) (out report.Report, err error) {
	if q.sorts, err = q.walk.sorts(ctx); err != nil {
		return out, err
	}
	if err := q.sources(ctx); err != nil {
		return out, err
	}
	where, err := q.where(ctx)
	if err == nil && q.NeedsPod {
		err = q.readPods(ctx, where)
	}
	q.adder, q.included = report.NewAdder(q.Plan), map[money.Currency]money.Sum{}
	for _, from := range q.from {
		if err == nil {
			err = q.read(ctx, from, where)
		}
	}
	if err != nil {
		return out, err
	}
	assets, err := q.assets(ctx)
	if err != nil {
		return out, err
	}
	return q.adder.Report(assets), nil
}

// chargedSQL says whether a line is for hours of the report, which are whole hours.
func (q *reportQuery) chargedSQL() string {
	return fmt.Sprintf("hour >= %d AND hour < %d", q.FromMS/hourMS, q.ToMS/hourMS)
}

// part is a column that lines are told apart by, and where it goes.
type part struct {
	column
	sql string
	put func(*row, *group)
}

// parts are those that the plan needs. All are whole columns: what core makes of
// them, core makes.
func (q *reportQuery) parts() []part {
	out := []part{{column{"sort", integer}, "sort", func(r *row, g *group) {
		if of, err := q.sorts.get(r.i32()); err != nil {
			r.memo.fail(err)
		} else {
			of.apply(&g.line)
			g.line.Basis = &pricing.Basis{Split: string(of.split)}
			g.Priced = of.priced
		}
	}}}
	add := func(name string, p part) {
		if !slices.ContainsFunc(out, func(has part) bool { return has.name == name }) {
			p.name = name
			out = append(out, p)
		}
	}
	textPart := func(name string, to func(*ledger.Line) *string) {
		add(name, part{column{kind: text}, name, func(r *row, g *group) { *to(&g.line) = r.text() }})
	}
	switch q.Time {
	case report.Hour:
		add("hour", part{column{kind: integer}, "hour", func(r *row, g *group) { g.line.StartMS = int64(r.i32()) * hourMS }})
	case report.Day:
		add("day", part{column{kind: integer}, "hour // 24", func(r *row, g *group) { g.line.StartMS = int64(r.i32()) * 24 * hourMS }})
	}
	if q.Booked {
		add("period", part{column{kind: integer}, "period", func(r *row, g *group) { g.line.Period = ledger.Month(r.i32()) }})
	}
	if q.Spec.Booked {
		add("charged", part{column{kind: boolean}, q.chargedSQL(), func(r *row, g *group) { g.Charged = r.boolean() }})
	}
	for _, d := range q.Needs {
		q.need(d, add, textPart)
	}
	return out
}

// need adds the columns of one dimension. Those of sorts need none.
func (q *reportQuery) need(d report.Dimension, add func(string, part), textPart func(string, func(*ledger.Line) *string)) {
	device := func() {
		textPart("device", func(l *ledger.Line) *string { return (*string)(&l.Partition.Device) })
	}
	hasDevice := func() {
		add("has_device", part{column{kind: boolean}, "device <> ''", func(r *row, g *group) {
			if r.boolean() && g.line.Partition.Device == "" {
				g.line.Partition.Device = "?" // there is one; which, nobody asks
			}
		}})
	}
	namespace := func() {
		textPart("namespace", func(l *ledger.Line) *string { return &l.Holder.Namespace })
	}
	pod := func() {
		namespace()
		textPart("pod_name", func(l *ledger.Line) *string { return &l.Holder.Pod })
		// The UID stands for a pod whose name is not known.
		add("unnamed", part{column{kind: text}, "CASE pod_name WHEN '' THEN pod_uid ELSE '' END", func(r *row, g *group) { g.line.Holder.PodUID = r.text() }})
	}
	switch d {
	case report.Cluster:
		textPart("cluster", func(l *ledger.Line) *string { return &l.Cluster })
	case report.Node:
		textPart("node", func(l *ledger.Line) *string { return &l.Node })
	case report.Slot:
		textPart("slot", func(l *ledger.Line) *string { return &l.Slot })
	case report.GPU:
		device()
	case report.Partition:
		device()
		add("instance", part{column{kind: uinteger}, "instance", func(r *row, g *group) { g.line.Partition.Instance = r.u32() }})
		add("since_ms", part{column{kind: bigint}, "since_ms", func(r *row, g *group) { g.line.Partition.SinceMS = r.i64() }})
	case report.Model:
		textPart("model", func(l *ledger.Line) *string { return &l.Model })
		hasDevice()
	case report.Mode:
		hasDevice()
	case report.Profile:
		textPart("profile", func(l *ledger.Line) *string { return &l.Profile })
	case report.Note:
		add("note", part{column{kind: text}, "note", func(r *row, g *group) {
			if !r.null() {
				g.line.Note = r.text()
			}
		}})
	case report.Namespace:
		namespace()
	case report.Pod:
		pod()
	case report.Account:
		pod()
		add("account", part{column{kind: text}, "account", func(r *row, g *group) {
			switch {
			case !r.null():
				g.line.Account = r.text()
			case g.line.Account == "" && g.line.Class() == ledger.Workload:
				g.line.Account = g.line.Holder.Account()
			}
		}})
	}
	if q.NeedsPod {
		add("pod", part{column{kind: bigint}, q.pods.sql, func(r *row, g *group) {
			if id := r.i64(); id != 0 {
				if g.Pod = q.pods.of[id]; g.Pod == nil {
					r.memo.fail(fmt.Errorf("what a pod was, %d, is not in the journal", id))
				}
			}
		}})
	}
}

// numbers are the sums of a group, in the order in which they are read, as a table
// has them.
func (q *reportQuery) numbers(from source) (names []string) {
	names = []string{from.lines, "sum(amount)", "sum(share_ms)", "sum(used_ms)", "sum(unused_ms)", "sum(present_ms)", "sum(granted_ms)",
		"sum(cpu_nanos)", "sum(cpu_request_milli_ms)", "sum(byte_ms)", "sum(request_byte_ms)", from.whole}
	for i := range gpu.Grades() {
		names = append(names, fmt.Sprintf("sum(amount%d)", i))
	}
	if q.View == report.Apart {
		names = append(names, "sum(moved)", from.wholeMoved)
		for i := range gpu.Grades() {
			names = append(names, fmt.Sprintf("sum(moved%d)", i))
		}
	}
	return names
}

// read adds up the lines of one table that are in the total.
func (q *reportQuery) read(ctx context.Context, from source, where string) error {
	parts, numbers := q.parts(), q.numbers(from)
	var columns, by []string
	var want []column
	for i, p := range parts {
		columns, want, by = append(columns, p.sql+" AS "+p.name+"_"), append(want, p.column), append(by, fmt.Sprint(i+1))
	}
	for _, n := range numbers {
		columns, want = append(columns, "coalesce("+n+", 0)::HUGEINT"), append(want, column{n, hugeint})
	}
	query := fmt.Sprintf("SELECT %s FROM %s%s WHERE %s AND %s GROUP BY %s", strings.Join(columns, ", "), from.table, q.pods.join, from.where, where, strings.Join(by, ", "))
	return q.walk.conn.rows(ctx, query, want, q.walk.words.memo, func(r *row) {
		g := group{Alike: report.Alike{Charged: !q.Spec.Booked}}
		g.Line = &g.line
		for _, p := range parts {
			p.put(r, &g)
		}
		q.tally(r, &g)
		if g.Priced && g.Charged && !g.line.IsDrift() {
			addTo(q.included, g.line.Currency, g.Amount)
		}
		if r.memo.err == nil {
			q.adder.Add(&g.Alike)
		}
	})
}

// low is a sum of 128 bits that is one of 64: times of a report.
func (r *row) low() int64 { return int64(at[halves](r).low) }

func (q *reportQuery) tally(r *row, g *group) {
	g.Lines = int(r.low())
	g.Amount = r.sum()
	g.ShareMS, g.UsedMS, g.UnusedMS, g.PresentMS, g.GrantedMS = r.low(), r.low(), r.low(), r.low(), r.low()
	g.CPUNanos, g.CPURequestMilliMS, g.ByteMS, g.RequestByteMS = r.wide(), r.wide(), r.wide(), r.wide()
	rank := g.line.Grade.Rank()
	q.grades(r, g, rank)
	if q.View == report.Apart {
		g.Amount.AddSum(r.sum())
		q.grades(r, g, rank)
	}
}

// grades adds amounts by grade: those of lines that are of their own grade, and the
// parts of the others.
func (q *reportQuery) grades(r *row, g *group, own int) {
	if n := r.sum(); own >= 0 {
		g.Grades[own].AddSum(n)
	}
	for i := range g.Grades {
		g.Grades[i].AddSum(r.sum())
	}
}
