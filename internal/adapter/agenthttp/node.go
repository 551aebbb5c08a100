// SPDX-License-Identifier: Apache-2.0

package agenthttp

import (
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// Node is the answer of /api/v1/node: the last sample, attributed, and the
// agent that took it. Fields may be added; none changes its meaning.
type Node struct {
	Agent Agent `json:"agent"`
	// Result is null until the first sample is done.
	Result *attribution.Result `json:"result"`
}

// Agent says who answers.
type Agent struct {
	Version string `json:"version"`
	// ID is the installation's id, Boot the process's: the names under which
	// usage records are counted.
	ID         string    `json:"id,omitempty"`
	Boot       string    `json:"boot,omitempty"`
	Cluster    string    `json:"cluster,omitempty"`
	Node       string    `json:"node"`
	StartedAt  time.Time `json:"started_at"`
	IntervalMS int64     `json:"interval_ms"`
	Samples    uint64    `json:"samples"`
}
