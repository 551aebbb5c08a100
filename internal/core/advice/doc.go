// SPDX-License-Identifier: Apache-2.0

// Package advice owns what is proposed for a workload: the recommendation with
// its evidence, the inequalities that were tested, what it does to the tenant's
// charge, to the platform's capacity and to the invoice, how sure it is, and why
// there is none.
//
// It does not own how signals become classes (package signal), how pods are packed
// on fewer nodes (packing), nor prices and the division of money (pricing,
// allocation, money). It changes nothing: a
// recommendation is for people. Its inputs come from the server's records by way of
// package advisor.
//
// Every function is pure: the same evidence under the same rules gives the same
// recommendation, to the byte.
package advice
