// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// onePrice is a book with one price for every node.
type onePrice struct{}

func (onePrice) Load() (billing.Loaded, error) {
	node := money.Nano(21_957_642_000)
	return billing.Loaded{Split: pricing.DefaultPolicy(), Revision: "1", Books: []*pricing.Book{{Name: "book", Grade: pricing.Listed, Rows: []pricing.Row{
		{ID: "any", Currency: "USD", Price: pricing.Price{Node: &node}},
	}}}}, nil
}

// cpuSeconds is the CPU time of this process. It says what work costs on a machine
// that others use, too.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkRateHour rates one hour of a cluster of 8-GPU nodes with three holders
// on each GPU: from records in the journal to lines in the ledger. A thousand GPUs,
// or GPUTALLY_BENCH_NODES nodes. It runs once: -benchtime 1x.
func BenchmarkRateHour(b *testing.B) {
	nodes, err := strconv.Atoi(os.Getenv("GPUTALLY_BENCH_NODES"))
	if err != nil {
		nodes = 125
	}
	ctx := context.Background()
	store, _, err := duck.Open(ctx, b.TempDir(), duck.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	for minute := range 61 { // the minute after tells that the hour is complete
		var group []usage.Batch
		for n := range nodes {
			batch := storetest.Minute(fmt.Sprintf("%032d", n), "0123456789abcdef", uint64(minute+1), 8, 3)
			if batch.Shape != nil {
				batch.Shape.CreatedMS = 0 // no hour of booting
			}
			group = append(group, batch)
		}
		if _, err := store.Append(ctx, group); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Checkpoint(ctx); err != nil {
		b.Fatal(err)
	}
	hour := time.UnixMilli(storetest.Start).UTC()
	now := func() time.Time { return hour.Add(time.Hour + time.Minute) }
	shelf, err := billing.NewShelf(ctx, store, onePrice{}, nil, now)
	if err != nil {
		b.Fatal(err)
	}
	rater := billing.NewRater(store, shelf, billing.RaterConfig{Now: now})
	b.ResetTimer()
	before := cpuSeconds(b)
	if err := rater.Round(ctx); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(cpuSeconds(b)-before, "cpu-s")
	if s := rater.Status(); s.Hours != uint64(nodes) || len(s.Failed) > 0 {
		b.Fatalf("%d nodes, rated %+v", nodes, s)
	}
	b.ReportMetric(float64(nodes), "nodes")
	b.ReportMetric(float64(rater.Status().Lines), "lines")
	before = cpuSeconds(b)
	recorder := advising.NewRecorder(store, advising.RecorderConfig{Now: now})
	if err := recorder.Round(ctx); err != nil || recorder.Status().Hours != uint64(nodes) {
		b.Fatalf("%+v, %v", recorder.Status(), err)
	}
	b.ReportMetric(cpuSeconds(b)-before, "activity-cpu-s")
	checked, err := billing.NewService(store, shelf, rater, billing.ServiceConfig{}).CheckLedger(ctx, inquiry.CheckRequest{}, func(inquiry.Progress) {})
	if err != nil || checked.Violation != nil {
		b.Fatal(checked.Violation, err)
	}
}
