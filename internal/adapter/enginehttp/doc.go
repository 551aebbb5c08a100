// SPDX-License-Identifier: Apache-2.0

// Package enginehttp owns asking inference engines in pods for their metrics:
// when, at most how often and how many at once, what is read of an answer and
// what an answer may cost. An endpoint is a tenant's: it may be slow, endless,
// wrong or hostile, and none of that may cost the agent more than one small
// request.
//
// It does not choose who is asked or say what a figure means (package demand
// does). What is kept of a page are values and a few bounded labels; nothing of
// an answer is logged.
package enginehttp
