// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Batch is everything that closed together on one node: normally one minute.
// (Agent, Boot, Seq) names it for good: a batch is never changed, and a
// receiver counts it once.
type Batch struct {
	Version int    `json:"v"`
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	// Agent is the installation's id, Boot the process's, Seq counts from 1
	// within the boot.
	Agent string `json:"agent"`
	Boot  string `json:"boot"`
	Seq   uint64 `json:"seq"`
	// StartMS labels the window by the wall clock (Unix milliseconds);
	// DurationMS measures it by the monotonic clock.
	StartMS    int64 `json:"start_ms"`
	DurationMS int64 `json:"duration_ms"`
	// IntervalMS is the sampling interval that was set.
	IntervalMS int64 `json:"interval_ms"`
	// ProviderID names the machine behind the node (spec.providerID); empty
	// where nobody says it. Another machine may have the node's name later.
	ProviderID string `json:"provider_id,omitempty"`
	// Shape is what the machine is. It stands in the first window of a boot and
	// of each hour of UTC, and in every window in which it changed, so that an
	// hour can be priced from its own records.
	Shape *NodeShape `json:"shape,omitempty"`
	// Unschedulable are the times in which the scheduler could not hand the node
	// out (cordoned), in order.
	Unschedulable []Span `json:"unschedulable,omitempty"`
	// Others is what pods without a GPU ask for on the node, as it stood last; nil
	// where it is not known.
	Others *attribution.OtherPods `json:"others,omitempty"`

	Partitions []PartitionRecord `json:"partitions,omitempty"`
	Holders    []Record          `json:"holders,omitempty"`
	Grants     []GrantRecord     `json:"grants,omitempty"`
	Pods       []PodRecord       `json:"pods,omitempty"`
	Engines    []EngineRecord    `json:"engines,omitempty"`
	Findings   []FindingRecord   `json:"findings,omitempty"`
	Gap        *Gap              `json:"gap,omitempty"`
}

// NodeShape is what a machine is, as Kubernetes (or, without it, the host) tells
// it: what its price depends on. A zero value is unknown.
type NodeShape struct {
	Labels map[string]string `json:"labels,omitempty"`
	// CPUMilli is thousandths of a CPU, MemoryBytes the host's memory: the node's
	// capacity, not what of it pods may have.
	CPUMilli    int64  `json:"cpu_milli,omitempty"`
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	// Of these pods may have so much.
	AllocatableCPUMilli    int64  `json:"allocatable_cpu_milli,omitempty"`
	AllocatableMemoryBytes uint64 `json:"allocatable_memory_bytes,omitempty"`
	// Taints are those that keep pods away: "KEY=VALUE:EFFECT", in order.
	Taints []string `json:"taints,omitempty"`
	// Cards are the models whose MIG profiles the driver told since the boot, by name.
	Cards []attribution.Card `json:"cards,omitempty"`
	// CreatedMS is when the node's object was made, Unix milliseconds.
	CreatedMS int64 `json:"created_ms,omitempty"`
	// Slots are the places of GPUs that the agent has seen, in order of their
	// names: an hour without any record is priced by them.
	Slots []NodeSlot `json:"slots,omitempty"`
}

// NodeSlot is the place of one GPU: its PCI address as PartitionRecord has it,
// empty for a device without one, and the model of the card in it.
type NodeSlot struct {
	Slot  string `json:"slot,omitempty"`
	Model string `json:"model,omitempty"`
}

// Span is a piece of a window: [StartMS, StartMS+DurationMS), wall-clock
// label, monotonic length.
type Span struct {
	StartMS    int64 `json:"start_ms"`
	DurationMS int64 `json:"duration_ms"`
}

// PartitionRecord is what one partition as a whole did in one piece: the
// denominator of every share. Byte-milliseconds are integers; over the
// measured time
//
//	CapacityByteMS = ReservedByteMS + Σ Record.ByteMS + UnattributedByteMS + FreeByteMS
//
// exactly (invariant B). MeasuredMS + UnmeasuredMS + UnavailableMS = DurationMS.
type PartitionRecord struct {
	Partition gpu.PartitionID `json:"partition"`
	Span
	Names          []gpu.UUID    `json:"names,omitempty"`
	Slot           string        `json:"slot,omitempty"`
	Model          string        `json:"model,omitempty"`
	Profile        string        `json:"profile,omitempty"`
	Placement      gpu.Placement `json:"placement,omitzero"`
	Slices         uint32        `json:"slices,omitempty"`
	DeviceSlices   uint32        `json:"device_slices,omitempty"`
	StrandedSlices uint32        `json:"stranded_slices,omitempty"`
	MIGParent      bool          `json:"mig_parent,omitempty"`
	Mode           gpu.Mode      `json:"mode"`
	Replicas       *int64        `json:"replicas,omitempty"`

	MeasuredMS    int64 `json:"measured_ms"`
	UnmeasuredMS  int64 `json:"unmeasured_ms,omitempty"`
	UnavailableMS int64 `json:"unavailable_ms,omitempty"`
	// NoMemoryMS is the part of MeasuredMS in which the device answered but
	// has no memory reading (unified memory): the byte sums cover the rest.
	NoMemoryMS int64 `json:"no_memory_ms,omitempty"`
	// ReserveUnknownMS is the part of MeasuredMS in which the driver did not
	// tell its reserve: the reserve is in UsedByteMS then, as unattributed or
	// with a holder of estimated size, and ReservedByteMS covers the rest.
	ReserveUnknownMS int64 `json:"reserve_unknown_ms,omitempty"`
	// GrantsUnknownMS is time in which the source of grants was unreadable.
	GrantsUnknownMS int64    `json:"grants_unknown_ms,omitempty"`
	Reasons         []string `json:"reasons,omitempty"`

	CapacityBytes *uint64 `json:"capacity_bytes"`
	// EstimatedCapacityBytes is the memory of the host, where the device has none
	// of its own and sizes of processes are known (unified memory). It is the
	// denominator of shares then, graded estimated, and in no balance.
	EstimatedCapacityBytes *uint64 `json:"estimated_capacity_bytes,omitempty"`
	CapacityByteMS         uint64  `json:"capacity_byte_ms"`
	ReservedByteMS         uint64  `json:"reserved_byte_ms"`
	UsedByteMS             uint64  `json:"used_byte_ms"`
	UnattributedByteMS     uint64  `json:"unattributed_byte_ms"`
	FreeByteMS             uint64  `json:"free_byte_ms"`
	// Grade is the worst of the measured time, unmeasured where there is none.
	// GradeMS splits MeasuredMS by grade; nil when all of it is of Grade.
	Grade   gpu.Grade           `json:"grade"`
	GradeMS map[gpu.Grade]int64 `json:"grade_ms,omitempty"`
	Signals Signals             `json:"signals,omitzero"`
	// EnergyMJ is the energy the device used, nil when not read.
	EnergyMJ *uint64 `json:"energy_mj,omitempty"`
	// PowerMW is what the device drew and PowerLimitMW what it may draw: means
	// over the time in which each was read, nil where it never was.
	PowerMW      *uint64        `json:"power_mw,omitempty"`
	PowerLimitMW *uint64        `json:"power_limit_mw,omitempty"`
	Events       []sample.Event `json:"events,omitempty"`
}

