// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/workload"
)

// FirstDay is the beginning of the day of Start, Unix milliseconds.
const FirstDay = Start / (24 * hourMS) * (24 * hourMS)

// hourMS is the length of an hour.
const hourMS = 3_600_000

// perNode is how many GPUs a node of BusyHour has.
const perNode = 8

// BusyHour is what one pod did in an hour: 60 minutes of signals that vary by a tenth
// around what it usually does, which is the worst for keeping them.
func BusyHour(r *rand.Rand, node, g, hour int) activity.Hour {
	job := node*perNode + g
	capacity, held, memory := uint64(80<<30), uint64(40+job%30)<<30, uint64(job%7+1)<<30
	h := activity.Hour{Cluster: fmt.Sprint("c", node%4), Node: fmt.Sprintf("gpu-node-%05d", node), HourMS: FirstDay + int64(hour)*hourMS,
		Holder:    workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("%08x-%04x-4000-8000-%012x", job, hour/24, job), Namespace: fmt.Sprintf("ns-%02d", job%60), Pod: fmt.Sprintf("job-%04d-%05d-%d", job%2000, job, hour/24)},
		Owner:     workload.Owner{Kind: "Job", Name: fmt.Sprintf("job-%04d", job%2000), UID: fmt.Sprintf("%036d", job%2000)},
		Partition: gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%08x-%04x-4000-8000-0123456789ab", node, g))), Model: "NVIDIA H100 80GB HBM3", Mode: gpu.ModeExclusive,
		CapacityBytes: &capacity, ReserveBytes: 600 << 20, DurationMS: hourMS, MeasuredMS: hourMS, GrantedMS: hourMS, Holders: 1, PeakBytes: &held, ByteMS: held / 10 * 9 * hourMS, KnownMS: hourMS,
		Grade: gpu.Measured, CPURequestMilli: 8000, MemoryRequestBytes: 64 << 30, MemoryBytes: &memory, Verdict: signal.Verdict{Class: signal.Mixed},
		About: attribution.PodAbout{Template: "5f7d8c9b6", CreatedMS: FirstDay, ScheduledMS: FirstDay + 3000}}
	usual := float64(job%80)/100 + 0.1
	for range 60 {
		for _, s := range []*signal.Spread{&h.Active, &h.SM, &h.DRAM, &h.Tensor, &h.Held, &h.CPU} {
			v := max(usual*(0.95+0.1*r.Float64()), 0)
			s.Add(&v, 60_000)
		}
	}
	for _, s := range []*signal.Spread{&h.Active, &h.SM, &h.DRAM, &h.Tensor, &h.Held, &h.CPU} {
		*s = s.Coarse()
	}
	return h
}
