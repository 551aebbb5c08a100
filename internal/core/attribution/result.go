// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Result is one attributed sample: for each partition who holds what.
// Everything in it is sorted, so equal inputs print equal bytes.
type Result struct {
	Node       string         `json:"node"`
	At         time.Time      `json:"at"`
	MonoMS     int64          `json:"mono_ms"`
	Standalone bool           `json:"standalone,omitempty"`
	NVML       sample.Library `json:"nvml"`
	Partitions []Partition    `json:"partitions"`
	Findings   []Finding      `json:"findings,omitempty"`
	Pods       []PodResult    `json:"pods,omitempty"`
	// Engines are the looks at inference engines since the sample before.
	Engines []Engine `json:"engines,omitempty"`
	// Machine is what the node is; nil while nobody says it.
	Machine *Machine `json:"machine,omitempty"`
	// Others is what pods without a GPU ask for; nil while that is not known.
	Others  *OtherPods                     `json:"others,omitempty"`
	Sources map[string]sample.SourceStatus `json:"sources,omitempty"`
	// Identities says whom each process named by a device belongs to.
	Identities map[int]Identity `json:"identities,omitempty"`
	// Events are the device events of this sample, by device.
	Events map[gpu.UUID][]sample.Event `json:"events,omitempty"`
}

// Partition is one partition at one moment. Sizes are bytes; nil is unknown.
// Where State is ok and Capacity is known, the parts sum to the whole:
// Reserved + Σ holdings + Unattributed + Free = Capacity (invariant B).
type Partition struct {
	ID gpu.PartitionID `json:"id"`
	// Names are the UUIDs by which it is known: the device's, or the MIG
	// UUIDs of the instance's compute instances.
	Names  []gpu.UUID `json:"names,omitempty"`
	Index  int        `json:"index"`
	Minor  int        `json:"minor"`
	Slot   string     `json:"slot,omitempty"` // PCI address of the device
	Model  string     `json:"model,omitempty"`
	State  gpu.State  `json:"state"`
	Reason string     `json:"reason,omitempty"`
	// Profile, Placement and Slices describe a MIG instance; DeviceSlices is
	// the device's number of memory slices, StrandedSlices (on the whole
	// device in MIG mode) those that no further instance could cover.
	Profile        string        `json:"profile,omitempty"`
	Placement      gpu.Placement `json:"placement,omitzero"`
	Slices         uint32        `json:"slices,omitempty"`
	DeviceSlices   uint32        `json:"device_slices,omitempty"`
	StrandedSlices uint32        `json:"stranded_slices,omitempty"`
	// MIGParent is true for a whole device in MIG mode: it cannot be granted
	// itself, its money is what no instance covers, and it has no capacity. Its
	// holdings are those of processes that are in none of its instances.
	MIGParent bool `json:"mig_parent,omitempty"`

	Mode gpu.Mode `json:"mode"`
	// ModeEvidence says in a few words how the mode is known.
	ModeEvidence string `json:"mode_evidence,omitempty"`
	// Replicas is N, the number of ids under which the device is offered;
	// nil when unknown.
	Replicas *int64 `json:"replicas,omitempty"`

	Capacity *uint64 `json:"capacity"`
	Reserved *uint64 `json:"reserved"`
	// ReserveUnknown: the driver does not tell its reserve and counts it as
	// used. Reserved then is 0 in the balance and no figure to show: the bytes
	// stand in Unattributed, or with a holder whose process has no size.
	ReserveUnknown bool      `json:"reserve_unknown,omitempty"`
	Used           *uint64   `json:"used"`
	Unattributed   *uint64   `json:"unattributed"`
	Free           *uint64   `json:"free"`
	Grade          gpu.Grade `json:"grade"`
	Holdings       []Holding `json:"holdings,omitempty"`
	Grants         []Grant   `json:"grants,omitempty"`
	// EstimatedCapacity is the host's memory where the device has none of its
	// own and processes' sizes are known (unified memory); never in a balance.
	EstimatedCapacity *uint64 `json:"estimated_capacity,omitempty"`
	// GrantsKnown is false while the source of grants cannot be read.
	GrantsKnown bool `json:"grants_known"`
	// SignalsGrade is measured when one holder at most is on the partition,
	// indivisible when several share its device-level signals.
	SignalsGrade gpu.Grade          `json:"signals_grade,omitempty"`
	Signals      sample.Signals     `json:"signals,omitzero"`
	Power        sample.Power       `json:"power,omitzero"`
	Accounted    []sample.Accounted `json:"accounted,omitempty"`
}

