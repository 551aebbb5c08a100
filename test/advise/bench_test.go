// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/test/storetest"
)

// BenchmarkAdvice advises a whole fleet from 28 days of hours that are kept: a pod on
// each of GPUTALLY_BENCH_GPUS GPUs (800), in 2,000 workloads at most.
func BenchmarkAdvice(b *testing.B) {
	store, now := benchFleet(b)
	for b.Loop() {
		s := advising.NewService(store, advising.ServiceConfig{Now: func() time.Time { return now }})
		advise(b, s, now)
	}
}

// BenchmarkAdviceAgain is the same, asked by the next one: nothing has changed since.
func BenchmarkAdviceAgain(b *testing.B) {
	store, now := benchFleet(b)
	s := advising.NewService(store, advising.ServiceConfig{Now: func() time.Time { return now }})
	advise(b, s, now)
	for b.Loop() {
		advise(b, s, now)
	}
}

func advise(b *testing.B, s *advising.Service, now time.Time) {
	a, err := s.Advice(b.Context(), inquiry.AdviceQuery{AtMS: now.UnixMilli()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(a.Workloads)), "workloads")
}

// benchFleet is a store with 28 days of hours, and the moment after them.
func benchFleet(b *testing.B) (*duck.Store, time.Time) {
	gpus, err := strconv.Atoi(os.Getenv("GPUTALLY_BENCH_GPUS"))
	if err != nil {
		gpus = 800
	}
	store, _, err := duck.Open(b.Context(), b.TempDir(), duck.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	r := rand.New(rand.NewPCG(1, 2))
	for hour := range 24 * 28 {
		made := make([]activity.Made, gpus/8)
		for n := range made {
			for g := range 8 {
				made[n].Hours = append(made[n].Hours, storetest.BusyHour(r, n, g, hour))
			}
			first := &made[n].Hours[0]
			made[n].Due, made[n].Rules = activity.Due{Cluster: first.Cluster, Node: first.Node, HourMS: first.HourMS, Records: fmt.Sprint(hour)}, advising.Rules
		}
		if err := store.KeepActivity(context.Background(), made); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Checkpoint(context.Background()); err != nil {
		b.Fatal(err)
	}
	return store, time.UnixMilli(storetest.FirstDay).AddDate(0, 0, 28)
}
