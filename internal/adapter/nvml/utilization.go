// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/sample"
)

// percent is a share of 0..100 as 0..1, nil for what no share can be: both
// NVML's samples and its counters are known to give absurd values.
func percent(v uint32) *float64 {
	if v > 100 {
		return nil
	}
	f := float64(v) / 100
	return &f
}

// utilization reads how much of the last sample period some kernel ran. It
// does not exist in MIG mode.
func (r *reading) utilization() {
	if !r.begin(symUtilization) {
		return
	}
	if u, ret := r.handle.GetUtilizationRates(); r.ok(ret) {
		r.out.Signals.Busy, r.out.Signals.MemoryBusy = percent(u.Gpu), percent(u.Memory)
	}
}

// processUtilization gives each listed process the share of time its kernels
// ran since the last reading. NOT_FOUND means that no process ran any. The
// first answer is an average over all the driver has kept, so it only says
// where to go on from.
func (r *reading) processUtilization() {
	samples, ok := r.processSamples()
	if !ok {
		return
	}
	first := !r.past.utilPrimed
	r.past.utilPrimed = true
	for _, s := range samples {
		r.past.utilSeen = max(r.past.utilSeen, s.TimeStamp)
	}
	if !first {
		spreadSM(r.out.Processes, samples)
	}
}

// processSamples reads the samples since the last reading. The binding panics
// when processes start between its two calls: then it is asked once more.
func (r *reading) processSamples() (samples []binding.ProcessUtilizationSample, ok bool) {
	for range 2 {
		if !r.begin(symProcessUtilization) {
			return nil, false
		}
		var ret binding.Return
		call := func() { samples, ret = r.handle.GetProcessUtilization(r.past.utilSeen) }
		switch {
		case !r.contained(call):
			continue
		case ret == binding.ERROR_NOT_FOUND:
			return nil, true
		case ret == binding.ERROR_INSUFFICIENT_SIZE && len(samples) == 0:
			return nil, true // the binding's way of saying "none"
		}
		return samples, r.ok(ret)
	}
	return nil, false
}

// spreadSM averages the samples of each listed process. A process without a
// sample was idle. Samples above 100 % and of processes that are not listed
// are dropped.
func spreadSM(processes []sample.Held, samples []binding.ProcessUtilizationSample) {
	if len(processes) == 0 {
		return
	}
	type sum struct{ of, n float64 }
	sums := make(map[int]sum, len(samples))
	for _, s := range samples {
		if s.SmUtil <= 100 && s.TimeStamp != 0 {
			before := sums[int(s.Pid)]
			sums[int(s.Pid)] = sum{before.of + float64(s.SmUtil)/100, before.n + 1}
		}
	}
	shares := make([]float64, len(processes))
	for i := range processes {
		if s := sums[processes[i].PID]; s.n > 0 {
			shares[i] = s.of / s.n
		}
		processes[i].SM = &shares[i]
	}
}
