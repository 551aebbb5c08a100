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

	// ActivityHours are hours of nodes that were looked at for what workloads did.
	ActivityHours, ActivityErrors uint64
	// Classes are of the last 24 of them, Advice is of today.
	Classes []Class
	Advice  []Advice
}

// Class is how long the pods of a namespace were of a class.
type Class struct {
	Cluster, Namespace, Class string
	Hours                     float64
}

// Advice is how many recommendations of a namespace have a state. Cash and Freed are of
// a month, of those that are advised; they are known where Currency is.
type Advice struct {
	Cluster, Namespace, Kind, State string
	Count                           int
	Currency                        string
	Cash, Freed                     float64
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
