// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// capacity is larger than any GPU's, so that the truth needs no scheduler.
const capacity = uint64(1) << 47

var began = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// integrated runs the world through the real integrator, as one shared GPU
// whose looks a source turns into attributed results, and returns the byte-milliseconds of each pod by its usage records. Every
// batch must balance.
func integrated(w *world, times []int64, interval int64, source func(look) attribution.Result) ([]float64, error) {
	in := usage.New(usage.Config{Node: "sim", Agent: "sim", Boot: "1", IntervalMS: interval})
	sums := make([]float64, len(w.class))
	var failed error
	take := func(bs []usage.Batch) {
		for _, b := range bs {
			if err := b.Check(); err != nil && failed == nil {
				failed = fmt.Errorf("integrate the simulation: %w", err)
			}
			for _, r := range b.Holders {
				var pod int
				if _, err := fmt.Sscan(r.Holder.Pod, &pod); err != nil && failed == nil {
					failed = fmt.Errorf("read pod %q: %w", r.Holder.Pod, err)
				}
				sums[pod] += float64(r.ByteMS)
			}
		}
	}
	var last look
	sampleWorld(w, times, func(l look) {
		take(in.Add(source(l)))
		last = l
	})
	take(in.Close(last.at+horizon, began.Add(time.Duration(last.at)*time.Millisecond)))
	return sums, failed
}

// direct is a source of results that names the pods itself: a test shows that
// the attributor says the same, in many times the time.
func direct(w *world) func(look) attribution.Result {
	return func(l look) attribution.Result { return result(w, l) }
}

func result(w *world, l look) attribution.Result {
	byPod := map[int]uint64{}
	used := uint64(0)
	for _, h := range l.held {
		byPod[w.processes[h.process].pod] += h.bytes
		used += h.bytes
	}
	size, zero, free := capacity, uint64(0), capacity-used
	p := attribution.Partition{
		ID: gpu.Whole("GPU-0"), State: gpu.StateOK, Mode: gpu.ModeTimeSlicing, GrantsKnown: true, Grade: gpu.Measured,
		Capacity: &size, Reserved: &zero, Used: &used, Unattributed: &zero, Free: &free,
	}
	for pod, bytes := range byPod {
		name := fmt.Sprint(pod)
		p.Holdings = append(p.Holdings, attribution.Holding{
			Holder: workload.Holder{Kind: workload.KindPod, PodUID: name, Namespace: "sim", Pod: name}, Bytes: &bytes, Grade: gpu.Measured,
		})
	}
	slices.SortFunc(p.Holdings, func(a, b attribution.Holding) int { return a.Holder.Compare(b.Holder) })
	return attribution.Result{
		Node: "sim", MonoMS: l.at + horizon, At: began.Add(time.Duration(l.at) * time.Millisecond), Partitions: []attribution.Partition{p},
	}
}
