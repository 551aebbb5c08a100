// SPDX-License-Identifier: Apache-2.0

// Package allocation owns the division of what one node cost in one hour: usage
// records, the node's cost and a policy go in, entries that sum to that cost to
// the last billionth come out, for workloads and for named platform accounts.
//
// It does not know prices (package pricing does), nor who holds what
// (attribution), and it adds nothing up beyond the hour (ledger, report). It
// keeps no state, reads no clock, and the order of its input changes nothing.
package allocation
