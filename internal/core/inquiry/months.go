// SPDX-License-Identifier: Apache-2.0

package inquiry

import "github.com/gputally/gputally/internal/core/ledger"

// MonthState is a month of a scope, closed or not.
type MonthState struct {
	ledger.Scope
	Month ledger.Month
	// Closed is nil while it is open.
	Closed *ledger.Closed
	// Of an open month, as of now: lines booked in it and their exact sum, hours
	// that should be rated and are not, hours without a price.
	Lines         int
	Amount        string
	UnratedHours  int
	UnpricedHours int
	// Closable: it is over, the month before is closed, and nothing is missing.
	Closable bool
	// Why says what stands in the way.
	Why string
}

// CloseRequest asks for a month to be closed. The server adds the time.
type CloseRequest struct {
	ledger.Scope
	Month ledger.Month
	Level ledger.Level
	By    string
	Note  string
	Force string
}

// ClosePreview is what closing an open month would freeze, as of now.
type ClosePreview struct {
	MonthState
	// Statements is how many would be written. Lines counts those without a price
	// too, as they stand in statements.
	Statements int
}

// Verified is a closed month, made again.
type Verified struct {
	ledger.Closed
	// Violation is what differs first, nil if nothing does.
	Violation *ledger.Violation
}
