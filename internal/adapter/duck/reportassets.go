// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
)

// assets is what the nodes cost and what sets the total apart from it. What all
// lines of an hour come to is kept beside them (ledger_hour), so a report by filters
// need not read the lines that it leaves out.
func (q *reportQuery) assets(ctx context.Context) ([]report.Assets, error) {
	of := map[money.Currency]*report.Assets{}
	kept, err := q.hours(ctx, of)
	if err != nil {
		return nil, err
	}
	included := q.included
	if q.Charges || q.Spec.Booked {
		err = q.leftOut(ctx, of, kept, included)
	} else {
		err = q.filtered(ctx, of, kept, included)
	}
	if err != nil {
		return nil, err
	}
	out := slices.SortedFunc(maps.Values(of), func(a, b *report.Assets) int { return cmp.Compare(a.Currency, b.Currency) })
	list := make([]report.Assets, len(out))
	for i := range out {
		list[i] = *out[i]
	}
	return list, nil
}

func assetsOf(of map[money.Currency]*report.Assets, c money.Currency) *report.Assets {
	if of[c] == nil {
		of[c] = &report.Assets{Currency: c}
	}
	return of[c]
}

// viewed are the columns of ledger_hour and ledger_day_hour that are as the view has
// them.
func (q *reportQuery) viewed() (amount, lines, odd string) {
	if q.View == report.Apart {
		return "apart", "lines_apart", "odd_apart"
	}
	return "amount", "lines", "odd"
}

// hours reads what the hours cost, and those that do not balance. It returns what
// their lines come to, by currency.
func (q *reportQuery) hours(ctx context.Context, of map[money.Currency]*report.Assets) (map[money.Currency]money.Sum, error) {
	amount, lines, odd := q.viewed()
	kept, unbalanced := map[money.Currency]money.Sum{}, int64(0)
	first, last := q.hoursCharged()
	all, err := q.stretches(ctx, first, last)
	if err != nil {
		return nil, err
	}
	query := fmt.Sprintf(`SELECT currency, sum(cost)::HUGEINT, sum(amount)::HUGEINT, sum(odd)::BIGINT FROM (
		SELECT currency, cost, %s AS amount, %s AS odd FROM ledger_day_hour WHERE %s AND (pieces > 0 OR %s > 0)
		UNION ALL SELECT currency, cost, %[1]s, (%[1]s <> cost)::BIGINT FROM ledger_hour WHERE %[5]s AND (pieces > 0 OR %[4]s > 0)) GROUP BY currency`,
		amount, odd, all.compacted(), lines, all.others())
	err = q.walk.conn.rows(ctx, query, columnsOf("currency", text, "cost", hugeint, "amount", hugeint, "odd", bigint), q.walk.words.memo, func(r *row) {
		c := money.Currency(r.text())
		assetsOf(of, c).Cost = r.sum()
		kept[c] = r.sum()
		unbalanced += r.i64()
	})
	if err != nil || unbalanced == 0 {
		return kept, err
	}
	query = fmt.Sprintf("SELECT hour, cluster, node, currency, (%s - cost)::HUGEINT, %[2]s > 0 FROM ledger_hour WHERE %[3]s AND %[1]s <> cost", amount, lines, q.chargedSQL())
	return kept, q.walk.conn.rows(ctx, query, oddColumns, q.walk.words.memo, func(r *row) { addOdd(r, of) })
}

var oddColumns = columnsOf("hour", integer, "cluster", text, "node", text, "currency", text, "over", hugeint, "lines", boolean)

// addOdd takes an hour whose lines do not come to its cost.
func addOdd(r *row, of map[money.Currency]*report.Assets) {
	hour := r.i32()
	h := ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}
	a, over := assetsOf(of, money.Currency(r.text())), r.sum()
	if r.boolean() {
		a.Off.Add(h, over)
	} else {
		a.Unrated.Add(h, over)
	}
}

// filtered is for reports of all that was booked for their hours: what is not in the
// total is filtered out. Where nothing is, the lines must come to what was kept
// beside them; if they do not, somebody else has been at the tables, and all lines
// are added up.
func (q *reportQuery) filtered(ctx context.Context, of map[money.Currency]*report.Assets, kept, included map[money.Currency]money.Sum) error {
	if err := q.driftCurrencies(ctx, of); err != nil {
		return err
	}
	if len(q.Spec.Where) == 0 && !maps.Equal(without0(kept), without0(included)) {
		return q.recount(ctx, of)
	}
	for c, sum := range kept {
		in := included[c]
		in.AddSum(sum.Neg())
		assetsOf(of, c).Filtered = in
	}
	return nil
}

func without0(sums map[money.Currency]money.Sum) map[money.Currency]money.Sum {
	out := maps.Clone(sums)
	maps.DeleteFunc(out, func(_ money.Currency, s money.Sum) bool { return s == money.Sum{} })
	return out
}