// Record is what one holder had on one partition in one piece.
type Record struct {
	Partition gpu.PartitionID `json:"partition"`
	Span
	Holder workload.Holder `json:"holder"`
	Leak   bool            `json:"leak,omitempty"`
	// PresentMS is time with a holding of any size, known or not; ByteMS
	// sums the known sizes over KnownMS of it; PeakBytes is the largest.
	PresentMS int64  `json:"present_ms"`
	KnownMS   int64  `json:"known_ms"`
	ByteMS    uint64 `json:"byte_ms"`
	PeakBytes uint64 `json:"peak_bytes"`
	// Grade is the worst of KnownMS, unmeasured where no size was known.
	// GradeMS splits KnownMS by grade; nil when all of it is of Grade.
	Grade   gpu.Grade           `json:"grade"`
	GradeMS map[gpu.Grade]int64 `json:"grade_ms,omitempty"`
	// SMMS is the sum of SM share × milliseconds over SMKnownMS: a signal.
	SMMS      float64 `json:"sm_ms,omitempty"`
	SMKnownMS int64   `json:"sm_known_ms,omitempty"`
	// AccountedByteMS is an upper bound (peak × lifetime) for processes that
	// began and ended between two samples, from NVML's accounting mode. It
	// stands beside the balance, not in it, and is always estimated.
	AccountedByteMS uint64 `json:"accounted_byte_ms,omitempty"`
}

// GrantRecord is one pod's grant on one partition in one piece.
type GrantRecord struct {
	Partition gpu.PartitionID `json:"partition"`
	Span
	Grant attribution.Grant `json:"grant"`
	// GrantedMS is how long the grant stood within the piece.
	GrantedMS int64 `json:"granted_ms"`
}

// PodRecord is the CPU and memory of one pod over the window, and whom it
// belongs to. Every pod with GPU memory or a grant has one, read or not.
type PodRecord struct {
	Span
	Holder workload.Holder `json:"holder"`
	// Owner is the workload that the pod belongs to, as far up as known. Labels
	// are the labels and annotations chosen as cost dimensions. Both as they
	// stood last in the window.
	Owner  workload.Owner    `json:"owner,omitzero"`
	Labels map[string]string `json:"labels,omitempty"`
	// About is what its object says that concerns advice, as it stood last.
	About     attribution.PodAbout `json:"about,omitzero"`
	PresentMS int64                `json:"present_ms"`
	// UnmeasuredMS is time between two samples too far apart, or in which the
	// pod could not be read: only the requests are known of it, and the CPU
	// counter where it was read before and after. What was used is unknown.
	UnmeasuredMS int64 `json:"unmeasured_ms,omitempty"`
	// CPUNanos is CPU time used in the window; MemoryByteMS the working set.
	CPUNanos     uint64 `json:"cpu_nanos"`
	MemoryByteMS uint64 `json:"memory_byte_ms"`
	// The requests, as sums over time: max(request, usage) is taken per window.
	CPURequestMilliMS   int64  `json:"cpu_request_milli_ms"`
	MemoryRequestByteMS uint64 `json:"memory_request_byte_ms"`
}

// FindingRecord is a finding that stood for ForMS of the window.
type FindingRecord struct {
	attribution.Finding
	ForMS int64 `json:"for_ms"`
}

// Signals are time-weighted means of device signals over the time they were
// read. A nil pointer was never read: unknown, not 0.
type Signals struct {
	sample.Signals
	// KnownMS is the time in which at least one of them was read.
	KnownMS int64 `json:"known_ms,omitempty"`
}

// Gap says that nothing was recorded for a time: the agent was down, or its
// spool was full and old batches had to go.
type Gap struct {
	Reason string `json:"reason"`
	Span
	// Boot, FirstSeq and LastSeq name dropped batches, where they are known.
	Boot     string `json:"boot,omitempty"`
	FirstSeq uint64 `json:"first_seq,omitempty"`
	LastSeq  uint64 `json:"last_seq,omitempty"`
}
