// SPDX-License-Identifier: Apache-2.0

// Package rating owns one hour of one node on its way from records to the
// ledger: which machine stood behind the node's name, what it was, what it cost,
// and the entries and lines that come of that.
//
// It joins pricing, allocation and ledger, and decides none of their rules. When
// an hour is rated, and what keeps the outcome, is app/billing's and the store's
// business. It reads no clock.
package rating
