// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Action is what a step does.
type Action string

// The actions, in the order in which a node goes through them.
const (
	// Cordon: nothing new comes to a node that is to go.
	Cordon Action = "cordon"
	// Layout: a GPU that nobody is on gets other MIG instances, or none.
	Layout Action = "layout"
	// Move: pods stop where they are and start elsewhere, where there is room for
	// them before they stop.
	Move Action = "move"
	// Return: a node that has no pods any more is given back.
	Return Action = "return"
)

// Step is one of a plan. Each can be done when those before it are.
type Step struct {
	Action Action `json:"action"`
	Node   string `json:"node,omitempty"`
	// GPU gets Instances; without any, MIG is off.
	GPU       gpu.UUID   `json:"gpu,omitempty"`
	Instances []Instance `json:"instances,omitempty"`
	// Moves are those of one pod, or of all pods of a gang that move.
	Moves []PodMove `json:"moves,omitempty"`
}

// PodMove is where a pod goes.
type PodMove struct {
	Pod string `json:"pod"`
	To  Place  `json:"to"`
}

// Returned is a node that the plan gives back.
type Returned struct {
	Node string      `json:"node"`
	Type string      `json:"type,omitempty"`
	Hour *money.Nano `json:"hour"` // nil: not known
	// CommittedUntilMS is until when it is paid all the same, 0 for no longer.
	CommittedUntilMS int64 `json:"committed_until_ms,omitempty"`
}

// Plan is how a fleet gets to fewer or cheaper nodes.
type Plan struct {
	Steps   []Step     `json:"steps"`
	Returns []Returned `json:"returns"`
	// Restarts are the pods that stop and start, those of gangs of which another
	// pod moves among them.
	Restarts []string `json:"restarts"`
	// Before and After are what is paid in an hour for the nodes whose price is
	// known, those that are committed among them.
	Before money.Nano `json:"before"`
	After  money.Nano `json:"after"`
	// Bound: no packing of these pods on these nodes costs less than this, in any
	// order of steps (Bound).
	Bound money.Nano `json:"bound"`
	// Unpriced is how many of the nodes that go have no price: what they save is
	// not known.
	Unpriced int `json:"unpriced,omitempty"`
	// StrandedBefore and StrandedAfter are GPUs in thousandths (Stranded).
	StrandedBefore int64 `json:"stranded_before"`
	StrandedAfter  int64 `json:"stranded_after"`
	// Work is how many places were looked at, Cut whether the limit ended that.
	Work int64 `json:"work"`
	Cut  bool  `json:"cut,omitempty"`
}

// Gap is by how much the plan may be dearer than the cheapest packing: After is
// at most that much above it, in thousandths of the bound.
func (p *Plan) Gap() int64 {
	if p.Bound <= 0 {
		return 0
	}
	return int64(1000 * (float64(p.After) - float64(p.Bound)) / float64(p.Bound))
}
