// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// Machine is what stood behind a node's name for a time, as the records tell.
type Machine struct {
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	// ProviderID is empty where no record says it.
	ProviderID string `json:"provider_id,omitempty"`
	// FirstMS is the beginning of its first window, LastMS the end of its last,
	// IntervalMS the sampling interval then. Unix milliseconds. They are of all
	// records, whatever time was asked for.
	FirstMS    int64 `json:"first_ms"`
	LastMS     int64 `json:"last_ms"`
	IntervalMS int64 `json:"interval_ms"`
	// CreatedMS is when its object was made, the first of them if there were several;
	// 0 where no record tells it. It, too, is of all records.
	CreatedMS int64 `json:"created_ms,omitempty"`
	// Shapes are what it was: the last that was told at or before the time asked
	// for, and those told within, by time. Where none was told before, the first
	// one after stands in.
	Shapes []ShapeAt `json:"shapes,omitempty"`
}

// ShapeAt is a shape, and when it was told.
type ShapeAt struct {
	FromMS int64 `json:"from_ms"`
	usage.NodeShape
}

// Piece is a node from one moment to another, within an hour, in which it does
// not change.
type Piece struct {
	FromMS int64        `json:"from_ms"`
	ToMS   int64        `json:"to_ms"`
	Node   pricing.Node `json:"node"`
}
