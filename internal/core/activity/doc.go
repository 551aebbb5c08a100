// SPDX-License-Identifier: Apache-2.0

// Package activity owns what pods did on their partitions, hour by hour: how long
// they had a grant or a process there, what they held at most and on average, the
// class of the hour and the spreads of its signals. It makes that of the records of
// one node, so that nobody has to keep minutes to tell what weeks were like.
//
// It does not own the rules of a class (package signal), nor what follows from
// hours (package advice). Nothing here enters a share or a bill.
//
// Every function is pure; the same records give the same hours in whatever order
// they come.
package activity
