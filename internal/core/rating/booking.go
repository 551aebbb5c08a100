// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// Due is an hour of a node that is to be rated: something arrived for it.
type Due struct {
	ledger.NodeHour
	// Mark is the number of the newest arrival. Rating the hour takes it off the
	// list unless something arrived meanwhile.
	Mark int64
}

// Rated is a node's hour as it was last rated.
type Rated struct {
	ledger.NodeHour
	// Booking is how many ratings of the hour booked lines.
	Booking  int             `json:"booking"`
	Revision ledger.Revision `json:"revision"`
	// Nodes are what was priced: the node as it was, piece after piece.
	Nodes []Piece            `json:"nodes,omitempty"`
	Costs []pricing.NodeCost `json:"costs,omitempty"`
	// Complete: the records reach to the end of the hour. Else it was rated
	// since nothing more came in time.
	Complete bool                `json:"complete"`
	Remarks  []allocation.Remark `json:"remarks,omitempty"`
}

// Booking is what one rating adds to the store, as a whole or not at all.
type Booking struct {
	// Rated replaces what the hour's last rating said. Its Booking is that of
	// Lines, or the former one where there are none.
	Rated Rated
	// After is the booking that the rating began from: a store refuses lines
	// that another rater has overtaken (*Overtaken).
	After int
	Lines []ledger.Line
	// Pods are the dimensions of the hour's pods, by UID.
	Pods map[string]report.PodDimensions
	// Mark takes the hour off the list of due ones (Due.Mark).
	Mark int64
}

// Overtaken says that an hour was rated by somebody else meanwhile.
type Overtaken struct {
	ledger.NodeHour
	After, Is int
}

// Error names the hour.
func (e *Overtaken) Error() string {
	return e.NodeHour.String() + " was rated by another process meanwhile"
}
