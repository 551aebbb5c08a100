// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// Source is where batches come from: one process (Boot) of one installation
// (Agent). Sequence numbers count from 1 within it.
type Source struct {
	Agent string `json:"agent"`
	Boot  string `json:"boot"`
}

// SourceOf is the source of a batch.
func SourceOf(b *usage.Batch) Source { return Source{Agent: b.Agent, Boot: b.Boot} }

// Compare orders sources by agent and boot.
func (s Source) Compare(o Source) int {
	return cmp.Or(cmp.Compare(s.Agent, o.Agent), cmp.Compare(s.Boot, o.Boot))
}

// Ack tells an agent how its batches of one boot stand. Accepted ones are
// counted; an accident to the server may yet lose them. Durable ones outlive
// it: only what is durable may be deleted by the agent.
type Ack struct {
	Source
	Accepted Mark `json:"accepted"`
	Durable  Mark `json:"durable"`
}

// Receipt is the answer to a delivery.
type Receipt struct {
	Acks    []Ack     `json:"acks"`
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal says that one batch cannot be taken, whoever sends it how often: it
// breaks a rule. It names the batch, or its place in the delivery where it has
// no name that can be read.
type Refusal struct {
	Source
	Seq uint64 `json:"seq"`
	// Index is the batch's position in the delivery, from 0.
	Index int `json:"index"`
	// Code is one of the Refused codes; Detail and Hint are for people.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// The codes of a refusal.
const (
	// RefusedUnreadable: the JSON is no batch.
	RefusedUnreadable = "batch_unreadable"
	// RefusedInvalid: the batch breaks a rule of its own (usage.Batch.Check).
	RefusedInvalid = "batch_invalid"
	// RefusedGaps: the source's numbers have too many holes to be told apart.
	RefusedGaps = "too_many_gaps"
	// RefusedByStore: the store cannot hold a value of the batch.
	RefusedByStore = "store_cannot_hold"
)

func (r *Refusal) Error() string {
	return fmt.Sprintf("batch %s/%s/%d refused (%s): %s", r.Agent, r.Boot, r.Seq, r.Code, r.Detail)
}

// Busy says that the receiver takes nothing now, and when to try again: after 0 it
// did not say.
type Busy struct {
	After time.Duration
	Why   string
}

func (b *Busy) Error() string {
	if b.After <= 0 {
		return b.Why + ": try again later"
	}
	return fmt.Sprintf("%s: try again in %s", b.Why, b.After)
}

// ErrTooLarge says that a delivery has more bytes or batches than the receiver
// takes at once: send fewer.
var ErrTooLarge = errors.New("the delivery is larger than the receiver takes at once")

// ErrBroken says that a store can do nothing more until it is opened again.
var ErrBroken = errors.New("the store must be opened again")

// Totals are sums over the batches of a time, in 128 bits where 64 do not do.
// Over any set of whole batches
//
//	Capacity = Reserved + Holders + Unattributed + Free
type Totals struct {
	Batches, Partitions, Holders, Grants, Pods, Findings, Gaps int64

	CapacityByteMS, ReservedByteMS, HolderByteMS, UnattributedByteMS, FreeByteMS usage.Total
	// GrantedMS, CPUNanos and MeasuredMS are sums over grants, pods and partitions.
	GrantedMS, CPUNanos, MeasuredMS usage.Total
}

// Balanced reports whether the parts sum to the whole.
func (t Totals) Balanced() bool {
	sum := t.ReservedByteMS
	for _, part := range []usage.Total{t.HolderByteMS, t.UnattributedByteMS, t.FreeByteMS} {
		sum.AddTotal(part)
	}
	return sum == t.CapacityByteMS
}
