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

// sources finds out where the lines of a report are. Days that were compacted are
// read added up, unless rows are told apart by hours.
func (q *reportQuery) sources(ctx context.Context) error {
	// What is booked in a month may be of any day; the month itself is whole days.
	first, last := int32(0), lastHour
	if !q.Spec.Booked {
		first, last = int32(q.FromMS/hourMS), int32(q.ToMS/hourMS)-1
	}
	if q.Time == report.Hour {
		q.from = []source{hoursOf(first, last)}
		return nil
	}
	var days []string
	at := first
	query := fmt.Sprintf("SELECT day FROM ledger_rolled WHERE day >= %d AND day < %d ORDER BY day", (first+dayHours-1)/dayHours, (last+1)/dayHours)
	err := q.walk.conn.rows(ctx, query, rolledTable.columns, q.walk.words.memo, func(r *row) {
		hour := r.i32() * dayHours
		days = append(days, fmt.Sprint(hour))
		if at < hour {
			q.from = append(q.from, hoursOf(at, hour-1))
		}
		at = hour + dayHours
	})
	if err != nil {
		return err
	}
	if at <= last {
		q.from = append(q.from, hoursOf(at, last))
	}
	if len(days) == 0 {
		return nil
	}
	compacted := "hour IN (" + strings.Join(days, ", ") + ")"
	if len(q.from) > fewSources {
		whole := hoursOf(first, last)
		whole.where += fmt.Sprintf(" AND hour // %d * %[1]d NOT IN (%s)", dayHours, strings.Join(days, ", "))
		q.from = []source{whole}
	}
	q.from = append(q.from, source{table: dayTable.name, where: compacted, lines: "sum(lines)", whole: "sum(whole)", wholeMoved: "sum(whole_moved)"})
	return nil
}

// fewSources is up to how many stretches of hours are read one after another.
const fewSources = 6