// Holding is what one holder has on one partition.
type Holding struct {
	Holder workload.Holder `json:"holder"`
	// Bytes is nil when it is not known and cannot be derived or estimated.
	Bytes *uint64   `json:"bytes"`
	Grade gpu.Grade `json:"grade"`
	// Leak: the holder is a pod that has no grant on this partition.
	Leak bool  `json:"leak,omitempty"`
	PIDs []int `json:"pids,omitempty"`
	// SM is the sum of the processes' sampled SM shares: a signal, never money.
	SM      *float64  `json:"sm,omitempty"`
	SMGrade gpu.Grade `json:"sm_grade,omitempty"`
}

// Grant is one pod's right to one partition: one per pod and partition.
type Grant struct {
	Holder     workload.Holder `json:"holder"` // a pod; Container is empty
	Containers []string        `json:"containers,omitempty"`
	// Source is kubelet, dra, hami, kai, koordinator, aliyun or volcano; spec
	// where the kubelet does not list the pod, or not yet all that it was given,
	// and the pod's specification and what it holds say so.
	Source    string   `json:"source"`
	Resource  string   `json:"resource,omitempty"`
	DeviceIDs []string `json:"device_ids,omitempty"`
	Claim     string   `json:"claim,omitempty"` // namespace/name
	Mode      gpu.Mode `json:"mode"`
	// Replicas is how many ids of the partition the pod holds.
	Replicas int64 `json:"replicas,omitempty"`
	// Reserved is r: the share of the partition this grant keeps from
	// everyone else. Under shared-claim it is the claim's, for its pods
	// together. ReservedBytes is that share of the capacity in bytes; nil if
	// the share or the capacity is not known, and under shared-claim, where the
	// bytes are no single pod's.
	Reserved      gpu.Ratio `json:"reserved"`
	ReservedBytes *uint64   `json:"reserved_bytes,omitempty"`
	// LimitBytes is what the pod may use by its grant, nil if unlimited.
	LimitBytes *uint64 `json:"limit_bytes,omitempty"`
	Admin      bool    `json:"admin,omitempty"`
}

// Finding is something that is not as it should be, with its evidence.
type Finding struct {
	Kind     FindingKind     `json:"kind"`
	Severity Severity        `json:"severity"`
	Holder   workload.Holder `json:"holder,omitzero"`
	// Partition is the text key of the partition, Device its device; both
	// may be empty when the finding is about the node.
	Partition  string   `json:"partition,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	Device     gpu.UUID `json:"device,omitempty"`
	// Victims are the pods ("namespace/name") whose grant is intruded on.
	Victims []string `json:"victims,omitempty"`
	PID     int      `json:"pid,omitempty"`
	Bytes   *uint64  `json:"bytes,omitempty"`
	Count   int64    `json:"count,omitempty"`
	// Resource is the extended resource concerned.
	Resource string   `json:"resource,omitempty"`
	Detail   string   `json:"detail"`
	Evidence []string `json:"evidence,omitempty"`
}

// Machine is what the node is, as its object says, or, without Kubernetes, the
// host. A zero value is unknown.
type Machine struct {
	ProviderID string            `json:"provider_id,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// CPUMilli and MemoryBytes are the node's capacity, thousandths of a CPU and
	// bytes.
	CPUMilli    int64  `json:"cpu_milli,omitempty"`
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	// Of these pods may have so much (status.allocatable).
	AllocatableCPUMilli    int64  `json:"allocatable_cpu_milli,omitempty"`
	AllocatableMemoryBytes uint64 `json:"allocatable_memory_bytes,omitempty"`
	// Taints are those that keep pods away (workload.Node).
	Taints []string `json:"taints,omitempty"`
	// Cards are the models of its GPUs whose MIG profiles the driver told.
	Cards []Card `json:"cards,omitempty"`
	// CreatedMS is when the node's object was made, Unix milliseconds.
	CreatedMS int64 `json:"created_ms,omitempty"`
	// Unschedulable: the scheduler may not put pods on it (cordoned).
	Unschedulable bool `json:"unschedulable,omitempty"`
}

