// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/test/storetest"
)

// TestSumsAreChecked: the sums that reports are read from are held against the lines: a
// figure or a name that is changed, a row that is missing, one that is too many.
func TestSumsAreChecked(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	ctx := context.Background()
	if err := s.Book(ctx, storetest.Bookings(t, "n1", 60)); err != nil {
		t.Fatal(err)
	}
	day := time.UnixMilli(storetest.Start).UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	if err := s.Compact(ctx, day); err != nil {
		t.Fatal(err)
	}
	check := func(days int) *ledger.Violation {
		t.Helper()
		from := day.AddDate(0, 0, days)
		v, err := s.CheckSums(ctx, from, from.AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	sound := func(when string) {
		t.Helper()
		for days := -1; days <= 1; days++ {
			if v := check(days); v != nil {
				t.Fatalf("%s, day %d: %v", when, days, v)
			}
		}
	}
	exec := func(statement string) {
		t.Helper()
		if _, err := s.db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	sound("at first")
	for _, of := range []struct {
		table
		set []string
	}{
		{hourTable, []string{"node = 'another'", "apart = apart + 1"}},
		{dayTable, []string{"namespace = 'another'", "moved5 = coalesce(moved5, 0) + 1"}},
		{dayHourTable, []string{"currency = 'EUR'", "odd_apart = odd_apart + 1"}},
	} {
		one := fmt.Sprintf("hour = (SELECT min(hour) FROM %s WHERE hour >= %d)", of.name, hourOf(day.UnixMilli()))
		faults := []string{"DELETE FROM " + of.name + " WHERE " + one, "INSERT INTO " + of.name + " SELECT * FROM " + of.name + " WHERE " + one}
		for _, set := range of.set {
			faults = append(faults, "UPDATE "+of.name+" SET "+set+" WHERE "+one)
		}
		for _, fault := range faults {
			exec("CREATE OR REPLACE TABLE kept AS SELECT * FROM " + of.name)
			exec(fault)
			if v := check(0); v == nil || v.Invariant != ledger.SumsOff || !strings.Contains(v.Detail, "(table "+of.name+")") {
				t.Errorf("%s: found %v", fault, v)
			}
			if v := check(-1); v != nil {
				t.Errorf("%s: the day before says %v", fault, v)
			}
			exec("DELETE FROM " + of.name)
			exec("INSERT INTO " + of.name + " SELECT * FROM kept")
		}
	}
	sound("in the end")
	if v, err := s.CheckSums(ctx, day.Add(time.Hour), day.Add(5*time.Hour)); v != nil || err != nil {
		t.Errorf("a part of a day: %v, %v", v, err)
	}
}
