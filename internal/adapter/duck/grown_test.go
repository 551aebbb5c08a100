// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// age makes the files of an hour those of a schema that had fewer columns.
func age(t *testing.T, s *Store, hour int32) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(s.sealedPath(hourTime(hour).Format("2006-01-02/15")) + ".*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	for table, columns := range map[string]string{
		partitionTable.name: "fp64_active, fp32_active, fp16_active, pcie_rx_bytes_per_s, pcie_tx_bytes_per_s, power_mw, power_limit_mw",
		batchTable.name:     "engines_json, others_json",
		factsTable.name:     "about_json",
	} {
		path := filepath.Join(dirs[0], table+parquetSuffix)
		query := fmt.Sprintf("COPY (SELECT * EXCLUDE (%s) FROM read_parquet(%s)) TO %s (FORMAT parquet)", columns, literal(path), literal(path+".old"))
		if _, err := s.db.Exec(query); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".old", path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilesOfAnEarlierSchema: hours sealed before a table grew are read with ones
// sealed later, summed, and sealed again with what comes late.
func TestFilesOfAnEarlierSchema(t *testing.T) {
	ctx := context.Background()
	s, _ := opened(t, t.TempDir())
	add(t, s, 1, 120)
	first := time.UnixMilli(storetest.Start)
	for _, h := range []time.Time{first, first.Add(time.Hour)} {
		if err := s.Seal(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Totals(ctx, everyHour[0], everyHour[1])
	if err != nil {
		t.Fatal(err)
	}
	age(t, s, hourOf(storetest.Start))
	after, err := s.Totals(ctx, everyHour[0], everyHour[1])
	if err != nil || after != before {
		t.Errorf("%v, sums %+v, before %+v", err, after, before)
	}
	late := storetest.Minute("late", "b", 3, 1, 1)
	late.Partitions[0].PowerMW = new(uint64(250_000))
	late.Others = &attribution.OtherPods{Requests: attribution.Requests{Pods: 2, CPUMilli: 500, MemoryBytes: 1 << 30}}
	late.Pods[0].About = attribution.PodAbout{Template: "abc", CreatedMS: 1, ScheduledMS: 2}
	late.Engines = []usage.EngineRecord{{Span: usage.Span{StartMS: late.StartMS, DurationMS: late.DurationMS}, Holder: late.Holders[0].Holder, Engine: "vllm", Answered: 4}}
	if _, err := s.Append(ctx, []usage.Batch{late}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as it lies, and sealed again
		n := 0
		for b, err := range s.Hour(ctx, first, "") {
			if err != nil {
				t.Fatal(err)
			}
			want := storetest.Minute("a", "b", b.Seq, 1, 2)
			if b.Agent == "late" {
				want = late
			}
			if diff := cmp.Diff(want, b); diff != "" {
				t.Fatalf("batch %d (-sent +read)\n%s", b.Seq, diff)
			}
			n++
		}
		if n != 61 {
			t.Errorf("%d batches, want 61", n)
		}
		if err := s.Seal(ctx, first); err != nil {
			t.Fatal(err)
		}
	}
}
