// SPDX-License-Identifier: Apache-2.0

// Package ledger tests the way from a month's records to a bill with the real
// parts: history, the DuckDB store, the rater, the service that answers, exports.
// It holds what they keep against the pure cores, plants faults behind their
// backs, and delivers the same month in every order. It has no code for others.
//
// It owns no rule and no HTTP: delivery is tested in test/delivery, the programs
// together in test/demo.
package ledger
