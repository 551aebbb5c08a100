// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/test/storetest"
)

// BenchmarkActivity keeps what the pods of a day did, one on each GPU, and reads all of
// it. It says how many bytes an hour of a pod takes on disk, and how many GB 100 days of
// so many GPUs come to.
func BenchmarkActivity(b *testing.B) {
	gpus, days := envNumber("GPUTALLY_BENCH_GPUS", 800), envNumber("GPUTALLY_BENCH_DAYS", 7)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		s := benchStore(b, dir)
		r := rand.New(rand.NewPCG(1, 2))
		var kept time.Duration
		for hour := range 24 * days {
			made := make([]activity.Made, gpus/gpusPerNode)
			for node := range made {
				for g := range gpusPerNode {
					made[node].Hours = append(made[node].Hours, storetest.BusyHour(r, node, g, hour))
				}
				first := &made[node].Hours[0]
				made[node].Due, made[node].Rules = activity.Due{Cluster: first.Cluster, Node: first.Node, HourMS: first.HourMS, Records: fmt.Sprintf("%064x", hour*gpus+node)}, "1"
				made[node].Others = &attribution.OtherPods{Requests: attribution.Requests{Pods: 9, CPUMilli: int64(1000 + hour%7)}}
			}
			began := time.Now()
			if err := s.KeepActivity(context.Background(), made); err != nil {
				b.Fatal(err)
			}
			kept += time.Since(began)
		}
		if err := s.Checkpoint(context.Background()); err != nil {
			b.Fatal(err)
		}
		bytes, hours := diskBytes(b, dir), gpus*24*days
		b.StartTimer()
		began, n := time.Now(), 0
		for _, err := range s.Activity(context.Background(), activity.Query{ToMS: storetest.FirstDay + int64(24*days)*hourMS}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != hours {
			b.Fatalf("%d of %d hours are read", n, hours)
		}
		b.ReportMetric(float64(bytes)/float64(hours), "bytes/hour")
		b.ReportMetric(float64(bytes)/float64(days)*100/(1<<30), "GiB/100d")
		b.ReportMetric(float64(hours)/kept.Seconds(), "kept/s")
		b.ReportMetric(float64(hours)/time.Since(began).Seconds(), "read/s")
	}
}

// diskBytes is what the files of a folder take.
func diskBytes(b *testing.B, dir string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
