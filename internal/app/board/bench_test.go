// SPDX-License-Identifier: Apache-2.0

package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/memstore"
)

// troubled is the minutes of a day on some nodes of 10,000 GPUs that have a finding
// each all the time: a fleet in which nodes are troubled for a day each month has as
// many in 30 days as 40 of 1,250 nodes in all of them.
func troubled(nodes int, from time.Time, minutes int, yield func(usage.Batch) bool) {
	bytes := uint64(2) << 30
	for n := range nodes {
		device := gpu.UUID(fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", n, 1))
		f := attribution.Finding{Kind: attribution.UnallocatedUse, Severity: attribution.Critical, Device: device, Partition: string(device), Bytes: &bytes,
			Holder:  workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("uid-%d", n), Namespace: "dev", Pod: fmt.Sprintf("notebook-%d", n)},
			Victims: []string{"ml/train-0"}, Detail: "holds GPU memory without a grant on this partition",
			Evidence: []string{"processes [4711] hold memory here; the kubelet's list, claims and annotations grant nothing"}}
		for m := range minutes {
			b := usage.Batch{Version: 1, Cluster: "big", Node: fmt.Sprintf("node-%04d", n), Agent: fmt.Sprintf("agent-%04d", n), Boot: "boot-1", Seq: uint64(m + 1), IntervalMS: 5000,
				StartMS: from.UnixMilli() + int64(m)*60_000, DurationMS: 60_000, Findings: []usage.FindingRecord{{Finding: f, ForMS: 60_000}}}
			if !yield(b) {
				return
			}
		}
	}
}

// journal yields the findings of a month without a store.
type journal struct{ nodes, minutes int }

func (j journal) Touching(context.Context, time.Time, time.Time, string) iter.Seq2[rating.Windows, error] {
	return func(func(rating.Windows, error) bool) {}
}

func (j journal) Machines(context.Context, time.Time, time.Time, string) ([]rating.Machine, error) {
	return nil, nil
}

func (j journal) Findings(_ context.Context, from, _ time.Time, _ string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		troubled(j.nodes, from.Add(time.Hour), j.minutes, func(b usage.Batch) bool { return yield(b, nil) })
	}
}

func (j journal) Stamp(time.Time, time.Time) uint64 { return 1 }

// BenchmarkFindings joins the findings of 30 days of 40 nodes in trouble all the time,
// 1.7 million windows, without a store.
func BenchmarkFindings(b *testing.B) {
	const minutes = 30 * 24 * 60
	x := board.New(journal{40, minutes}, nil)
	from := memstore.Start
	for b.Loop() {
		list, err := x.Findings(b.Context(), "", from.UnixMilli(), from.AddDate(0, 0, 30).UnixMilli())
		if err != nil || len(list) != 40 || list[0].Windows != minutes {
			b.Fatal(len(list), err)
		}
	}
	b.ReportMetric(float64(40*minutes), "windows")
}

// BenchmarkFindingsStored reads the findings of 30 days from DuckDB, sealed, JSON
// included: of two nodes in trouble all the time, 86,400 windows.
func BenchmarkFindingsStored(b *testing.B) {
	store, _, err := duck.Open(b.Context(), b.TempDir(), duck.Options{MemoryBytes: 512 << 20, Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var all []usage.Batch
	flush := func() {
		if _, err := store.Append(b.Context(), all); err != nil {
			b.Fatal(err)
		}
		all = all[:0]
	}
	// Spread over 30 days, so that every hour of them has files.
	for day := range 30 {
		troubled(2, memstore.Start.AddDate(0, 0, day), 24*60, func(x usage.Batch) bool {
			x.Boot = fmt.Sprintf("boot-%d", day)
			if all = append(all, x); len(all) == 500 {
				flush()
			}
			return true
		})
	}
	flush()
	for hour := range 30 * 24 {
		if err := store.Seal(b.Context(), memstore.Start.Add(time.Duration(hour)*time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
	x := board.New(store, nil)
	size := 0
	for b.Loop() {
		list, err := x.Findings(b.Context(), "", memstore.Start.UnixMilli(), memstore.Start.AddDate(0, 0, 30).UnixMilli())
		if err != nil || len(list) != 2 {
			b.Fatal(len(list), err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			b.Fatal(err)
		}
		size = len(text)
	}
	b.ReportMetric(float64(size), "bytes")
	b.ReportMetric(2*30*24*60, "windows")
}
