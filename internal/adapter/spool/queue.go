// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/usage"
)

// ReasonPendingFull is the reason of a gap for batches that never reached the
// disk; ReasonSpoolFull of one for batches that were deleted from it.
const (
	ReasonPendingFull = "spool_memory_full"
	ReasonSpoolFull   = "spool_full"
)

// queue is what waits in memory to be written. A batch gets its sequence
// number when it is written. The front may be a gap that stands for n batches
// that had to go: it takes their n numbers, the first of them as its own.
type queue struct {
	items []queued
	bytes int64
}

type queued struct {
	batch usage.Batch
	bytes int64
	n     uint64 // sequence numbers it takes
}

// unshift puts gap records before everything else, each into the one of its
// boot where that already waits.
func (q *queue) unshift(gaps []usage.Batch) {
	for _, b := range gaps {
		at := slices.IndexFunc(q.items, func(i queued) bool {
			g := i.batch.Gap
			return g != nil && g.Reason == ReasonSpoolFull && g.Boot == b.Gap.Boot
		})
		if at >= 0 {
			extend(&q.items[at].batch, b.Gap)
			q.items[at].batch.ProviderID = cmp.Or(q.items[at].batch.ProviderID, b.ProviderID)
			continue
		}
		q.items = slices.Insert(q.items, 0, queued{batch: b, bytes: 2 * gapBytes, n: 1})
	}
	q.recount()
}

func (q *queue) push(b usage.Batch, bytes int64) {
	q.items = append(q.items, queued{batch: b, bytes: bytes, n: 1})
	q.bytes += bytes
}

// front returns the oldest batch and how many sequence numbers it takes.
func (q *queue) front() (usage.Batch, uint64) {
	b := q.items[0].batch
	if b.Gap != nil {
		gap := *b.Gap // numbered by the caller, perhaps more than once
		b.Gap = &gap
	}
	return b, q.items[0].n
}

func (q *queue) pop() {
	q.bytes -= q.items[0].bytes
	q.items = slices.Delete(q.items, 0, 1)
}

func (q *queue) len() int { return len(q.items) }

// shrink merges the oldest batches into one gap until the rest fits in limit,
// and returns how many batches were given up. The newest always stays, and so
// do the gaps of unshift: they are the last that knows of what they name.
func (q *queue) shrink(limit int64) (dropped uint64) {
	first := slices.IndexFunc(q.items, func(i queued) bool {
		return i.batch.Gap == nil || i.batch.Gap.Reason != ReasonSpoolFull
	})
	for first >= 0 && q.bytes > limit && len(q.items)-first > 1 {
		oldest := q.items[first]
		switch {
		case !oldest.isDrop():
			q.items[first] = dropOf(oldest)
		case len(q.items)-first > 2:
			q.items[first] = merge(oldest, dropOf(q.items[first+1]))
			q.items = slices.Delete(q.items, first+1, first+2)
		default:
			return dropped
		}
		dropped++
		q.recount()
	}
	return dropped
}

func (q *queue) recount() {
	q.bytes = 0
	for _, i := range q.items {
		q.bytes += i.bytes
	}
}

func (i queued) isDrop() bool { return i.batch.Gap != nil && i.batch.Gap.Reason == ReasonPendingFull }

// dropOf is the gap that stands for a batch that was given up. A gap record
// that is given up keeps its reason inside the longer one: time that nobody
// recorded is what both say.
func dropOf(i queued) queued {
	b := i.batch
	span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
	g := usage.Batch{
		Version: b.Version, Cluster: b.Cluster, Node: b.Node, Agent: b.Agent, Boot: b.Boot, ProviderID: b.ProviderID,
		StartMS: b.StartMS, DurationMS: b.DurationMS, IntervalMS: b.IntervalMS,
		Gap: &usage.Gap{Reason: ReasonPendingFull, Span: span},
	}
	return queued{batch: g, bytes: gapBytes, n: i.n}
}

// gapBytes is about what a gap takes.
const gapBytes = 384

// merge joins two neighbouring drops, a before b.
func merge(a, b queued) queued {
	end := b.batch.StartMS + b.batch.DurationMS
	m := a
	m.n += b.n
	m.batch.ProviderID = cmp.Or(a.batch.ProviderID, b.batch.ProviderID) // known late
	m.batch.DurationMS = max(end-m.batch.StartMS, m.batch.DurationMS)
	m.batch.Gap = &usage.Gap{Reason: ReasonPendingFull,
		Span: usage.Span{StartMS: m.batch.StartMS, DurationMS: m.batch.DurationMS}}
	return m
}
