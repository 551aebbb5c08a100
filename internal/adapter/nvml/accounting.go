// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"slices"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/sample"
)

// accounting is what is remembered of NVML's accounting mode, which keeps a
// ring of processes after they have ended (some thousands).
type accounting struct {
	primed bool
	// known are the PIDs already dealt with: listed as a process in a sample,
	// reported, or there before the agent was.
	known map[int]bool
	// pids is the ring as last read, and waiting says that some process in it
	// was neither seen nor over: while neither changes there is nothing to do.
	pids    []int
	waiting bool
}

// account finds, where accounting mode is on, the processes that began and
// ended since the last reading, so that no sample ever saw them. The mode is
// never switched on here: that is the operator's decision.
//
// A PID that was used before and is still in the ring is missed: NVML keeps
// only the latest process of a PID and does not say that it is another.
func (r *reading) account() {
	if !r.begin(symAccountingMode) || !r.lib.symbols.has(symAccountingStats) {
		return
	}
	mode, ret := r.handle.GetAccountingMode()
	if !r.ok(ret) || mode != binding.FEATURE_ENABLED || !r.begin(symAccountingPids) {
		r.past.accounting = accounting{}
		return
	}
	var pids []int
	if !r.contained(func() { pids, ret = r.handle.GetAccountingPids() }) || !r.ok(ret) {
		return
	}
	a := &r.past.accounting
	if a.primed && !a.waiting && slices.Equal(pids, a.pids) {
		for _, p := range r.out.Processes {
			a.known[p.PID] = true
		}
		return
	}
	known := make(map[int]bool, len(pids))
	for _, p := range r.out.Processes {
		known[p.PID] = true // seen by this sample: nothing to add
	}
	waiting := false
	for _, pid := range pids {
		known[pid] = known[pid] || !a.primed || a.known[pid] || r.accountOne(pid)
		waiting = waiting || !known[pid]
	}
	*a = accounting{primed: true, known: known, pids: pids, waiting: waiting}
}

// accountOne reports a process if it has ended. It is false for one that still
// runs: the next sample either sees it or asks again.
func (r *reading) accountOne(pid int) bool {
	if !r.begin(symAccountingStats) {
		return false
	}
	stats, ret := r.handle.GetAccountingStats(uint32(pid))
	if !r.ok(ret) || stats.IsRunning != 0 {
		return false
	}
	if stats.MaxMemoryUsage != unknownBytes { // else there is nothing to tell
		r.out.Accounted = append(r.out.Accounted, sample.Accounted{
			PID: pid, MaxMemory: stats.MaxMemoryUsage, StartUS: stats.StartTime, RunMS: stats.Time,
		})
	}
	return true
}
