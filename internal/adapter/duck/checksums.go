// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
)

// CheckSums holds the sums that reports are read from against what they are sums of:
// those of the hours in [from, to) against lines and costs, those of compacted days
// that lie in it against the day's lines and hours. It returns the first that is
// something else, or nil.
func (s *Store) CheckSums(ctx context.Context, from, to time.Time) (v *ledger.Violation, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	c := &sumCheck{walk: &walk{conn: conn, words: newWordReader(conn), store: s}}
	err = c.walk.atOneMoment(ctx, func() error { return c.run(ctx, from, to) })
	if err != nil {
		return nil, fmt.Errorf("check sums: %w", err)
	}
	return c.found, nil
}

// sumCheck is a check on its way. It ends with what was found first.
type sumCheck struct {
	walk  *walk
	found *ledger.Violation
}

func (c *sumCheck) run(ctx context.Context, from, to time.Time) error {
	known, err := c.walk.sorts(ctx)
	if err != nil {
		return err
	}
	hours := hoursBetween(from, to)
	if err := c.same(ctx, hourTable, hours, hoursOfLines(known, hours)); err != nil {
		return err
	}
	var days []int32
	query := "SELECT day FROM ledger_rolled WHERE " + strings.ReplaceAll(hours, "hour", fmt.Sprintf("day * %d", dayHours)) + " ORDER BY day"
	err = c.walk.conn.rows(ctx, query, rolledTable.columns, c.walk.words.memo, func(r *row) { days = append(days, r.i32()) })
	if err != nil {
		return err
	}
	for _, day := range days {
		if !hourTime(day*dayHours + dayHours).After(to) {
			err = c.day(ctx, day)
		}
		if err != nil || c.found != nil {
			return err
		}
	}
	return nil
}

func (c *sumCheck) day(ctx context.Context, day int32) error {
	where := fmt.Sprintf("hour = %d", day*dayHours)
	if err := c.same(ctx, dayTable, where, daySQL(day, "(SELECT * FROM ledger_line WHERE "+hoursOfDay(day)+")")); err != nil {
		return err
	}
	return c.same(ctx, dayHourTable, where, dayHoursSQL(day))
}

// same looks for the first row of a table that is not as it should be, or that should
// be there.
func (c *sumCheck) same(ctx context.Context, t table, where, want string) error {
	if c.found != nil {
		return nil
	}
	named := columnsOf("hour", integer)
	for _, column := range t.columns {
		if slices.Contains([]string{"cluster", "node", "namespace", "pod_name", "currency"}, column.name) {
			named = append(named, column)
		}
	}
	list := table{columns: named}.list()
	is := fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.list(), t.name, where)
	query := fmt.Sprintf("SELECT %[1]s FROM (((%[2]s) EXCEPT ALL (%[3]s)) UNION ALL ((%[3]s) EXCEPT ALL (%[2]s))) AS odd(%[4]s) ORDER BY %[1]s LIMIT 1", list, is, want, t.list())
	return c.walk.conn.rows(ctx, query, named, c.walk.words.memo, func(r *row) {
		detail := "from " + hourTime(r.i32()).Format(time.RFC3339)
		for _, column := range named[1:] {
			detail += fmt.Sprintf(", %s %q", strings.TrimSuffix(column.name, "_name"), r.text())
		}
		c.found = &ledger.Violation{Invariant: ledger.SumsOff, Detail: fmt.Sprintf("a sum that reports are read from (table %s) is not that of its lines and costs: %s", t.name, detail)}
	})
}

// hoursOfLines is what ledger_hour should have.
func hoursOfLines(known *sorts, hours string) string {
	counted := known.which(func(s *lineSort) bool { return s.priced && s.entryKind != "" })
	shared := known.which(func(s *lineSort) bool { return s.entryKind == allocation.Shared })
	return fmt.Sprintf(`SELECT hour, cluster, node, currency, coalesce(sum(cost), 0)::HUGEINT, coalesce(sum(amount), 0)::HUGEINT, coalesce(sum(apart), 0)::HUGEINT,
			sum(lines)::BIGINT, sum(lines_apart)::BIGINT, sum(pieces)::BIGINT FROM (
		SELECT hour, cluster, node, %s AS currency, 0 AS cost, amount, CASE WHEN %s THEN 0 ELSE amount::HUGEINT + coalesce(moved, 0) END AS apart,
			1 AS lines, CASE WHEN %[2]s THEN 0 ELSE 1 END AS lines_apart, 0 AS pieces FROM ledger_line WHERE %[3]s AND %[4]s
		UNION ALL SELECT hour, cluster, node, currency, total, 0, 0, 0, 0, 1 FROM ledger_cost WHERE %[3]s AND priced) GROUP BY hour, cluster, node, currency`,
		known.currencySQL(), shared, hours, counted)
}
