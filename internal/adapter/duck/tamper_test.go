// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"testing"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/test/storetest"
)

// TestReportsSeeWhatWasDoneToLines: sums are kept beside the lines, and do not hide
// what somebody does to the lines behind the store's back.
func TestReportsSeeWhatWasDoneToLines(t *testing.T) {
	ctx := context.Background()
	for name, tamper := range map[string]string{
		"an amount":  "UPDATE ledger_line SET amount = amount + 1 WHERE hour = (SELECT min(hour) FROM ledger_line) AND slot = '00000000:00:00.0'",
		"a line":     "DELETE FROM ledger_line WHERE hour = (SELECT min(hour) FROM ledger_line) AND slot = '00000000:00:00.0'",
		"all of one": "DELETE FROM ledger_line WHERE hour = (SELECT min(hour) FROM ledger_line)",
	} {
		s, _ := opened(t, t.TempDir())
		if err := s.Book(ctx, storetest.Bookings(t, "n1", 3)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Exec(tamper); err != nil {
			t.Fatal(err)
		}
		for _, spec := range []report.Spec{
			{Month: ledger.MonthOf(storetest.Start)}, {Month: ledger.MonthOf(storetest.Start), Cost: report.Charged},
			{Month: ledger.MonthOf(storetest.Start), Booked: true, View: report.Distributed},
		} {
			r, err := s.Report(ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			want := report.DiffOutOfBalance
			if name == "all of one" {
				want = report.DiffUnrated
			}
			if d := r.Sections[0].Balance.Differences; len(d) != 1 || d[0].Name != want {
				t.Errorf("%s: %+v reports %v, want %s", name, spec, d, want)
			}
		}
	}
}
