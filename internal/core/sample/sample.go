// SPDX-License-Identifier: Apache-2.0

// Package sample owns the shape of one observation of one node at one
// instant: what NVML, the kubelet, /proc and the API server answered, as they
// answered it. A Sample is a plain value: comparable by content, safe to keep,
// and the only input of attribution.
//
// It holds no judgement. Who owns a byte is package attribution's answer.
package sample

import (
	"time"

	"github.com/gputally/gputally/internal/core/workload"
)

// Sample is one observation of one node.
type Sample struct {
	Node string `json:"node"`
	// At is the wall clock; it labels. MonoMS is milliseconds on the
	// monotonic clock since the agent began; it measures.
	At     time.Time `json:"at"`
	MonoMS int64     `json:"mono_ms"`
	// NVML says whether the library could be used at all.
	NVML    Library  `json:"nvml"`
	Devices []Device `json:"devices,omitempty"`
	// Processes are the processes named by any device, by PID.
	Processes map[int]Process `json:"processes,omitempty"`
	Grants    Grants          `json:"grants"`
	Objects   Objects         `json:"objects"`
	// Reach lists, per container that was looked at, which GPU device nodes
	// it can open; a container that can open none is listed with none.
	Reach []Reach `json:"reach,omitempty"`
	// Usage is the CPU and memory of the pods, from their cgroups.
	Usage []PodUsage `json:"usage,omitempty"`
	// Engines are the looks at inference engines that ended since the last
	// sample.
	Engines []Engine `json:"engines,omitempty"`
	// Sources reports how each read went, by source name.
	Sources map[string]SourceStatus `json:"sources,omitempty"`
	// Standalone: there is no Kubernetes on this host; holders are units,
	// users and containers, and none of them is external.
	Standalone bool `json:"standalone,omitempty"`
}

// Library is the state of NVML on the node.
type Library struct {
	OK            bool   `json:"ok"`
	Error         string `json:"error,omitempty"`
	DriverVersion string `json:"driver_version,omitempty"`
	NVMLVersion   string `json:"nvml_version,omitempty"`
	CUDAVersion   int    `json:"cuda_version,omitempty"`
}

// SourceObjects is the name in Sample.Sources under which the API server's
// objects are reported.
const SourceObjects = "kubernetes"

// SourceStatus reports one read: a nil Error field is success.
type SourceStatus struct {
	OK         bool   `json:"ok"`
	Error      string `json:"error,omitempty"`
	DurationUS int64  `json:"duration_us"`
	// StaleMS is how old a cached answer is (API outage); 0 when fresh.
	StaleMS int64 `json:"stale_ms,omitempty"`
}

// Grants is the kubelet's word. Readable false means unknown, not empty.
type Grants struct {
	Readable bool                    `json:"readable"`
	Pods     []workload.PodResources `json:"pods,omitempty"`
	// Allocatable is GetAllocatableResources, nil when not read.
	Allocatable []workload.ResourceDevices `json:"allocatable,omitempty"`
}

// Objects are this node's Kubernetes objects, from the agent's cache.
type Objects struct {
	// Known is false until the cache was filled once.
	Known bool `json:"known"`
	// Node without an API server to ask is what the host says of itself: its
	// name and its capacity.
	Node   *workload.Node   `json:"node,omitempty"`
	Pods   []workload.Pod   `json:"pods,omitempty"`
	Claims []workload.Claim `json:"claims,omitempty"`
	Slices []workload.Slice `json:"slices,omitempty"`
}

// Process is what /proc says of one PID.
type Process struct {
	// StartTicks is field 22 of /proc/PID/stat: with the PID it names a
	// process for good, where a PID alone may be reused.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Cgroup is /proc/PID/cgroup, lines joined by newlines.
	Cgroup string `json:"cgroup,omitempty"`
	Comm   string `json:"comm,omitempty"`
	UID    int    `json:"uid,omitempty"`
	User   string `json:"user,omitempty"`
	// Env holds the variables that steer GPU runtimes, where readable.
	Env map[string]string `json:"env,omitempty"`
	// Gone: the process is no longer in /proc; what is known of it stands as
	// it was last seen.
	Gone bool `json:"gone,omitempty"`
}

// Reach says which GPU device nodes a container can open.
type Reach struct {
	PodUID      string `json:"pod_uid"`
	ContainerID string `json:"container_id"`
	// Minors are those of /dev/nvidiaN that are both visible in the
	// container's /dev and allowed by its devices cgroup.
	Minors []int `json:"minors"`
	// Evidence names what was looked at: "devices-cgroup", "device-nodes",
	// "spec".
	Evidence string `json:"evidence"`
}

// PodUsage is the CPU and memory of one pod, from its cgroup.
type PodUsage struct {
	PodUID string `json:"pod_uid"`
	// CPUNanos is CPU time used since the pod's cgroup began, nanoseconds.
	CPUNanos uint64 `json:"cpu_nanos"`
	// MemoryBytes is the working set: current use less inactive file cache.
	MemoryBytes uint64 `json:"memory_bytes"`
}
