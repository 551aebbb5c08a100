// SPDX-License-Identifier: Apache-2.0

// Package ledger is the journal of charges: entries of allocation go in, lines
// come out that are only ever added, and the lines of an entry always sum to
// its newest state. It owns adjustments and corrections, the closing of months,
// the proof that nothing was changed afterwards, and the trail of who did what.
//
// It does not know how a charge came about (allocation) nor what a node costs
// (pricing), and it keeps nothing itself: stores do. It reads no clock.
package ledger
