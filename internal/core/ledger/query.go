// SPDX-License-Identifier: Apache-2.0

package ledger

// Query chooses lines of a store. What is zero chooses all.
type Query struct {
	// The time charged for: lines whose StartMS is in [FromMS, ToMS).
	FromMS, ToMS int64
	// Booked is the month in which they are booked.
	Booked *Month
	// Cluster and Node together name one node.
	Cluster, Node string
	Entry         string
	Account       string
	PodUID        string
	// ID is one line's.
	ID string
}
