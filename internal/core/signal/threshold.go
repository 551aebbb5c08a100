// SPDX-License-Identifier: Apache-2.0

package signal

// RulesVersion changes whenever a rule or a threshold does, so that a stored
// class can be told from one of other rules.
const RulesVersion = "2026-12"

// The thresholds. NVIDIA's are 0.8 and 0.5 for SM activity and 0.8 for DRAM (as
// far as the interface can be driven), 0.93 is what a tensor pipe reaches under
// DCGM's own load; the others are ours and may be wrong for a workload.
const (
	// MinMeasured is the share of the time that must have been read.
	MinMeasured = 0.80
	// WaitingBelow is the activity under which a minute is waiting.
	WaitingBelow = 0.20
	// DRAMPeak is the activity of the memory interface that can be reached.
	DRAMPeak = 0.80
	// TensorPeak is the activity of the tensor pipe that can be reached.
	TensorPeak = 0.93
	// StallActive, StallWork, StallPower and StallMS: a kernel runs all the
	// time, does next to nothing, and the device draws little more than idle
	// (idle + StallPower of what is above it), for so long.
	StallActive = 0.95
	StallWork   = 0.05
	StallPower  = 0.10
	StallMS     = 30 * 60 * 1000
	// MemoryFrom is the share of DRAMPeak from which memory is the limit.
	MemoryFrom = 0.60
	// ComputeFrom and ComputeSM: a pipe and the SMs are busy.
	ComputeFrom = 0.40
	ComputeSM   = 0.60
	// LaunchActive and LaunchSM: kernels run, and leave most SMs empty.
	LaunchActive = 0.50
	LaunchSM     = 0.50
	// InputFrom is data over PCIe, in bytes per second, from which waiting is
	// called waiting for input.
	InputFrom = 1_000_000_000
	// IdleMinMS is how long a device must have been seen without a process
	// before its idle power counts as known.
	IdleMinMS = 10 * 60 * 1000
)
