// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// Journal reads the records that were accepted.
type Journal interface {
	// Touching walks the windows that overlap the hours of UTC in [from, to), and
	// the batches whose gap does, of one node (in any cluster) or of all (""). An
	// error is yielded last.
	Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[rating.Windows, error]
	// Machines are those that stood behind the names of nodes in [from, to), with
	// the time of their first and last records. node "" is all.
	Machines(ctx context.Context, from, to time.Time, node string) ([]rating.Machine, error)
	// Findings walks the windows that began in the hours of [from, to) and have
	// findings, of one node or of all (""), without any other record. An error is
	// yielded last.
	Findings(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error]
	// Stamp is the state of the records of the hours of [from, to): what changes an answer
	// about them changes it. It is to be asked for before what is kept with it.
	Stamp(from, to time.Time) uint64
}