// Card is a model of GPU as NVML describes it: how it can be cut into MIG instances,
// and how large they are.
type Card struct {
	Model         string                  `json:"model"`
	CapacityBytes uint64                  `json:"capacity_bytes"`
	MemorySlices  uint32                  `json:"memory_slices,omitempty"`
	Profiles      []gpu.ProfilePlacements `json:"profiles,omitempty"`
}

// Requests is how many pods ask for how much.
type Requests struct {
	Pods        int64  `json:"pods"`
	CPUMilli    int64  `json:"cpu_milli"`
	MemoryBytes uint64 `json:"memory_bytes"`
}

func (r *Requests) add(cpuMilli int64, memory uint64) {
	r.Pods, r.CPUMilli, r.MemoryBytes = r.Pods+1, r.CPUMilli+min(cpuMilli, 1<<40), r.MemoryBytes+min(memory, 1<<50)
}

// OtherPods is what the pods of a node that have no GPU and ask for none ask for.
// Movable is the part of those that another node could have: not a DaemonSet's, and
// not static ones.
type OtherPods struct {
	Requests
	Movable Requests `json:"movable,omitzero"`
}

// PodAbout is what a pod's object says that concerns advice. It enters no share and
// no bill.
type PodAbout struct {
	// Template names the pod template that it was made of, as a Deployment,
	// StatefulSet or DaemonSet labels it.
	Template string `json:"template,omitempty"`
	// Advice and Latency are the annotations of these names, as they are written.
	Advice  string `json:"advice,omitempty"`
	Latency string `json:"latency,omitempty"`
	// Place is what it asks of its node beside room.
	Place workload.Placement `json:"place,omitzero"`
	// CreatedMS is when it was made, ScheduledMS when it was given a node, Unix
	// milliseconds; 0 where one of them is not known.
	CreatedMS   int64 `json:"created_ms,omitempty"`
	ScheduledMS int64 `json:"scheduled_ms,omitempty"`
}

// PodResult is the CPU and memory of one pod on the node, with whom it belongs
// to: of every pod that was read, and of every one with GPU memory or a grant.
type PodResult struct {
	Holder workload.Holder `json:"holder"`
	// Owner is the workload that the pod belongs to, as far up as known; Labels
	// are those that Policy.CostLabels asks for. Both are empty while the pod's
	// object is not known.
	Owner  workload.Owner    `json:"owner,omitzero"`
	Labels map[string]string `json:"labels,omitempty"`
	// CPUNanos and MemoryBytes are nil where they were not read.
	CPUNanos    *uint64 `json:"cpu_nanos"`
	MemoryBytes *uint64 `json:"memory_bytes"`
	CPUMilli    int64   `json:"cpu_request_milli,omitempty"`
	MemoryReq   int64   `json:"memory_request_bytes,omitempty"`
	// About is what its object says that concerns advice.
	About PodAbout `json:"about,omitzero"`
}

// Identity is the owner of one process.
type Identity struct {
	Holder      workload.Holder `json:"holder"`
	ContainerID string          `json:"container_id,omitempty"`
	Comm        string          `json:"comm,omitempty"`
}
