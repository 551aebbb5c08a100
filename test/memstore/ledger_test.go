// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/report"
)

// TestTheLedgerHolds: what Open makes is a ledger: rated whole, without a
// violation, in two currencies and with hours without a price.
func TestTheLedgerHolds(t *testing.T) {
	l, err := Open(t.Context(), End.Add(6*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	checked, err := l.CheckLedger(t.Context(), inquiry.CheckRequest{}, func(inquiry.Progress) {})
	if err != nil || checked.Violation != nil || checked.Hours < 18 {
		t.Fatalf("%+v, %v", checked, err)
	}
	r, err := l.Report(t.Context(), report.Spec{FromMS: Start.Add(-time.Hour).UnixMilli(), ToMS: End.UnixMilli(), By: []report.Dimension{report.Namespace}})
	if err != nil || len(r.Sections) != 3 {
		t.Fatalf("%d sections, %v", len(r.Sections), err)
	}
	for _, s := range r.Sections[1:] {
		if s.Balance.Assets == nil || len(s.Balance.Differences) != 0 || *s.Balance.Assets != s.Total.Cost.Total {
			t.Errorf("%s: %+v beside %v", s.Currency, s.Balance, s.Total.Cost)
		}
	}
	if u := r.Sections[0].Total.Unpriced; u.GPUMS == 0 {
		t.Error("everything has a price: nothing says how it looks without one")
	}
}
