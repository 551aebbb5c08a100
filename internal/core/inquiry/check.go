// SPDX-License-Identifier: Apache-2.0

package inquiry

import "github.com/gputally/gputally/internal/core/ledger"

// CheckRequest says which part of the ledger is to be checked: hours in
// [FromMS, ToMS), Unix milliseconds; both 0: all.
type CheckRequest struct {
	FromMS, ToMS int64
	// Months checks closed months, too: those that meet the time.
	Months bool
}

// Progress is how far long work is.
type Progress struct {
	// Stage is what is being done, AtMS the hour that was reached.
	Stage string
	AtMS  int64
	// Done of Total steps; Total is 0 where nobody knows.
	Done, Total int64
}

// Checked is what a check looked at and found.
type Checked struct {
	Hours, Lines, Costs int64
	Months              int
	// Violation is the first thing that does not hold, nil if all does.
	Violation *ledger.Violation
}
