// SPDX-License-Identifier: Apache-2.0

package inquiry

import (
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Status is how the ledger stands. Times are Unix milliseconds, 0: never.
type Status struct {
	Version   string
	NowMS     int64
	StartedMS int64
	Records   RecordsStatus
	Rating    RatingStatus
	// Books are those in force, the strongest first; the bills are the first.
	Books []BookStatus
	// Policy is how cost is divided, Split how one price is.
	Policy allocation.Policy
	Split  pricing.Rule
	// Closed is the last closed month of each scope.
	Closed []ledger.Closed
	// Labels are the keys of labels that reports know, in order.
	Labels     []string
	StoreBytes int64
	// Troubles are what went wrong last, the newest first, at most some ten.
	Troubles []Trouble
}

// RecordsStatus is what the agents delivered.
type RecordsStatus struct {
	Nodes   int
	Batches int64
	// FirstMS is the beginning of the oldest window that is kept, LastMS the
	// end of the newest, ArrivedMS when the last delivery came.
	FirstMS, LastMS, ArrivedMS int64
	// Silent are nodes of which nothing came for long, at most some ten of
	// SilentNodes.
	Silent      []SilentNode
	SilentNodes int
}

// SilentNode is a node that was heard of, and is not any more.
type SilentNode struct {
	Cluster, Node string
	LastMS        int64
}

// RatingStatus is how far the hours are rated.
type RatingStatus struct {
	// DueHours wait to be rated, of which OldestDue is the first; nil for none.
	DueHours  int
	OldestDue *ledger.NodeHour
	// RatedToMS: every hour before is rated as far as records came.
	RatedToMS int64
	Hours     uint64 // rated since the start
	LastMS    int64  // when the last was
}

// BookStatus is a price book in force.
type BookStatus struct {
	Name     string
	Revision string
	Grade    pricing.Grade
	Rows     int
}

// Trouble is something that failed.
type Trouble struct {
	AtMS   int64
	What   string // what was being done
	Detail string
	Hint   string // what to do
}
