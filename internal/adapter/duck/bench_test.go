// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// nodes of the cluster that is measured: GPUTALLY_BENCH_NODES, else 125 (a
// thousand GPUs). 1250 nodes are 75,000 batches an hour.
func nodes(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("GPUTALLY_BENCH_NODES"))
	if err != nil {
		n = 125
	}
	b.ReportMetric(float64(n), "nodes")
	return n
}

const gpusPerNode, holdersPerGPU = 8, 3

// minute is what all nodes send in one minute.
func minute(nodes int, seq uint64) []usage.Batch {
	group := make([]usage.Batch, nodes)
	for i := range group {
		group[i] = storetest.Minute(fmt.Sprintf("%032d", i), "0123456789abcdef", seq, gpusPerNode, holdersPerGPU)
	}
	return group
}

func benchStore(b *testing.B, dir string) *Store {
	b.Helper()
	s, _, err := Open(context.Background(), dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// rowsOf is how many rows of the tables batches come to, those of words apart.
func rowsOf(batches []usage.Batch) (n int) {
	for i := range batches {
		b := &batches[i]
		n += 1 + len(b.Partitions) + len(b.Holders) + len(b.Grants) + len(b.Pods) + len(b.Findings)
	}
	return n
}

// BenchmarkAppend writes one minute of the cluster, in one transaction, and
// makes it durable.
func BenchmarkAppend(b *testing.B) {
	n := nodes(b)
	s := benchStore(b, b.TempDir())
	seq, rows := uint64(0), 0
	for b.Loop() {
		b.StopTimer()
		seq++
		group := minute(n, seq)
		rows += rowsOf(group)
		b.StartTimer()
		if _, err := s.Append(context.Background(), group); err != nil {
			b.Fatal(err)
		}
		if err := s.Checkpoint(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(seq)/b.Elapsed().Seconds(), "batches/s")
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkHour reads an hour of the cluster: open, and sealed. With
// GPUTALLY_BENCH_DIR the journal is kept and used again.
func BenchmarkHour(b *testing.B) {
	n := nodes(b)
	dir := os.Getenv("GPUTALLY_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	s := benchStore(b, dir)
	ctx, hour := context.Background(), time.UnixMilli(storetest.Start)
	for seq := uint64(1); seq <= 60; seq++ {
		if _, err := s.Append(ctx, minute(n, seq)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Checkpoint(ctx); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) { benchHour(b, s, hour, n) })
	if os.Getenv("GPUTALLY_BENCH_DIR") != "" {
		return
	}
	began := time.Now()
	if err := s.Seal(ctx, hour); err != nil {
		b.Fatal(err)
	}
	b.Run("sealed", func(b *testing.B) {
		benchHour(b, s, hour, n)
		b.ReportMetric(time.Since(began).Seconds(), "s-since-seal-began")
		b.ReportMetric(float64(size(b, filepath.Join(dir, sealedDir)))/float64(n*60), "bytes/batch")
	})
}

func benchHour(b *testing.B, s *Store, hour time.Time, nodes int) {
	for b.Loop() {
		batches := 0
		for batch, err := range s.Hour(context.Background(), hour, "") {
			if err != nil {
				b.Fatal(err)
			}
			if len(batch.Holders) != gpusPerNode*holdersPerGPU {
				b.Fatalf("%d holders", len(batch.Holders))
			}
			batches++
		}
		if batches != nodes*60 {
			b.Fatalf("%d batches", batches)
		}
	}
}

func size(b *testing.B, dir string) (n int64) {
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
