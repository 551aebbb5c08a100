// SPDX-License-Identifier: Apache-2.0

package rating

import "github.com/gputally/gputally/internal/core/usage"

// Windows are the records of one node that touch some hours. A store has them
// packed, and makes them when they are read: of a large cluster, those of one node
// after the other are small, and all together gigabytes.
type Windows struct {
	Cluster, Node string
	// Batches is how many there are.
	Batches int
	// Read makes them, each batch once, by agent, boot and number. It may be called
	// from any goroutine, also beside others and after the walk. What it returns
	// shares parts with what others return: it is not to be changed.
	Read func() ([]usage.Batch, error)
	// Done, where it is set, takes what Read returned back, from a caller who kept
	// nothing of it: its memory is used again. It need not be called.
	Done func([]usage.Batch)
}
