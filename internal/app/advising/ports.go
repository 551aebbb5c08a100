// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/signal"
)

// Records reads the records that activity is made of.
type Records interface {
	// Touching walks the windows that overlap the hours of UTC in [from, to) of one
	// node (in any cluster) or of all (""). An error is yielded last.
	Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[rating.Windows, error]
}

// Activities keeps the activity of hours.
type Activities interface {
	// ActivityDue lists hours that are rated and whose activity is not there, or is
	// not of these records and rules: oldest first, at most limit, none before since.
	ActivityDue(ctx context.Context, since time.Time, rules string, limit int) ([]activity.Due, error)
	// KeepActivity keeps hours in the place of what is there of them, all or none.
	KeepActivity(ctx context.Context, made []activity.Made) error
	// AskActivity has the hours of a node in [from, to) made again.
	AskActivity(ctx context.Context, cluster, node string, from, to time.Time) error
	// DropActivity deletes what is of hours before a time.
	DropActivity(ctx context.Context, before time.Time) error
	// IdlePower is what devices drew without any process in the hours of [from, to),
	// by cluster and node.
	IdlePower(ctx context.Context, from, to time.Time) (map[[2]string]map[gpu.UUID]signal.IdlePower, error)
	// Activity walks hours, those of one workload together.
	Activity(ctx context.Context, q activity.Query) iter.Seq2[*activity.Hour, error]
	// Holders are the workloads that had GPUs of each node in [from, to).
	Holders(ctx context.Context, from, to time.Time) ([]activity.NodeHolder, error)
	// NodeOthers is what pods without a GPU asked for on each node, at most, in the
	// hours of [from, to), by cluster, node and hour.
	NodeOthers(ctx context.Context, from, to time.Time) ([]activity.NodeOthers, error)
	// ClassTimes is how long pods were of each class in [from, to).
	ClassTimes(ctx context.Context, from, to time.Time) ([]activity.ClassTime, error)
}

// Ledger reads what was booked.
type Ledger interface {
	// Costs walks what the nodes cost, as last rated, in [from, to).
	Costs(ctx context.Context, from, to time.Time) iter.Seq2[*pricing.NodeCost, error]
	// Rated walks the hours in [from, to) as last rated.
	Rated(ctx context.Context, from, to time.Time, node string) iter.Seq2[*rating.Rated, error]
	// Machines are those that stood behind the names of nodes in [from, to), with what
	// they were said to be, by cluster, node and time.
	Machines(ctx context.Context, from, to time.Time, node string) ([]rating.Machine, error)
	// Report answers as report.Run does.
	Report(ctx context.Context, spec report.Spec) (report.Report, error)
}

// Decided keeps what people said to advice.
type Decided interface {
	// KeepDecision keeps what was said to a recommendation in the place of what was
	// said to it before.
	KeepDecision(ctx context.Context, d inquiry.Decision) error
	// Decisions are all that was said, the newest first.
	Decisions(ctx context.Context) ([]inquiry.Decision, error)
}

// Stamped says whether what was read is still so.
type Stamped interface {
	// Stamp is the state of the hours of [from, to), of records, activity and ledger:
	// whatever changes an answer about them changes it, before the change is over. What
	// changes other hours alone need not. It is of one open store, and to be asked for
	// before what is kept with it. Prices and what people said are no part of it.
	Stamp(from, to time.Time) uint64
}

// Store is all of it.
type Store interface {
	Records
	Activities
	Ledger
	Decided
	Stamped
}
