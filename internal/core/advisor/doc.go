// SPDX-License-Identifier: Apache-2.0

// Package advisor owns how recorded hours become advice: which hours are evidence
// for a workload as it is today, what sort of work it is, which kinds of change are
// tried on it, and what all of its replicas come to together.
//
// It does not own the rules of a change (package advice), the hours (activity), nor
// where hours and prices are kept.
//
// Every function is pure: the same hours and prices give the same advice, to the byte.
package advisor
