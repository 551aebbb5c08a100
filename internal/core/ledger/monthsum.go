// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/gputally/gputally/internal/core/money"

// MonthSum is what is booked in a month of a scope. Without a price, Currency is
// empty, and Lines, Hours and UnpricedMS are of what has none.
type MonthSum struct {
	Scope
	Month  Month
	Lines  int
	Amount money.Sum
	// Hours is how many hours of nodes have no price, all of their lines together; 0
	// where the lines have one.
	Hours int
	// UnpricedMS is share × time without a price, milliseconds.
	UnpricedMS int64
}
