// SPDX-License-Identifier: Apache-2.0

package ledgermetrics

import "time"

// State is a server at one moment. Zero times are unknown.
type State struct {
	Version string

	Deliveries, Batches, Duplicates, Busy, WriteErrors uint64
	Refused                                            map[string]uint64
	Checkpoints, CheckpointErrors                      uint64
	QueuedRows                                         int
	LastWrite                                          time.Time

	SealedHours, DroppedBatches, KeeperErrors uint64
	StoreBytes                                int64

	// Nodes is how many nodes sent records, Silent of how many nothing came for
	// long. LastRecord is the end of the newest window.
	Nodes, Silent int
	LastRecord    time.Time
	// DueHours wait to be rated, the oldest since OldestDue; FailedHours of them
	// could not be.
	DueHours, FailedHours              int
	OldestDue                          time.Time
	RatedHours, BookedLines, RateError uint64
	LastRound                          time.Time

	// Costs are of this month so far and of the last rated hour.
	Costs []Cost
}

// Cost is what an account was charged, for display.
type Cost struct {
	// LastHour: it is of the hour last rated, else of the month so far.
	LastHour bool
	Cluster  string
	// Class is workload, owner, platform or reconciliation; Account the namespace
	// of workloads, else the account.
	Class, Account, Resource, Currency string
	// Priced says whether Amount is known; GPUHours is the share of GPUs × time.
	Priced             bool
	Amount             float64
	GPUHours           float64
	AllocatedGPUHours  float64
	UnusedGPUHours     float64
	UnpricedGPUHours   float64
	HeldMemoryGiBHours float64
}
