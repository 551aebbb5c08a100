// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/test/storetest"
)

// beforeSplits makes a ledger one of the schema before 0006: sorts do not tell rules
// of splitting apart, neither on lines nor in the sums of days.
func beforeSplits(t *testing.T, s *Store) {
	t.Helper()
	var names []string
	for _, c := range sortTable.columns {
		if c.name != "id" && c.name != "split" {
			names = append(names, c.name)
		}
	}
	list := strings.Join(names, ", ")
	for _, statement := range []string{
		"CREATE TABLE merged AS SELECT id, (dense_rank() OVER (ORDER BY " + list + ") - 1)::INTEGER AS number FROM ledger_sort",
		"CREATE TABLE former AS SELECT DISTINCT number AS id, " + list + " FROM ledger_sort JOIN merged USING (id)",
		"UPDATE ledger_line SET sort = number FROM merged WHERE id = sort",
		"UPDATE ledger_day SET sort = number FROM merged WHERE merged.id = sort",
		"DELETE FROM ledger_sort",
		"ALTER TABLE ledger_sort DROP COLUMN split",
		"INSERT INTO ledger_sort SELECT * FROM former ORDER BY id",
		"DROP TABLE merged",
		"DROP TABLE former",
		"DELETE FROM schema_version WHERE version >= 6",
	} {
		if _, err := s.db.Exec(strings.Replace(statement, "WHERE id = sort", "WHERE merged.id = sort", 1)); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// differently is the next booking of an hour that costs something else under a rule.
// asDifference: as it was booked once, without heed of the rule.
func differently(t *testing.T, before rating.Booking, price money.Nano, rule pricing.Rule, asDifference bool, at ledger.Periods) rating.Booking {
	t.Helper()
	entries, err := ledger.Net(before.Lines)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		e := &entries[i]
		b, amount := *e.Basis, *e.Amount+price
		if !asDifference {
			b.Split = string(rule)
		}
		e.Basis, e.Amount = &b, &amount
	}
	lines, err := ledger.Book(before.Lines, ledger.Rating{NodeHour: before.Rated.NodeHour, Entries: entries, Revision: ledger.Revision{AtMS: 2}}, at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		if lines[i].Step == ledger.Changed {
			lines[i].Basis.Split = string(rule)
		} else if asDifference {
			t.Fatalf("%s books a %q", before.Rated.NodeHour, lines[i].Step)
		}
	}
	next := rating.Booking{Rated: before.Rated, After: before.Rated.Booking, Lines: lines}
	next.Rated.Booking++
	return next
}

// TestSplitsOfAnEarlierLedger: a ledger that was made before sums knew the rule of
// splitting says it of every line all the same, since lines had it; but of lines that
// lead from one rule to another it says that it is not known. What is closed stays
// closed, and days that the rules do not part stay added up.
func TestSplitsOfAnEarlierLedger(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s, _ := opened(t, dir)
	first := storetest.Bookings(t, "n1", 4)
	month := ledger.MonthOf(storetest.Start)
	book := func(b ...rating.Booking) {
		t.Helper()
		if err := s.Book(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range first[3].Lines { // another rule from the start
		b := *first[3].Lines[i].Basis
		b.Split = string(pricing.RuleOpenCost)
		first[3].Lines[i].Basis = &b
	}
	book(first...)
	other := storetest.Bookings(t, "n2", 50)[49] // a day of one rule
	book(other)
	book(differently(t, first[1], 5, pricing.RuleAWS, true, ledger.Periods{}))
	closed, err := s.CloseMonth(ctx, ledger.Closing{Scope: ledger.Scope{Currency: "USD"}, Month: month, Level: ledger.ByAccount, AtMS: month.EndMS() + 10*hourMS, By: "kim"})
	if err != nil {
		t.Fatal(err)
	}
	// A correction of a closed month under another rule: the month is of the first.
	book(differently(t, first[2], 7, pricing.RuleAWS, true, ledger.NewPeriods(nil, []ledger.Closed{closed})))
	days := []time.Time{time.UnixMilli(first[0].Rated.HourMS), time.UnixMilli(other.Rated.HourMS)}
	for _, day := range days {
		if err := s.Compact(ctx, day); err != nil {
			t.Fatal(err)
		}
	}
	lines := everyLine(t, s)
	total := splitReport(t, s, report.Spec{Month: month})
	beforeSplits(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s, problems := opened(t, dir)
	if len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	if diff := godiff.Diff(lines, everyLine(t, s), godiff.AllowUnexported(ledger.Wide{})); diff != "" {
		t.Fatalf("lines changed (-before +after):\n%s", diff)
	}
	if err := s.Verify(ctx, closed); err != nil {
		t.Error(err)
	}
	left, err := s.Compactable(ctx, days[1].AddDate(0, 0, 9))
	if err != nil || len(left) != 1 || !left[0].Equal(days[0].Truncate(24*time.Hour)) {
		t.Errorf("days to add up again: %v, %v; want that of several rules", left, err)
	}
	check := func() {
		t.Helper()
		for _, spec := range []report.Spec{{Month: month}, {Month: month, Booked: true}, {Month: month + 1, Booked: true}} {
			want := map[string]money.Sum{}
			for i := range lines {
				l := &lines[i]
				if spec.Booked && l.Period != spec.Month {
					continue
				}
				rule := string(l.Split())
				switch {
				case l.HourMS == first[1].Rated.HourMS, l.HourMS == first[2].Rated.HourMS && l.Period != month:
					rule = report.Unknown
				}
				sum := want[rule]
				sum.Add(*l.Amount)
				want[rule] = sum
			}
			if got := splitReport(t, s, spec); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v is, by rule, %v; want %v", spec, got, want)
			}
		}
	}
	check()
	for _, day := range left {
		if err := s.Compact(ctx, day); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if v, err := s.CheckSums(ctx, days[0].Add(-24*time.Hour), days[1].Add(24*time.Hour)); v != nil || err != nil {
		t.Errorf("sums: %v, %v", v, err)
	}
	// What is booked now tells the rules apart, and all of it is what it was.
	next := first[0]
	next.Lines = linesOf(lines, next.Rated.NodeHour)
	again := differently(t, next, 0, pricing.RuleAWS, false, ledger.NewPeriods(nil, []ledger.Closed{closed}))
	book(again)
	got := splitReport(t, s, report.Spec{Month: month})
	var sum, was money.Sum
	for _, n := range got {
		sum.AddSum(n)
	}
	for _, n := range total {
		was.AddSum(n)
	}
	if _, there := got[string(pricing.RuleAWS)]; !there || sum != was {
		t.Errorf("by rule %v, together %s; want some under %s, together %s", got, sum, pricing.RuleAWS, was)
	}
}

func linesOf(lines []ledger.Line, h ledger.NodeHour) (out []ledger.Line) {
	for i := range lines {
		if lines[i].NodeHour == h {
			out = append(out, lines[i])
		}
	}
	return out
}

func everyLine(t *testing.T, s *Store) (out []ledger.Line) {
	t.Helper()
	for l, err := range s.Lines(context.Background(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b ledger.Line) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// splitReport is the total of a report by rule of splitting.
func splitReport(t *testing.T, s *Store, spec report.Spec) map[string]money.Sum {
	t.Helper()
	spec.By = []report.Dimension{report.Split}
	r, err := s.Report(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]money.Sum{}
	for _, section := range r.Sections {
		for _, row := range section.Rows {
			out[row.Keys[0]] = row.Cost.Total
		}
	}
	return out
}
