// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// TestOpenHours: what a report says of hours that are not booked yet is what is booked
// for them when they are over, and the hour under way is there from its first record.
func TestOpenHours(t *testing.T) {
	from, now := fewFrom, fewFrom.Add(3*time.Hour+30*time.Minute)
	records := slices.DeleteFunc(inOrder(days(fewFrom, 1)), func(b usage.Batch) bool { return b.StartMS+b.DurationMS > now.UnixMilli() })
	b := open(t, filepath.Join(t.TempDir(), "ledger"), now)
	ask := func(open bool, to time.Time) []report.Section {
		t.Helper()
		r, err := b.service.Report(t.Context(), report.Spec{
			FromMS: from.UnixMilli(), ToMS: to.UnixMilli(), Open: open, By: []report.Dimension{report.Namespace, report.Workload, "label:team", report.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Sections
	}
	over, soon := now.Truncate(time.Hour), now.Truncate(time.Hour).Add(time.Hour)
	if s := ask(true, soon); len(s) != 0 {
		t.Errorf("without records: %d sections", len(s))
	}
	b.deliver(records)
	early, all := ask(true, over), ask(true, soon)
	if n := len(b.lines(ledger.Query{})); n != 0 {
		t.Fatalf("%d lines were booked by asking", n)
	}
	b.rate()
	opts := cmp.Options{cmp.AllowUnexported(ledger.Wide{}, money.Sum{})}
	booked := ask(false, over)
	if len(booked) == 0 || len(booked[0].Rows) < 20 {
		t.Fatalf("too little is booked to prove anything: %+v", booked)
	}
	if diff := cmp.Diff(booked, early, opts); diff != "" {
		t.Errorf("the report before booking (-booked +open):\n%s", diff)
	}
	under := ask(true, soon)
	if len(under) != 1 || len(under[0].Rows) >= len(all[0].Rows) {
		t.Fatalf("the hour under way: %d sections", len(under))
	}
	sum, running := booked[0].Total.Cost.Total, under[0].Total.Cost.Total
	sum.AddSum(running)
	if sum != all[0].Total.Cost.Total || running.Cmp(money.Sum{}) <= 0 {
		t.Errorf("booked %v and open %v, all was %v", booked[0].Total.Cost.Total, running, all[0].Total.Cost.Total)
	}
	if a := under[0].Balance.Assets; a == nil || *a != running || len(under[0].Balance.Differences) != 0 {
		t.Errorf("the hour under way does not balance: %+v", under[0].Balance)
	}
	if s := ask(true, over); len(s) != 0 {
		t.Errorf("hours that are booked are open: %+v", s)
	}
}
