// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// eachBatch alters copies of all batches of nodes.
func eachBatch(nodes []Node, alter func(b *usage.Batch) (ms int64)) (out []Node, ms int64) {
	out = slices.Clone(nodes)
	for i := range out {
		out[i].Batches = slices.Clone(nodes[i].Batches)
		for k := range out[i].Batches {
			b := &out[i].Batches[k]
			own(b)
			ms += alter(b)
		}
	}
	return out, ms
}

// own gives a batch records of its own: those that it came with are others' too.
func own(b *usage.Batch) {
	b.Partitions, b.Holders, b.Grants, b.Pods = slices.Clone(b.Partitions), slices.Clone(b.Holders), slices.Clone(b.Grants), slices.Clone(b.Pods)
}

// place is a partition in a span of time.
type place struct {
	id   gpu.PartitionID
	span usage.Span
}

// piece is the records of one place.
type piece struct {
	part    *usage.PartitionRecord
	holders []*usage.Record
	grants  []*usage.GrantRecord
}

// piecesOf joins a batch's records by their places, in the order of its partitions.
func piecesOf(b *usage.Batch) []*piece {
	at := make(map[place]*piece, len(b.Partitions))
	out := make([]*piece, len(b.Partitions))
	for i := range b.Partitions {
		out[i] = &piece{part: &b.Partitions[i]}
		at[place{b.Partitions[i].Partition, b.Partitions[i].Span}] = out[i]
	}
	for i := range b.Holders {
		if p := at[place{b.Holders[i].Partition, b.Holders[i].Span}]; p != nil {
			p.holders = append(p.holders, &b.Holders[i])
		}
	}
	for i := range b.Grants {
		if p := at[place{b.Grants[i].Partition, b.Grants[i].Span}]; p != nil {
			p.grants = append(p.grants, &b.Grants[i])
		}
	}
	return out
}

// granted: a pod of the workload has a grant here.
func (p *piece) granted(to Pods) bool {
	return slices.ContainsFunc(p.grants, func(g *usage.GrantRecord) bool { return to.has(g.Grant.Holder) })
}

// only: the workload has a grant here and nobody else has one or holds anything, but for
// daemons and what nobody can be named for.
func (p *piece) only(to Pods) bool {
	for _, g := range p.grants {
		if !to.has(g.Grant.Holder) {
			return false
		}
	}
	for _, h := range p.holders {
		other := h.Holder.Kind == workload.KindHost || h.Holder.Kind == workload.KindPod && (h.Leak || !to.has(h.Holder))
		if other {
			return false
		}
	}
	return len(p.grants) > 0
}

// held is what all holders have, in byte-milliseconds.
func (p *piece) held() (sum uint64) {
	for _, h := range p.holders {
		sum += h.ByteMS
	}
	return sum
}

// resize gives the partition another capacity, in which what is held there has its place.
// It is false where that does not fit, or the partition has no memory of its own.
func (p *piece) resize(bytes uint64) bool {
	r := p.part
	size, held := bytes*uint64(r.MeasuredMS), p.held()
	if r.NoMemoryMS > 0 || held > size {
		return false
	}
	left := size - held
	r.UnattributedByteMS = min(r.UnattributedByteMS, left)
	left -= r.UnattributedByteMS
	r.ReservedByteMS = min(r.ReservedByteMS, left)
	r.CapacityBytes, r.CapacityByteMS, r.UsedByteMS, r.FreeByteMS = &bytes, size, held, left-r.ReservedByteMS
	return true
}

// move has all that is here stand on another partition.
func (p *piece) move(to gpu.PartitionID) {
	for _, h := range p.holders {
		h.Partition = to
	}
	for _, g := range p.grants {
		g.Partition = to
	}
}

// drop takes the workload's grants and what it holds out of a batch, from the pieces
// chosen. What it held is free then.
func drop(b *usage.Batch, of Pods, from []*piece) {
	gone := map[place]bool{}
	for _, p := range from {
		gone[place{p.part.Partition, p.part.Span}] = true
		for _, h := range p.holders {
			if of.has(h.Holder) {
				p.part.UsedByteMS -= min(h.ByteMS, p.part.UsedByteMS)
				p.part.FreeByteMS += h.ByteMS
			}
		}
	}
	b.Holders = slices.DeleteFunc(b.Holders, func(h usage.Record) bool { return of.has(h.Holder) && gone[place{h.Partition, h.Span}] })
	b.Grants = slices.DeleteFunc(b.Grants, func(g usage.GrantRecord) bool { return of.has(g.Grant.Holder) && gone[place{g.Partition, g.Span}] })
}
