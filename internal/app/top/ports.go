// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// Source is one node that can be looked at: an agent, or a capture being played.
type Source interface {
	// Name is how the user named the source: a URL or a file.
	Name() string
	// Read returns what the node is like now. It may block until ctx ends.
	Read(ctx context.Context) (Reading, error)
}

// Reading is what one source said of its node. The JSON form is that of
// gputally top --json (docs/formats/top.md).
type Reading struct {
	// Source is the URL or file it came from.
	Source string `json:"source"`
	// Error says why the last read failed; Result is then the last good one,
	// or nil where there never was one.
	Error string `json:"error,omitempty"`
	// Version is the agent's, empty for a capture.
	Version string              `json:"agent_version,omitempty"`
	Result  *attribution.Result `json:"result"`
	// ReadAt is when the result was got, by this machine's clock.
	ReadAt time.Time `json:"-"`
}
