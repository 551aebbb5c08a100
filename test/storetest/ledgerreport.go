// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// reports: whatever is asked of whatever journal, the store answers as
// report.Run does from all lines, costs and pods. Each run of the property has two
// months of its own in one store.
func reports(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		w := drawWorld(t, b.with(t), ledger.Month(2000*12+4*run))
		for range 3 {
			spec := w.drawSpec(t)
			want, err := report.Run(spec, w.input())
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Report(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			alike(t, fmt.Sprintf("report %+v", spec), want, got)
		}
	})
}

// input is all that the store has of the world's months, line by line.
func (w *world) input() report.Input {
	w.b.t.Helper()
	ctx := context.Background()
	from, to := time.UnixMilli(w.month.StartMS()).UTC(), time.UnixMilli((w.month + 4).StartMS()).UTC()
	pods, err := w.b.Pods(ctx, from, to)
	w.b.must(err)
	return report.Input{
		Lines: w.b.Lines(ctx, ledger.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}), Costs: w.b.Costs(ctx, from, to), Pods: pods,
	}
}

// drawSpec draws a question about the world.
func (w *world) drawSpec(t *rapid.T) report.Spec {
	dims := append(report.Dimensions(), report.Label("team"), report.Label("none"))
	s := report.Spec{
		By:   rapid.SliceOfNDistinct(rapid.SampledFrom(dims), 0, 3, rapid.ID).Draw(t, "by"),
		Cost: rapid.SampledFrom([]report.CostBasis{"", report.Net, report.Charged}).Draw(t, "basis"),
		View: rapid.SampledFrom([]report.View{"", report.Apart, report.Distributed}).Draw(t, "view"),
		Top:  rapid.IntRange(0, 3).Draw(t, "top"),
	}
	months := []ledger.Month{w.month, w.month + 1, w.month + 2}
	switch rapid.IntRange(0, 2).Draw(t, "time") {
	case 0:
		s.FromMS = rapid.SampledFrom(w.hours()).Draw(t, "from")
		s.ToMS = s.FromMS + 3_600_000*int64(rapid.IntRange(1, 40).Draw(t, "hours"))
	case 1:
		s.Month = rapid.SampledFrom(months).Draw(t, "month")
	default:
		s.Month, s.Booked = rapid.SampledFrom(months).Draw(t, "booked"), true
	}
	for range rapid.IntRange(0, 2).Draw(t, "filters") {
		s.Where = append(s.Where, w.drawFilter(t, dims))
	}
	return s
}

// drawFilter draws a filter by any dimension, mostly of values that there are.
func (w *world) drawFilter(t *rapid.T, dims []report.Dimension) report.Filter {
	times := []report.Dimension{report.Hour, report.Day, report.Week, report.Month, report.BookedMonth}
	f := report.Filter{
		By:  rapid.SampledFrom(slices.DeleteFunc(slices.Clone(dims), func(d report.Dimension) bool { return slices.Contains(times, d) })).Draw(t, "filter"),
		Not: rapid.Bool().Draw(t, "not"),
	}
	all, err := report.Run(report.Spec{Month: w.month, By: []report.Dimension{f.By}, View: report.Distributed}, w.input())
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"", report.Unknown, report.None, "it's nothing"}
	for _, section := range all.Sections {
		for _, row := range section.Rows {
			values = append(values, row.Keys[0])
		}
	}
	f.In = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "in")
	return f
}

// refusedReports are those that core refuses, with its error.
func refusedReports(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	for _, spec := range []report.Spec{{}, {Month: september, By: []report.Dimension{"colour"}}, {Month: september, Top: -1}} {
		_, want := report.Run(spec, report.Input{Pods: func(string, int64) (*report.PodDimensions, bool) { return nil, false }})
		_, got := b.Report(context.Background(), spec)
		if got == nil || want == nil || got.Error() != want.Error() {
			t.Errorf("%+v: %v, want %v", spec, got, want)
		}
	}
	r, err := b.Report(context.Background(), report.Spec{Month: september})
	b.must(err)
	if len(r.Sections) != 0 {
		t.Errorf("an empty ledger reports %+v", r)
	}
}
