// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Fleet is nodes, and the pods on them.
type Fleet struct {
	Nodes []Node
	Pods  []Pod
	// NowMS is the moment of the plan, Unix milliseconds.
	NowMS int64
}

// Node is a machine. What its DaemonSets ask for is taken off its allocatable
// CPU and memory by the caller: it ends with the node.
type Node struct {
	Name string
	Type string // as its provider calls it
	// Hour is what it costs in an hour, nil where that is not known.
	Hour *money.Nano
	// Keep is why it cannot be given back, "" where it can.
	Keep string
	// CommittedUntilMS is until when it is paid whatever happens, 0 for never.
	CommittedUntilMS int64
	CPUMilli         int64
	MemoryBytes      int64
	// MostPods is how many pods it takes, 0 where no limit is known.
	MostPods int
	Labels   map[string]string
	Taints   []string
	GPUs     []GPU
}

// GPU is one card.
type GPU struct {
	UUID  gpu.UUID
	Model string
	Bytes uint64
	// Slices is how many memory slices it has, 0 without MIG. Profiles are what
	// NVML offers on it.
	Slices   uint32
	Profiles []Profile
	// MIG is on now, with these instances.
	MIG    bool
	Layout []Instance
	// Fixed is why its layout must stay, "" where it may change.
	Fixed string
	// Shared: parts of it are handed out to several pods, by a sharing that the
	// operator declared.
	Shared bool
}

// Profile is a MIG profile as NVML describes it: its placements are in memory
// slices.
type Profile struct {
	Name       string
	Bytes      uint64
	Placements []gpu.Placement
	// Most is how many of it a card can have, 0 for as many as fit.
	Most int
}

// Instance is a MIG instance of a card.
type Instance struct {
	Profile   string        `json:"profile"`
	Placement gpu.Placement `json:"placement"`
}

// Pod is one pod, what it needs once it is moved, and what it has now.
type Pod struct {
	ID          string
	Need        Need
	CPUMilli    int64
	MemoryBytes int64
	// Gang: pods of one gang stop and start together, "" for none. If one of them
	// moves all restart, and if one cannot move none does.
	Gang string
	// Pinned is why it cannot move, "" where it can.
	Pinned string
	// NodeLabels are those that its node must have, Models those of which its
	// GPUs must be one (empty: any), Tolerates the taints that it stands.
	NodeLabels map[string]string
	Models     []string
	Tolerates  []string
	// Domain is whom it trusts: pods of two domains do not share one GPU.
	Domain string
	At     Place
}

// Need is one of: nothing, GPUs whole ones on one node, an instance of a
// profile, bytes on one partition, or thousandths of one shared GPU.
type Need struct {
	GPUs    int
	Profile string
	Bytes   uint64
	Milli   int
}

// Place is where a pod is: whole GPUs, an instance of one, or thousandths of
// one. A pod may have more than it needs where it is.
type Place struct {
	Node     string     `json:"node"`
	GPUs     []gpu.UUID `json:"gpus,omitempty"`
	Instance *Instance  `json:"instance,omitempty"`
	Milli    int        `json:"milli,omitempty"`
}
