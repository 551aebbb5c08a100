// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/report"
)

// source is a table that has some of a report's lines: those of days that were
// compacted, added up, or one by one. Both tables name their columns alike.
type source struct {
	table, where             string
	lines, whole, wholeMoved string
}

// hoursOf are lines one by one, of the hours from one to another.
func hoursOf(first, last int32) source {
	return source{table: lineTable.name, where: fmt.Sprintf("hour BETWEEN %d AND %d", first, last), lines: "count(*)",
		whole: "sum(amount) FILTER (NOT graded)", wholeMoved: "sum(moved) FILTER (NOT graded)"}
}

// lastHour is beyond all hours there are.
const lastHour = int32(1) << 30

// stretches are the hours from one to another: days that were compacted, by their
// first hours, and the stretches between them.
type stretches struct {
	days    []string
	between [][2]int32
}

func (q *reportQuery) stretches(ctx context.Context, first, last int32) (out stretches, err error) {
	at := first
	query := fmt.Sprintf("SELECT day FROM ledger_rolled WHERE day >= %d AND day < %d ORDER BY day", (first+dayHours-1)/dayHours, (last+1)/dayHours)
	err = q.walk.conn.rows(ctx, query, rolledTable.columns, q.walk.words.memo, func(r *row) {
		hour := r.i32() * dayHours
		out.days = append(out.days, fmt.Sprint(hour))
		if at < hour {
			out.between = append(out.between, [2]int32{at, hour - 1})
		}
		at = hour + dayHours
	})
	if at <= last {
		out.between = append(out.between, [2]int32{at, last})
	}
	return out, err
}

// compacted is the condition of rows that stand for days.
func (s *stretches) compacted() string {
	if len(s.days) == 0 {
		return "false"
	}
	return "hour IN (" + strings.Join(s.days, ", ") + ")"
}

// others is the condition of hours that are not in those days.
func (s *stretches) others() string {
	or := make([]string, len(s.between))
	for i, b := range s.between {
		or[i] = fmt.Sprintf("hour BETWEEN %d AND %d", b[0], b[1])
	}
	if len(or) == 0 {
		return "false"
	}
	return "(" + strings.Join(or, " OR ") + ")"
}

// sources finds out where the lines of a report are. Days that were compacted are
// read added up, unless rows are told apart by hours.
func (q *reportQuery) sources(ctx context.Context) (err error) {
	// What is booked in a month may be of any day; the month itself is whole days.
	first, last := int32(0), lastHour
	if !q.Spec.Booked {
		first, last = q.hoursCharged()
	}
	all := stretches{between: [][2]int32{{first, last}}}
	if q.Time != report.Hour {
		if all, err = q.stretches(ctx, first, last); err != nil {
			return err
		}
	}
	for _, b := range all.between {
		q.from = append(q.from, hoursOf(b[0], b[1]))
	}
	if len(all.between) > fewSources {
		whole := hoursOf(first, last)
		whole.where += " AND " + all.others()
		q.from = []source{whole}
	}
	if len(all.days) > 0 {
		q.from = append(q.from, source{table: dayTable.name, where: all.compacted(), lines: "sum(lines)", whole: "sum(whole)", wholeMoved: "sum(whole_moved)"})
	}
	return nil
}

// hoursCharged are the hours of the report, the first and the last.
func (q *reportQuery) hoursCharged() (first, last int32) {
	return int32(q.FromMS / hourMS), int32(q.ToMS/hourMS) - 1
}

// fewSources is up to how many stretches of hours are read one after another. Tests
// make it small.
var fewSources = 6
