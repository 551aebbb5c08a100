// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
)

// Usage reads the records that hours are rated from.
type Usage interface {
	// Touching walks the windows that overlap the hours of UTC in [from, to), and
	// the batches whose gap does, of one node (in any cluster) or of all (""): each
	// node of a cluster that has any, once. An error is yielded last.
	Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[rating.Windows, error]
	// Machines are those that stood behind the names of nodes in [from, to), by
	// cluster, node and time: by FirstMS and LastMS, whether or not they sent
	// anything in between. node "" is all.
	Machines(ctx context.Context, from, to time.Time, node string) ([]rating.Machine, error)
}

// Queue is the hours of nodes that are to be rated.
type Queue interface {
	// Due lists those that ended at or before a time, oldest first, then by
	// cluster and node, at most limit. An hour gets on the list in the same
	// transaction as the batch that touches it, that fills a hole of the node's
	// hours before it, or whose gap overlaps it.
	Due(ctx context.Context, before time.Time, limit int) ([]rating.Due, error)
	// Ask puts hours on the list.
	Ask(ctx context.Context, hours []ledger.NodeHour) error
	// Backlog is how many hours that ended at or before a time are on the list,
	// and the first of them; nil where there is none.
	Backlog(ctx context.Context, before time.Time) (n int, oldest *ledger.NodeHour, err error)
}

// Books keeps what was rated. Lines are only ever added.
type Books interface {
	// Book adds bookings, all or none. An *rating.Overtaken names an hour that is
	// no longer as its rating began.
	Book(ctx context.Context, bookings []rating.Booking) error
	// Rated walks the hours in [from, to) as last rated, in the order of
	// ledger.NodeHour.Compare.
	Rated(ctx context.Context, from, to time.Time, node string) iter.Seq2[*rating.Rated, error]
	// Lines walks lines in the order of ledger.Line.Compare. What is yielded is
	// the caller's.
	Lines(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Line, error]
	// Costs walks what the nodes cost, as last rated, in [from, to).
	Costs(ctx context.Context, from, to time.Time) iter.Seq2[*pricing.NodeCost, error]
	// CheckSums holds the sums that the store keeps for reports, if it does, against
	// the lines and costs of [from, to). It returns the first that is something else.
	CheckSums(ctx context.Context, from, to time.Time) (*ledger.Violation, error)
	// AddDrift adds the lines that a drift comes to (ledger.BookDrift).
	AddDrift(ctx context.Context, d ledger.Drift, p ledger.Periods) ([]ledger.Line, error)
	// Report answers as report.Run does from all lines, costs and pods.
	Report(ctx context.Context, spec report.Spec) (report.Report, error)
	// Pods finds the dimensions of pods in [from, to).
	Pods(ctx context.Context, from, to time.Time) (report.Lookup, error)
}

// Months keeps closed months and their statements.
type Months interface {
	// Sums are what is booked in each month, by scope and month; lines without
	// a price stand under the currency "".
	Sums(ctx context.Context) ([]ledger.MonthSum, error)
	// Closed are all closed months.
	Closed(ctx context.Context) ([]ledger.Closed, error)
	// CloseMonth closes a month as ledger.Close does, from the lines that are there,
	// and keeps it with its statements and its event in the trail, as a whole.
	CloseMonth(ctx context.Context, c ledger.Closing) (ledger.Closed, error)
	// Verify makes a closed month again, as ledger.Verify does.
	Verify(ctx context.Context, c ledger.Closed) error
	// Statement opens the bytes of a statement as they were frozen.
	Statement(ctx context.Context, c ledger.Closed, p ledger.Payer) (io.ReadCloser, error)
}

// Trail keeps who did what.
type Trail interface {
	// AddEvent adds an event; its Seq, Previous and SHA256 are set by Follow.
	AddEvent(ctx context.Context, e ledger.Event) (ledger.Event, error)
	// Events walks them in order.
	Events(ctx context.Context) iter.Seq2[ledger.Event, error]
}

// Bills keeps the imports in force.
type Bills interface {
	// File keeps an import with its hours in place of what the same source filed
	// for the same period before, with its event in the trail. It fails where the
	// period overlaps another of the source without being it. The same hash again
	// is bill.Unchanged.
	File(ctx context.Context, f bill.Filed, hours []bill.Hour) (bill.Change, error)
	// Filed are the imports in force, by source and period.
	Filed(ctx context.Context) ([]bill.Filed, error)
	// BillHours walks the hours of all imports in force that begin in [from, to),
	// by instance, time and currency; an hour of several sources once for each.
	BillHours(ctx context.Context, from, to time.Time) iter.Seq2[*bill.Hour, error]
}

// Texts keeps small texts under a key: policies by their name, so that an old
// line can be explained; files of prices by their revision; how far the rater is.
type Texts interface {
	// KeepText puts a text in the place of an earlier one of the key.
	KeepText(ctx context.Context, key string, text []byte) error
	// Text is nil where there is none.
	Text(ctx context.Context, key string) ([]byte, error)
}

// Store is all of it.
type Store interface {
	Usage
	Queue
	Books
	Months
	Trail
	Bills
	Texts
}
