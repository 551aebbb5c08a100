// SPDX-License-Identifier: Apache-2.0

// Package report adds lines of the ledger up: over a time, by dimensions, with
// filters, into rows that sum to a total, and sets the total beside what the
// nodes cost. It also explains one charge from the sample to the statement.
//
// It owns which dimensions and columns there are and what they mean. It does
// not render tables, CSV or JSON (views do), and it changes no amount: what it
// sums is what was booked. Two currencies are never added.
package report
