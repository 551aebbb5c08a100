// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// Instance is a MIG instance that a workload would have had.
type Instance struct {
	Profile string
	Bytes   uint64
	// Slices of Of are its memory slices of the card's. Stranded are those that nobody could
	// have had beside it, were the rest of the card free.
	Slices, Of, Stranded uint32
}

// instance names one that nobody ever made: no first sight is at 1 ms.
func instance(card gpu.UUID) gpu.PartitionID {
	return gpu.PartitionID{Device: card, Instance: 1, SinceMS: 1}
}

// Smaller gives a workload a smaller instance where it has a card, or an instance, of its
// own. The slices that it leaves are idle or stranded.
func Smaller(of Pods, to Instance) Change {
	return func(nodes []Node) ([]Node, int64) {
		return eachBatch(nodes, func(b *usage.Batch) (ms int64) {
			var made []usage.PartitionRecord
			for _, p := range piecesOf(b) {
				if p.part.MIGParent || !p.only(of) {
					continue
				}
				card := *p.part
				if !p.resize(to.Bytes) {
					continue
				}
				ms += p.part.DurationMS
				p.part.Slices, p.part.DeviceSlices, p.part.Profile = to.Slices, to.Of, to.Profile
				if !p.part.Partition.IsInstance() {
					made = append(made, p.carve(&card, to))
				}
			}
			b.Partitions = append(b.Partitions, made...)
			slices.SortStableFunc(b.Partitions, func(x, y usage.PartitionRecord) int {
				return cmp.Or(x.Partition.Compare(y.Partition), cmp.Compare(x.StartMS, y.StartMS))
			})
			return ms
		})
	}
}

// carve makes an instance of a whole card's piece, whose records move there. It returns the
// instance: the piece is the card's, in MIG mode, then.
func (p *piece) carve(card *usage.PartitionRecord, to Instance) usage.PartitionRecord {
	in := *p.part
	in.Partition, in.Names, in.Mode, in.Replicas = instance(card.Partition.Device), nil, gpu.ModeMIG, nil
	p.move(in.Partition)
	for _, g := range p.grants {
		g.Grant.Mode, g.Grant.Reserved = gpu.ModeMIG, gpu.One
	}
	*p.part = *card
	c := p.part
	c.MIGParent, c.Mode, c.Replicas, c.DeviceSlices, c.StrandedSlices = true, gpu.ModeMIG, nil, to.Of, to.Stranded
	c.CapacityByteMS, c.ReservedByteMS, c.UsedByteMS, c.UnattributedByteMS, c.FreeByteMS = 0, 0, 0, 0, 0
	return in
}

// Without takes partitions away from a workload: it has no grant there.
func Without(of Pods, partitions []string) Change {
	return func(nodes []Node) ([]Node, int64) {
		return eachBatch(nodes, func(b *usage.Batch) int64 {
			return take(b, of, func(p *usage.PartitionRecord) bool { return slices.Contains(partitions, p.Partition.String()) })
		})
	}
}

// Stopped ends a workload's pods in the times given: they have no grant then, hold nothing,
// and ask for no CPU.
func Stopped(of Pods, in []usage.Span) Change {
	return func(nodes []Node) ([]Node, int64) {
		return eachBatch(nodes, func(b *usage.Batch) int64 {
			for i := range b.Pods {
				p := &b.Pods[i]
				if of.has(p.Holder) && within(p.Span, in) {
					p.CPUNanos, p.MemoryByteMS, p.CPURequestMilliMS, p.MemoryRequestByteMS = 0, 0, 0, 0
				}
			}
			return take(b, of, func(p *usage.PartitionRecord) bool { return within(p.Span, in) })
		})
	}
}

func take(b *usage.Batch, of Pods, which func(*usage.PartitionRecord) bool) (ms int64) {
	var from []*piece
	for _, p := range piecesOf(b) {
		if p.granted(of) && which(p.part) {
			from = append(from, p)
			ms += p.part.DurationMS
		}
	}
	drop(b, of, from)
	return ms
}

func within(s usage.Span, in []usage.Span) bool {
	return slices.ContainsFunc(in, func(o usage.Span) bool {
		return o.StartMS <= s.StartMS && s.StartMS+s.DurationMS <= o.StartMS+o.DurationMS
	})
}

// Machine is another machine in the place of a node.
type Machine struct {
	// Cost is what it costs where the node cost that; false where that is not known.
	Cost func(*pricing.NodeCost) (pricing.NodeCost, bool)
	// Bytes are its card's.
	Bytes uint64
}

// Elsewhere has a workload run on other machines: each of the nodes becomes one.
func Elsewhere(of Pods, on Machine) Change {
	return func(nodes []Node) ([]Node, int64) {
		fits := true
		out, ms := eachBatch(nodes, func(b *usage.Batch) (ms int64) {
			for _, p := range piecesOf(b) {
				fits = fits && p.resize(on.Bytes)
				if p.granted(of) {
					ms += p.part.DurationMS
				}
			}
			return ms
		})
		for i := range out {
			out[i].Costs = slices.Clone(out[i].Costs)
			for k := range out[i].Costs {
				c, known := on.Cost(&out[i].Costs[k])
				fits, out[i].Costs[k] = fits && known, c
			}
		}
		if !fits {
			return nodes, 0
		}
		return out, ms
	}
}

// Asking has a workload's pods ask for no more of the host than that; 0 is no bound. The time
// altered is that of the pods.
func Asking(of Pods, cpuMilli int64, bytes uint64) Change {
	return func(nodes []Node) ([]Node, int64) {
		return eachBatch(nodes, func(b *usage.Batch) (ms int64) {
			for i := range b.Pods {
				p := &b.Pods[i]
				if !of.has(p.Holder) {
					continue
				}
				lived := p.PresentMS + p.UnmeasuredMS
				ms += lived
				if cpuMilli > 0 {
					p.CPURequestMilliMS = min(p.CPURequestMilliMS, cpuMilli*lived)
				}
				if bytes > 0 {
					p.MemoryRequestByteMS = min(p.MemoryRequestByteMS, bytes*uint64(lived))
				}
			}
			return ms
		})
	}
}

// Holding bounds what a workload's pods hold on each partition, as a smaller pool of an
// engine would.
func Holding(of Pods, most uint64) Change {
	return func(nodes []Node) ([]Node, int64) {
		return eachBatch(nodes, func(b *usage.Batch) (ms int64) {
			for _, p := range piecesOf(b) {
				if p.granted(of) {
					ms += p.part.DurationMS
					p.bound(of, most)
				}
			}
			return ms
		})
	}
}

// bound takes what is too much from who holds most.
func (p *piece) bound(of Pods, most uint64) {
	var all, known uint64
	var first *usage.Record
	for _, h := range p.holders {
		if !of.has(h.Holder) {
			continue
		}
		all, known = all+h.ByteMS, max(known, uint64(h.KnownMS))
		if first == nil || h.ByteMS > first.ByteMS {
			first = h
		}
	}
	if first == nil || all <= most*known {
		return
	}
	less := min(all-most*known, first.ByteMS)
	first.ByteMS -= less
	p.part.UsedByteMS -= less
	p.part.FreeByteMS += less
}
