// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Together puts workloads that each have a card of their own on that of the first, by
// turns. Their pods are on its node then. A window in which one of them has no such card is
// left as it is.
func Together(tenants []Pods) Change {
	all := Pods{}
	for _, t := range tenants {
		maps.Copy(all, t)
	}
	return func(nodes []Node) ([]Node, int64) {
		out, _ := eachBatch(nodes, func(*usage.Batch) int64 { return 0 })
		var ms int64
		var moves []*move
		left := map[*usage.Batch][]*piece{}
		for _, of := range seatsOf(out, tenants) {
			if m := together(of, len(tenants)); m != nil {
				ms += of[0].piece.part.DurationMS * int64(len(of))
				moves = append(moves, m)
				for _, s := range of[1:] {
					left[s.batch] = append(left[s.batch], s.piece)
				}
			}
		}
		for b, from := range left {
			drop(b, all, from)
		}
		for _, m := range moves {
			m.make(tenants)
		}
		return out, ms
	}
}

// seat is a tenant's card in a window.
type seat struct {
	tenant int
	batch  *usage.Batch
	piece  *piece
}

// seatsOf are the cards that tenants have alone, by windows.
func seatsOf(nodes []Node, tenants []Pods) map[usage.Span][]*seat {
	out := map[usage.Span][]*seat{}
	for i := range nodes {
		for k := range nodes[i].Batches {
			b := &nodes[i].Batches[k]
			for _, p := range piecesOf(b) {
				if n := slices.IndexFunc(tenants, p.only); n >= 0 && !p.part.MIGParent && !p.part.Partition.IsInstance() {
					out[p.part.Span] = append(out[p.part.Span], &seat{tenant: n, batch: b, piece: p})
				}
			}
		}
	}
	return out
}

// move is what comes to the first tenant's card in a window.
type move struct {
	seats   []*seat
	holders []usage.Record
	grants  []usage.GrantRecord
	bytes   uint64
}

// together is the move of all to the card of the first; nil where one of them has none, or
// has two, or what they hold does not fit.
func together(of []*seat, tenants int) *move {
	slices.SortFunc(of, func(a, b *seat) int { return a.tenant - b.tenant })
	m := &move{seats: of}
	for i, s := range of {
		if s.tenant != i || s.piece.part.MeasuredMS != of[0].piece.part.MeasuredMS {
			return nil
		}
		if i == 0 {
			continue
		}
		for _, h := range s.piece.holders {
			if h.Holder.Kind == workload.KindPod {
				m.holders, m.bytes = append(m.holders, *h), m.bytes+h.ByteMS
			}
		}
		for _, g := range s.piece.grants {
			m.grants = append(m.grants, *g)
		}
	}
	if len(of) != tenants || m.bytes > of[0].piece.part.FreeByteMS {
		return nil
	}
	return m
}

// make adds who moved to the card, where each has a turn then.
func (m *move) make(tenants []Pods) {
	host, turns := m.seats[0], int64(len(m.seats))
	p, b := host.piece.part, host.batch
	p.UsedByteMS, p.FreeByteMS, p.Mode, p.Replicas = p.UsedByteMS+m.bytes, p.FreeByteMS-m.bytes, gpu.ModeTimeSlicing, &turns
	for i := range m.holders {
		m.holders[i].Partition = p.Partition
	}
	for i := range m.grants {
		m.grants[i].Partition = p.Partition
	}
	b.Holders, b.Grants = append(b.Holders, m.holders...), append(b.Grants, m.grants...)
	for i := range b.Grants {
		if g := &b.Grants[i]; g.Partition == p.Partition && g.Span == p.Span {
			g.Grant.Mode, g.Grant.Replicas, g.Grant.Reserved = gpu.ModeTimeSlicing, 1, gpu.Ratio{Den: 1}
		}
	}
	for i, s := range m.seats {
		if s.batch != b {
			movePods(s.batch, b, tenants[i])
		}
	}
}

// movePods moves what pods ask of the host. Of those they leave, a record without figures
// stays: somebody looked at the node.
func movePods(from, to *usage.Batch, of Pods) {
	for i := range from.Pods {
		p := &from.Pods[i]
		if !of.has(p.Holder) {
			continue
		}
		to.Pods = append(to.Pods, *p)
		p.CPUNanos, p.MemoryByteMS, p.CPURequestMilliMS, p.MemoryRequestByteMS = 0, 0, 0, 0
	}
}
