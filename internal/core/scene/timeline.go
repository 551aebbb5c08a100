// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// Timeline is who had one GPU when. Every list of values has one for each step from
// From on; null is unknown.
type Timeline struct {
	UUID       gpu.UUID        `json:"uuid"`
	Cluster    string          `json:"cluster,omitempty"`
	Node       string          `json:"node"`
	Model      string          `json:"model,omitempty"`
	Slot       string          `json:"slot,omitempty"`
	From       time.Time       `json:"from"`
	To         time.Time       `json:"to"`
	StepMS     int64           `json:"step_ms" doc:"What one value is of. Values are means over the measured time in it."`
	Steps      int             `json:"steps"`
	Partitions []TimePartition `json:"partitions" doc:"The whole device and its MIG instances, each for as long as it was there."`
	Grants     []TimeGrant     `json:"grants"`
	Events     []TimeEvent     `json:"events"`
	Gaps       []TimeGap       `json:"gaps" doc:"Times of which nothing is known, and why."`
	Findings   []StoodFinding  `json:"findings"`
}

// TimePartition is one partition over time.
type TimePartition struct {
	Key          string       `json:"key"`
	Profile      string       `json:"profile,omitempty"`
	Start        uint32       `json:"start,omitempty"`
	Size         uint32       `json:"size,omitempty"`
	Slices       uint32       `json:"device_slices,omitempty" doc:"Memory slices of the device, in MIG mode."`
	Stranded     uint32       `json:"stranded_slices,omitempty" doc:"Of a device in MIG mode: how many slices no further instance could cover, last."`
	Mode         gpu.Mode     `json:"mode"`
	Parent       bool         `json:"mig_parent,omitempty"`
	Capacity     *uint64      `json:"capacity_bytes,omitempty"`
	Reserve      []*uint64    `json:"reserve_bytes"`
	Unattributed []*uint64    `json:"unattributed_bytes"`
	Free         []*uint64    `json:"free_bytes"`
	Grade        gpu.Grade    `json:"grade" enum:"measured,derived,estimated,indivisible,skewed,unmeasured" doc:"The worst of the time."`
	Busy         []*float64   `json:"busy"`
	SM           []*float64   `json:"sm"`
	Tensor       []*float64   `json:"tensor"`
	DRAM         []*float64   `json:"dram"`
	PowerMW      []*float64   `json:"power_mw"`
	Holders      []TimeHolder `json:"holders"`
}

// TimeHolder is what one holder had over time.
type TimeHolder struct {
	Kind      workload.Kind `json:"kind" enum:"pod,daemon,host,unknown"`
	Namespace string        `json:"namespace,omitempty"`
	Pod       string        `json:"pod,omitempty"`
	PodUID    string        `json:"pod_uid,omitempty"`
	Container string        `json:"container,omitempty"`
	Unit      string        `json:"unit,omitempty"`
	Workload  string        `json:"workload,omitempty"`
	Leak      bool          `json:"leak,omitempty"`
	Grade     gpu.Grade     `json:"grade" enum:"measured,derived,estimated,indivisible,skewed,unmeasured" doc:"The worst of the time."`
	Bytes     []*uint64     `json:"bytes" doc:"null: nothing is known of the step. 0: it held nothing."`
	Peak      uint64        `json:"peak_bytes"`
}

// TimeGrant is a grant and when it stood.
type TimeGrant struct {
	Partition string    `json:"partition"`
	Namespace string    `json:"namespace,omitempty"`
	Pod       string    `json:"pod,omitempty"`
	PodUID    string    `json:"pod_uid,omitempty"`
	Workload  string    `json:"workload,omitempty"`
	Source    string    `json:"source"`
	Resource  string    `json:"resource,omitempty"`
	Mode      gpu.Mode  `json:"mode"`
	Replicas  int64     `json:"replicas,omitempty"`
	Reserved  *uint64   `json:"reserved_bytes,omitempty"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
}

// TimeEvent is something that a device said.
type TimeEvent struct {
	At     time.Time `json:"at" doc:"The beginning of the window that has it."`
	Kind   string    `json:"kind"`
	XID    uint64    `json:"xid,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// TimeGap is a time of which nothing is known.
type TimeGap struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
	Kind   string    `json:"kind" enum:"unrecorded,unmeasured,unavailable"`
}

// steps are what a value may be of. The longest is short enough for 64 bits: 6 hours
// of the largest memory there is.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour,
}

// maxSteps is how many values are about as many as a screen shows.
const maxSteps = 720

// StepOf is the step that a time is told in.
func StepOf(d time.Duration) time.Duration {
	for _, s := range steps {
		if d <= s*maxSteps {
			return s
		}
	}
	return steps[len(steps)-1]
}
