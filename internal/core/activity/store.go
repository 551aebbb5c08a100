// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// Due is an hour of a node whose activity is to be made, or made again: its records
// are others than those that it was made from, or the rules are.
type Due struct {
	Cluster, Node string
	HourMS        int64
	// Records is the digest of the records that the hour was rated from.
	Records string
}

// Made is the activity of an hour of a node.
type Made struct {
	Due
	Rules string
	Hours []Hour
	// Quiet is what the node's devices drew in the hour without any process.
	Quiet map[gpu.UUID]signal.IdlePower
	// Others is the most that pods without a GPU asked for on the node; nil where no
	// record says it.
	Others *attribution.OtherPods
}

// NodeOthers is what pods without a GPU asked for on a node in an hour, at most.
type NodeOthers struct {
	Cluster, Node string
	HourMS        int64
	attribution.OtherPods
}

// Query says which hours are wanted: those that begin in [FromMS, ToMS) and meet
// every field that is not empty.
type Query struct {
	FromMS, ToMS                    int64
	Cluster, Node                   string
	Namespace, OwnerKind, OwnerName string
	PodName                         string
}

// ClassTime is how long the pods of a namespace were of a class.
type ClassTime struct {
	Cluster, Namespace string
	Class              signal.Class
	MS                 int64
}

// NodeHolder is a workload that had GPUs of a node. Pod is its name where no owner is
// known.
type NodeHolder struct {
	Cluster, Node                        string
	Namespace, OwnerKind, OwnerName, Pod string
}
