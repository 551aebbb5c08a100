// SPDX-License-Identifier: Apache-2.0

// Package gpu owns the names and the geometry of GPUs: devices by UUID, MIG
// instances as partitions, profile names and placements, and what part of a
// device no further instance could cover.
//
// It does not know who uses a GPU, nor how any of this is read: those are
// packages workload and sample.
package gpu

// UUID is NVML's name of a device ("GPU-…") or of a MIG device ("MIG-…").
// It is immutable for the lifetime of what it names.
type UUID string

// MiB is the unit in which NVIDIA's tools, HAMi and KAI state memory.
const MiB = 1 << 20

// WholeDevice is NVML's GPU instance id of a process or partition that is not
// inside a MIG instance (0xFFFFFFFF in nvmlProcessInfo_t).
const WholeDevice uint32 = 0xFFFFFFFF

// State says whether a device could be read at a moment.
type State string

// The states of a device. Only StateOK carries readings; the others carry a
// reason in words.
const (
	// StateOK: the device answered.
	StateOK State = "ok"
	// StateLost: NVML says the GPU is off the bus or needs a reset. It is
	// still paid for, by nobody's workload: account `unavailable`.
	StateLost State = "lost"
	// StateHung: a call did not return within its deadline: `unmeasured`.
	StateHung State = "hung"
	// StateUnreadable: NVML answered with an error for this device, or the
	// driver was reloaded under the agent: `unmeasured`.
	StateUnreadable State = "unreadable"
	// StateNotSupported: no reading exists on this platform (no NVML, as on
	// Jetson): `unmeasured`, and never expected to change.
	StateNotSupported State = "not_supported"
)

// Mode is how a partition is shared.
type Mode string

// The sharing modes of accounting.md §1. ModeShared is used when replicas are
// seen and nothing proves whether time-slicing or MPS serves them.
const (
	ModeNone        Mode = "none"
	ModeExclusive   Mode = "exclusive"
	ModeTimeSlicing Mode = "time-slicing"
	ModeMPS         Mode = "mps"
	ModeMIG         Mode = "mig"
	ModeSharedClaim Mode = "shared-claim"
	ModeFraction    Mode = "fraction"
	ModeShared      Mode = "shared"
)

// Grade says how far a figure can be trusted.
type Grade string

// The grades of a reading, best first.
const (
	Measured    Grade = "measured"
	Derived     Grade = "derived"
	Estimated   Grade = "estimated"
	Indivisible Grade = "indivisible"
	Skewed      Grade = "skewed"
	Unmeasured  Grade = "unmeasured"
)

var grades = [...]Grade{Measured, Derived, Estimated, Indivisible, Skewed, Unmeasured}

// GradeCount is how many grades there are.
const GradeCount = len(grades)

// Grades lists the grades, best first.
func Grades() [GradeCount]Grade { return grades }

// Rank is the place of a grade among Grades, -1 for none of them.
func (g Grade) Rank() int {
	for i, have := range grades {
		if have == g {
			return i
		}
	}
	return -1
}
