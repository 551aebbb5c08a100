// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/storetest"
)

// monthHours is how many hours BenchmarkFindingsMonth reads.
const monthHours = 30 * 24

// BenchmarkFindingsMonth reads and joins the findings of a day and of 30 days, sealed, of a
// cluster in which 3 nodes of 100 are troubled all the time and 5 now and then. With
// GPUTALLY_BENCH_DIR the journal is kept and used again.
func BenchmarkFindingsMonth(b *testing.B) {
	n := nodes(b)
	s := troubledMonth(b, n)
	for _, days := range []int{1, 30} {
		b.Run(fmt.Sprint(days, " days"), func(b *testing.B) {
			to := time.UnixMilli(storetest.Start).Add(monthHours * time.Hour)
			windows, found := 0, 0
			top := peakHeap(func() {
				for b.Loop() {
					f := scene.NewFindings()
					windows = 0
					for batch, err := range s.Findings(context.Background(), to.AddDate(0, 0, -days), to, "") {
						if err != nil {
							b.Fatal(err)
						}
						windows++
						f.Add(&batch, 0, to.UnixMilli())
					}
					found = len(f.List())
				}
			})
			b.ReportMetric(float64(windows), "windows")
			b.ReportMetric(float64(found), "findings")
			b.ReportMetric(float64(top>>20), "MiB-heap")
		})
	}
}

// peakHeap is the most that the heap was while f ran.
func peakHeap(f func()) (top uint64) {
	runtime.GC()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var m runtime.MemStats
		top := uint64(0)
		for {
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapAlloc)
			select {
			case <-stop:
				most <- top
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	return <-most
}

// troubledMonth is a store with one hour of a cluster, sealed, and its files once more for
// each hour of a month: to append a month takes hours.
func troubledMonth(b *testing.B, n int) *Store {
	dir := os.Getenv("GPUTALLY_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	s := benchStore(b, dir)
	hour := time.UnixMilli(storetest.Start).UTC()
	if sealable, err := s.sealedNames(b.Context()); err != nil || len(sealable) > 1 {
		return s
	}
	for seq := uint64(1); seq <= 60; seq++ {
		group := make([]usage.Batch, n)
		for i := range group {
			group[i] = storetest.Minute(fmt.Sprintf("%032d", i), "0123456789abcdef", seq, 1, 1)
			group[i].Findings = trouble(i, n)
		}
		if _, err := s.Append(b.Context(), group); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Seal(b.Context(), hour); err != nil {
		b.Fatal(err)
	}
	for i := 1; i < monthHours; i++ {
		s.again(b, hour, i)
	}
	return s
}

// trouble is what the i-th of n nodes has: the first 3 in 100 a leak and another process, the
// next 5 in 100 a leak that stands in some hours.
func trouble(i, n int) (out []usage.FindingRecord) {
	bytes := uint64(2) << 30
	device := gpu.UUID(fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", i, 1))
	leak := attribution.Finding{Kind: attribution.UnallocatedUse, Severity: attribution.Critical, Device: device, Partition: string(device), Bytes: &bytes,
		Holder:  workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("uid-%d", i), Namespace: "dev", Pod: fmt.Sprintf("notebook-%d", i)},
		Victims: []string{"ml/train-0"}, Detail: "holds GPU memory without a grant on this partition",
		Evidence: []string{"processes [4711] hold memory here; the kubelet's list, claims and annotations grant nothing"}}
	if i < n*8/100 {
		out = append(out, usage.FindingRecord{Finding: leak, ForMS: 60_000})
	}
	if i < n*3/100 {
		leak.Kind, leak.Severity, leak.PID, leak.Holder = attribution.ExternalProcess, attribution.Warning, 4711, workload.Holder{Kind: workload.KindHost, Unit: "a.service"}
		out = append(out, usage.FindingRecord{Finding: leak, ForMS: 60_000})
	}
	return out
}

// again writes the files that findings are read from once more, for an hour so many later.
func (s *Store) again(b *testing.B, hour time.Time, later int) {
	first := hourOf(hour.UnixMilli())
	old, h := hour.Format("2006-01-02/15")+".1", first+int32(later)
	name := hourTime(h).Format("2006-01-02/15") + ".1"
	if err := os.MkdirAll(s.sealedPath(name), 0o750); err != nil {
		b.Fatal(err)
	}
	for _, t := range []table{batchTable, ownerTable, findingTable} {
		moved := []string{fmt.Sprintf("hour + %d AS hour", later)}
		if t.name != ownerTable.name {
			moved = append(moved, fmt.Sprintf("batch + %d AS batch", int64(later)*1_000_000))
		}
		where := "true"
		if t.name == batchTable.name {
			moved = append(moved, fmt.Sprintf("start_ms + %d AS start_ms", int64(later)*hourMS), fmt.Sprintf("seq + %d AS seq", later*60))
		}
		if t.name == findingTable.name && later%8 != 0 { // these are of all nodes in one hour of eight
			where = "batch IN (SELECT batch FROM " + findingParquet(s, old) + " WHERE kind = 'external_process')"
		}
		query := fmt.Sprintf("COPY (SELECT * REPLACE (%s) FROM read_parquet(%s) WHERE %s) TO %s (FORMAT parquet, COMPRESSION zstd)", strings.Join(moved, ", "),
			literal(filepath.Join(s.sealedPath(old), t.name+parquetSuffix)), where, literal(filepath.Join(s.sealedPath(name), t.name+parquetSuffix)))
		if _, err := s.db.ExecContext(b.Context(), query); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.db.ExecContext(b.Context(), "INSERT INTO usage_sealed VALUES (?, ?, 0, 0, ?)", h, name, int64(h+1)*hourMS); err != nil {
		b.Fatal(err)
	}
}

func findingParquet(s *Store, directory string) string {
	return "read_parquet(" + literal(filepath.Join(s.sealedPath(directory), findingTable.name+parquetSuffix)) + ")"
}
