// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/test/storetest"
)

// tablesOf are the tables that a report is read from.
func tablesOf(t *testing.T, s *Store, spec report.Spec) (out []string) {
	t.Helper()
	plan, err := report.PlanOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	q := &reportQuery{Plan: plan, walk: &walk{conn: conn, words: newWordReader(conn), store: s}}
	if err := q.sources(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, from := range q.from {
		out = append(out, from.table)
	}
	return out
}

// TestDaysAreReadAddedUp: a report reads days that were compacted added up, and no
// others; a line that comes to a day has it read line by line again.
func TestDaysAreReadAddedUp(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	ctx := context.Background()
	if err := s.Book(ctx, storetest.Bookings(t, "n1", 100)); err != nil {
		t.Fatal(err)
	}
	day := time.UnixMilli(storetest.Start).UTC().Truncate(24 * time.Hour)
	at := func(hours int) int64 { return day.Add(time.Duration(hours) * time.Hour).UnixMilli() }
	week := report.Spec{FromMS: at(0), ToMS: at(7 * 24), By: []report.Dimension{report.Namespace, report.Week}}
	hourly := report.Spec{FromMS: at(24), ToMS: at(48), By: []report.Dimension{report.Hour}}
	const line, added = "ledger_line", "ledger_day"
	check := func(when string, spec report.Spec, want ...string) {
		t.Helper()
		if got := tablesOf(t, s, spec); !slices.Equal(got, want) {
			t.Errorf("%s: %v are read, want %v", when, got, want)
		}
	}
	compactable := func(want int) {
		t.Helper()
		days, err := s.Compactable(ctx, day.AddDate(0, 0, 4))
		if err != nil || len(days) != want {
			t.Errorf("to be compacted: %v %v, want %d days", days, err, want)
		}
	}
	before, err := s.Report(ctx, week)
	if err != nil {
		t.Fatal(err)
	}
	check("at first", week, line)
	compactable(4)
	for _, n := range []int{1, 2} {
		if err := s.Compact(ctx, day.AddDate(0, 0, n)); err != nil {
			t.Fatal(err)
		}
	}
	check("two days of a week", week, line, line, added)
	check("by hours", hourly, line)
	check("a part of a day", report.Spec{FromMS: at(25), ToMS: at(48)}, line)
	check("a day", report.Spec{FromMS: at(24), ToMS: at(48)}, added)
	check("a month of booking", report.Spec{Month: ledger.MonthOf(storetest.Start), Booked: true}, line, line, added)
	compactable(2)
	after, err := s.Report(ctx, week)
	if err != nil || len(after.Sections) != 1 || after.Sections[0].Total.Lines != before.Sections[0].Total.Lines || after.Sections[0].Total.Cost.Total != before.Sections[0].Total.Cost.Total {
		t.Errorf("%v: the total is %+v, it was %+v", err, after.Sections[0].Total, before.Sections[0].Total)
	}
	d := ledger.Drift{Reference: "r", Currency: "USD", Amount: 1, FromMS: at(24), ToMS: at(25), Revision: ledger.Revision{Reason: "x"}}
	if _, err := s.AddDrift(ctx, d, ledger.Periods{}); err != nil {
		t.Fatal(err)
	}
	check("after a line came", week, line, line, added)
	check("the day of the line", report.Spec{FromMS: at(24), ToMS: at(48)}, line)
	compactable(3)
}
