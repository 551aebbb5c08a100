// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// GPUs reads the devices of the node (NVML). A library that cannot be used is
// an answer (Library.OK false), not an error.
type GPUs interface {
	Sample(ctx context.Context) (sample.Library, []sample.Device, error)
	// Instances tells since when each MIG instance was there, Unix ms.
	Instances() map[gpu.UUID]int64
	// RestartNeeded: only a new process can use the driver again.
	RestartNeeded() bool
}

// Host reads /proc and the cgroups of the node.
type Host interface {
	Processes(pids []int) map[int]sample.Process
	PodUsage() ([]sample.PodUsage, error)
	Reach() ([]sample.Reach, error)
	// Capacity is what the host has of "cpu", in thousandths, and "memory", in
	// bytes.
	Capacity() (map[string]int64, error)
}

// Grants reads the kubelet's list of who was given which device. An error
// beside readable grants concerns the rest of the answer.
type Grants interface {
	Read(ctx context.Context) (sample.Grants, error)
}

// Objects is the cache of this node's Kubernetes objects. It never waits; the
// status says how old the cache is.
type Objects interface {
	Objects() sample.Objects
	Status() sample.SourceStatus
}

// Engines asks inference engines in pods what they say of themselves. Neither
// call waits for an answer. Nil where none is asked.
type Engines interface {
	// Watch says who is asked from now on.
	Watch([]demand.Target)
	// Take is the looks that ended since the last Take.
	Take() []sample.Engine
}

// Spool keeps closed windows. Append owns the batch whatever it returns, and
// gives it its sequence number.
type Spool interface {
	Append(usage.Batch) error
	// Flush writes what an earlier Append could not.
	Flush() error
	// KeepInstances stores since when each MIG instance was there.
	KeepInstances(map[gpu.UUID]int64) error
}

// Recorder is told every sample (capture). Nil where nothing is recorded.
type Recorder interface {
	Write(sample.Sample) error
}

// Announcer tells the owner of a pod what their pod does. Nil where nobody is
// told. A call may take time; it is never waited for by the loop.
type Announcer interface {
	Announce(ctx context.Context, what Announcement) error
}

// Announcement is one thing about one pod.
type Announcement struct {
	Pod  workload.Holder // with name and UID; Container is empty
	Node string
	// Reason is a word of Kubernetes' kind, Note a text of at most 1,024 bytes.
	Reason, Note string
	At           time.Time
}

// The names of the sources, as they stand in Sample.Sources.
const (
	SourceNVML      = "nvml"
	SourceProcesses = "processes"
	SourcePodUsage  = "pod_usage"
	SourceReach     = "reach"
	SourceHost      = "host" // read where there is no API server to ask
	SourceGrants    = "pod_resources"
	SourceObjects   = sample.SourceObjects
)
