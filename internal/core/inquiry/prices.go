// SPDX-License-Identifier: Apache-2.0

package inquiry

import (
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// NodeAt is a node as it was at a moment.
type NodeAt struct {
	pricing.Node
	// FirstMS and LastMS are the times of its records, Unix milliseconds.
	FirstMS, LastMS int64
	// Cost is what it costs in the hour that holds the moment; it may be without
	// a price.
	Cost pricing.NodeCost
}

// NodePrice says what a node costs and why.
type NodePrice struct {
	AtMS int64
	Node pricing.Node
	// Pieces are what it costs in the hour that holds the moment; more than one
	// where its price or its shape changes within.
	Pieces []pricing.NodeCost
	// Asked are all books in their order, and what each had to say.
	Asked []BookAnswer
}

// BookAnswer is what one book said to a node.
type BookAnswer struct {
	Book     string
	Revision string
	Grade    pricing.Grade
	// Used: the price is of this book.
	Used bool
	// Rows are the ids of the rows that choose the node, Why what came of them:
	// used, or why not.
	Rows []string
	Why  string
}

// PriceComparison is the price of a node under every rule of splitting it.
type PriceComparison struct {
	AtMS     int64
	Node     pricing.Node
	Hourly   money.Nano
	Currency money.Currency
	Basis    pricing.Basis
	Rules    []pricing.Comparison
}

// PriceCheck is what is missing or doubtful about prices.
type PriceCheck struct {
	FromMS, ToMS int64
	// Nodes and Hours is what was looked at: hours of nodes as last rated.
	Nodes, Hours int
	Unpriced     []PriceGap
	// Fallback are nodes whose price has a note: priced by something less exact
	// than their own row, or by a guess.
	Fallback []PriceGap
	Doubts   []BookDoubt
}

// PriceGap is hours of a node without a price, or with a doubtful one, for one
// reason.
type PriceGap struct {
	Cluster, Node string
	InstanceType  string
	Hours         int
	// FirstMS and LastMS are the first and the last of these hours.
	FirstMS, LastMS int64
	Reason          string
	// Book and Row are of the price, empty without one.
	Book, Row string
}

// BookDoubt is a doubtful row of a book.
type BookDoubt struct {
	Book string
	pricing.DoubtfulRow
	// Hours is how many of the hours of nodes that were looked at it prices.
	Hours int
}
