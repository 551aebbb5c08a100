// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// TestMonth: the month through the store. Every entry is what the pure cores say,
// to the billionth; every report balances; and nothing is broken.
func TestMonth(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "ledger"), afterwards)
	began := time.Now()
	b.deliver(inOrder(records()))
	arrived := time.Now()
	b.rate()
	t.Logf("the month arrived in %s and was rated in %s", arrived.Sub(began).Round(time.Millisecond), time.Since(arrived).Round(time.Millisecond))
	lines := b.lines(ledger.Query{})
	split, all := pricesOf(t, bookText)
	prices, err := pricing.New(split, all...)
	if err != nil {
		t.Fatal(err)
	}
	sameBooks(t, netOfOutcomes(t, rate(t, records(), prices, policy)), netOf(lines))
	var cost, booked money.Sum
	for _, c := range b.costs() {
		cost.Add(c.Total)
	}
	for i := range lines {
		booked.Add(*lines[i].Amount)
	}
	if cost.Cmp(booked) != 0 {
		t.Errorf("lines sum to %s, nodes cost %s", booked.String(), cost.String())
	}
	got := b.check()
	if got.Violation != nil {
		t.Errorf("ledger check: %v", got.Violation)
	}
	if got.Lines != int64(len(lines)) || got.Hours < 3*30*24 {
		t.Errorf("checked %d lines of %d hours, want %d of at least %d", got.Lines, got.Hours, len(lines), 3*30*24)
	}
	t.Logf("%d lines, %s USD, checked %+v", len(lines), cost.String(), got)
	b.everyReport(cost)
}

// everyReport asks for the month by every dimension: each row's money sums to what
// the nodes cost.
func (b *books) everyReport(cost money.Sum) {
	b.t.Helper()
	for _, d := range append(report.Dimensions(), "label:team", "label:cost-center") {
		r, err := b.service.Report(context.Background(), report.Spec{
			FromMS: monthFrom.AddDate(0, 0, -1).UnixMilli(), ToMS: afterwards.Truncate(time.Hour).UnixMilli(), By: []report.Dimension{d},
		})
		if err != nil {
			b.t.Errorf("by %s: %v", d, err)
			continue
		}
		if len(r.Sections) != 1 {
			b.t.Errorf("by %s: %d sections, want one currency", d, len(r.Sections))
			continue
		}
		s := r.Sections[0]
		var rows money.Sum
		for _, row := range s.Rows {
			rows.AddSum(row.Cost.Total)
		}
		if rows.Cmp(cost) != 0 || s.Total.Cost.Total.Cmp(cost) != 0 || s.Balance.Assets.Cmp(cost) != 0 || len(s.Balance.Differences) > 0 {
			b.t.Errorf("by %s: rows sum to %s, the total is %s, the nodes cost %s; balance %+v", d, rows.String(), s.Total.Cost.Total.String(), cost.String(), s.Balance)
		}
		if len(s.Rows) < 2 && !single[d] {
			b.t.Errorf("by %s: %d rows", d, len(s.Rows))
		}
	}
}

// single are the dimensions of which the month has one value.
var single = map[report.Dimension]bool{
	report.Set: true, report.Price: true, report.Split: true, report.Policy: true, report.Kind: true, report.From: true,
}

// TestRateAgain: asking for every hour once more books nothing.
func TestRateAgain(t *testing.T) {
	b, _ := few(t, nil)
	before := b.lines(ledger.Query{})
	var hours []ledger.NodeHour
	for h, err := range b.store.Rated(context.Background(), monthFrom.AddDate(0, 0, -1), afterwards, "") {
		if err != nil {
			t.Fatal(err)
		}
		hours = append(hours, h.NodeHour)
	}
	if err := b.store.Ask(context.Background(), hours); err != nil {
		t.Fatal(err)
	}
	if n, _, err := b.store.Backlog(context.Background(), b.now); err != nil || n != len(hours) {
		t.Fatalf("%d of %d hours are due: %v", n, len(hours), err)
	}
	was := b.rater.Status()
	b.rate()
	if now := b.rater.Status(); now.Hours-was.Hours != uint64(len(hours)) || now.Lines != was.Lines {
		t.Errorf("%d of %d hours were rated and %d lines booked, want none", now.Hours-was.Hours, len(hours), now.Lines-was.Lines)
	}
	if after := b.lines(ledger.Query{}); len(after) != len(before) {
		t.Errorf("%d lines became %d", len(before), len(after))
	}
}

// TestOpenedAgain: what was booked is there after the program ended, and more may
// be booked.
func TestOpenedAgain(t *testing.T) {
	b, _ := few(t, nil)
	before := netOf(b.lines(ledger.Query{}))
	b.close()
	b.now = b.now.Add(time.Hour)
	b.open()
	b.rate()
	if after := netOf(b.lines(ledger.Query{})); !maps.Equal(before, after) {
		t.Error("the ledger is another after it was opened again")
	}
	b.sound()
}
