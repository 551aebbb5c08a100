// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/scene"
)

// Fleet is what is on the GPUs, by the newest record of each node.
type Fleet struct {
	Now      time.Time          `json:"now"`
	Revision uint64             `json:"revision" doc:"Give it as since the next time, and only what changed comes."`
	Full     bool               `json:"full" doc:"true: these are all nodes; false: only those that changed since the revision asked for."`
	Nodes    []*scene.FleetNode `json:"nodes" doc:"By cluster and name."`
}

// Timeline is who had one GPU when.
type Timeline = scene.Timeline

// Findings are those of a time.
type Findings struct {
	From     time.Time            `json:"from"`
	To       time.Time            `json:"to"`
	Findings []scene.StoodFinding `json:"findings" doc:"What stands comes first, then the gravest, then what stood longest."`
}