// driftCurrencies sees that the currency of every drift has its assets.
func (q *reportQuery) driftCurrencies(ctx context.Context, of map[money.Currency]*report.Assets) error {
	any := false
	drifts := q.sorts.which(func(s *lineSort) bool { any = any || s.entryKind == ""; return s.entryKind == "" && s.priced })
	if !any {
		return nil
	}
	for _, from := range q.from {
		query := fmt.Sprintf("SELECT DISTINCT sort FROM %s WHERE %s AND %s AND %s", from.table, from.where, q.chargedSQL(), drifts)
		err := q.walk.conn.rows(ctx, query, columnsOf("sort", integer), q.walk.words.memo, func(r *row) {
			if s, err := q.sorts.get(r.i32()); err != nil {
				r.memo.fail(err)
			} else {
				assetsOf(of, s.currency)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOut is for reports of less than all that was booked: it reads what of the
// lines is not in the total, and why.
func (q *reportQuery) leftOut(ctx context.Context, of map[money.Currency]*report.Assets, kept, included map[money.Currency]money.Sum) error {
	booked := "true"
	if q.Spec.Booked {
		booked = fmt.Sprintf("period = %d", q.Spec.Month)
	}
	moved := "0::HUGEINT"
	if q.View == report.Apart {
		moved = "coalesce(sum(moved), 0)::HUGEINT"
	}
	scope := q.chargedSQL()
	if q.Spec.Booked {
		scope = fmt.Sprintf("(%s OR %s)", scope, booked)
	}
	rest, all := map[money.Currency]money.Sum{}, map[money.Currency]money.Sum{}
	want := columnsOf("sort", integer, "booked", boolean, "charged", boolean, "amount", hugeint, "moved", hugeint)
	for _, from := range q.from {
		query := fmt.Sprintf("SELECT sort, %s, %s, sum(amount)::HUGEINT, %s FROM %s WHERE %s AND %s AND %s GROUP BY ALL", booked, q.chargedSQL(), moved, from.table, from.where, scope,
			q.sorts.which(func(s *lineSort) bool { return s.priced && q.Shows(s.entryKind) }))
		err := q.walk.conn.rows(ctx, query, want, q.walk.words.memo, func(r *row) {
			s, err := q.sorts.get(r.i32())
			if err != nil {
				r.memo.fail(err)
				return
			}
			booked, charged, sum := r.boolean(), r.boolean(), r.sum()
			sum.AddSum(r.sum())
			a := assetsOf(of, s.currency)
			if s.entryKind == "" || !charged {
				return
			}
			addTo(all, s.currency, sum)
			switch {
			case !booked:
				a.Later.AddSum(sum.Neg())
			case q.Charges && s.kind != ledger.Charge:
				a.Charges.AddSum(sum.Neg())
			default:
				addTo(rest, s.currency, sum)
			}
		})
		if err != nil {
			return err
		}
	}
	for c, sum := range rest {
		in := included[c]
		in.AddSum(sum.Neg())
		assetsOf(of, c).Filtered = in
	}
	if !maps.Equal(without0(kept), without0(all)) {
		return q.recount(ctx, of)
	}
	return nil
}

func addTo(sums map[money.Currency]money.Sum, c money.Currency, n money.Sum) {
	sum := sums[c]
	sum.AddSum(n)
	sums[c] = sum
}

// recount finds the hours that do not balance from every line.
func (q *reportQuery) recount(ctx context.Context, of map[money.Currency]*report.Assets) error {
	for _, a := range of {
		a.Unrated, a.Off = report.OddHours{}, report.OddHours{}
	}
	amount := "amount"
	if q.View == report.Apart {
		amount = "amount::HUGEINT + coalesce(moved, 0)"
	}
	lines := q.sorts.which(func(s *lineSort) bool { return s.priced && s.entryKind != "" && q.Shows(s.entryKind) })
	query := fmt.Sprintf(`
		WITH charged AS (SELECT hour, cluster, node, %s AS currency, sum(%s) AS amount FROM ledger_line WHERE %s AND %s GROUP BY ALL),
		costs AS (SELECT hour, cluster, node, currency, sum(cost) AS cost FROM ledger_hour WHERE %[4]s GROUP BY ALL)
		SELECT hour, cluster, node, currency, (coalesce(amount, 0) - coalesce(cost, 0))::HUGEINT, amount IS NOT NULL
		FROM charged FULL JOIN costs USING (hour, cluster, node, currency) WHERE coalesce(amount, 0) <> coalesce(cost, 0)`, q.sorts.currencySQL(), amount, lines, q.chargedSQL())
	return q.walk.conn.rows(ctx, query, oddColumns, q.walk.words.memo, func(r *row) { addOdd(r, of) })
}
