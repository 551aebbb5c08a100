// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/scene"
)

// Fleet is what is on the GPUs, by the newest record of each node.
type Fleet struct {
	Now      time.Time          `json:"now"`
	Revision uint64             `json:"revision" doc:"Give it as since the next time, and only what changed comes."`
	Full     bool               `json:"full" doc:"true: these are all nodes; false: only those that changed since the revision asked for."`
	Nodes    []*scene.FleetNode `json:"nodes" doc:"By cluster and name."`
	Gone     []scene.NodeName   `json:"gone,omitempty" doc:"Nodes that are no longer here since the revision asked for: nothing was heard of them for a day."`
}

// Timeline is who had one GPU when.
type Timeline = scene.Timeline

// Findings are those of a time.
type Findings struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Findings []Finding `json:"findings" doc:"What stands comes first, then the gravest, then what stood longest."`
}

// Finding is one with what it cost.
type Finding struct {
	scene.StoodFinding
	Cost *FindingCost `json:"cost,omitempty" doc:"Where it was asked for."`
}

// FindingCost is what the ledger has of a finding, in the whole hours in which it stood.
type FindingCost struct {
	Of      string          `json:"of,omitempty" enum:"leak,holder,host,unattributed,unavailable,unmeasured" doc:"What the money is of. leak: the pod's charges for what it was not given, on this GPU. holder: the pod's charges on this GPU. The others: the platform account of that name, on this GPU."`
	Amounts []FindingAmount `json:"amounts,omitempty" doc:"One for each currency. Left out: not known, see unknown."`
	Until   *time.Time      `json:"until,omitempty" doc:"The end of the newest hour that is counted: later ones are not rated yet."`
	Unknown string          `json:"unknown,omitempty" enum:"not_rated,no_price,no_money,not_apart" doc:"Why no amount is told. not_rated: no hour of it is rated yet. no_price: a GPU without a price. no_money: such a finding moves no money. not_apart: what it cost is in charges that have other reasons too."`
}

// FindingAmount is money of one currency.
type FindingAmount struct {
	Currency string    `json:"currency" example:"USD"`
	Amount   money.Sum `json:"amount"`
}
