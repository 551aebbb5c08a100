// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
)

// rater divides one hour of one node.
type rater struct {
	policy  Policy
	name    string // the policy's
	hour    Hour
	cards   []card
	nodes   []stretch // the times of the batches
	cuts    []int64   // where the node became or ceased to be unschedulable
	claims  claims
	wants   []want
	entries []Entry
	lines   []Line
	explain bool
	remarks []Remark
	mark    uint64
	cost    *pricing.NodeCost // the piece at hand
}

func (r *rater) divide(p portion) { r.divideBy(r.policy.basis(), p) }

func (r *rater) divideBy(b Basis, p portion) {
	p.claims = r.claims.list
	p.divide(b)
}

// piece divides one piece of the hour.
func (r *rater) piece(cost *pricing.NodeCost) error {
	r.cost = cost
	for _, s := range seatsOf(cost, r.cards) {
		if err := r.seat(s); err != nil {
			return err
		}
	}
	return r.node()
}

// seat divides one slot's time and cost.
func (r *rater) seat(s seat) error {
	from, until := r.cost.StartMS, r.cost.StartMS+r.cost.DurationMS
	list, pieces := stretchesOf(s.cards)
	segments, doubled := timeline(list, from, until, r.cuts)
	to, total := &pot{explain: r.explain}, r.cost.DurationMS
	last := s.known
	for _, seg := range segments {
		if seg.ref >= 0 {
			p := pieces[seg.ref]
			last = p.piece.rec.Partition.Device
			r.segment(to, p.device, p.piece, seg)
			continue
		}
		if !s.paid { // nobody owes anything for time without the card
			total -= seg.until - seg.from
			continue
		}
		r.missing(to, last, seg)
	}
	r.remark(s, doubled)
	return r.settle(to, ResourceGPU, s.name, s.cost, total)
}

// located is a whole device's piece, with the instances beside it.
type located struct {
	device *device
	piece  *piece
}

func stretchesOf(cards []card) (list []stretch, pieces []located) {
	for _, c := range cards {
		for i := range c.days {
			d := &c.days[i]
			for k := range d.whole {
				p := &d.whole[k]
				list = append(list, stretch{
					from: p.rec.StartMS, until: p.end(), good: p.rec.MeasuredMS > 0, batch: d.batch, ref: len(pieces),
				})
				pieces = append(pieces, located{d, p})
			}
		}
	}
	return list, pieces
}

func (r *rater) segment(to *pot, d *device, p *piece, seg segment) {
	note := ""
	if r.closed(seg.from) {
		note = Unschedulable
	}
	if p.rec.MIGParent {
		r.mig(to, d, p, seg.from, seg.until, note)
		return
	}
	r.partition(to, p, seg.from, seg.until, whole, note)
}

// missing is time of a paid slot of which no record tells. Where the node's
// GPUs were read and this one was not there, the slot had no card; else nobody
// knows.
func (r *rater) missing(to *pot, card gpu.UUID, seg segment) {
	b := to.of(gpu.PartitionID{Device: card, Instance: gpu.WholeDevice})
	looked, _ := timeline(r.nodes, seg.from, seg.until, nil)
	for _, l := range looked {
		ms := uint64(l.until - l.from)
		if l.ref >= 0 && r.inventory(l.ref) {
			r.plain(to, b.platform(Unavailable, ""), derived, ms, whole)
		} else {
			r.plain(to, b.platform(Unmeasured, ""), unmeasured, ms, whole)
		}
	}
}

// inventory: a batch in which a GPU was read shows which GPUs the node had.
func (r *rater) inventory(batch int) bool {
	for i := range r.hour.Batches[batch].Partitions {
		if r.hour.Batches[batch].Partitions[i].MeasuredMS > 0 {
			return true
		}
	}
	return false
}

// closed: the scheduler could not hand the node out at a time.
func (r *rater) closed(at int64) bool {
	for _, s := range r.hour.Unschedulable {
		if s.StartMS <= at && at < s.StartMS+s.DurationMS {
			return true
		}
	}
	return false
}

// count adds the quantities that stand beside the money, to the lines that
// claims.begin found. A pod's containers are present together: the longest
// counts.
func (r *rater) count(b *book, p *piece, at cut) {
	r.mark++
	for i := range p.holders {
		h, to := &p.holders[i], r.claims.holders[i].cell
		if to.mark != r.mark {
			to.mark, to.here = r.mark, 0
		}
		to.amounts.ByteMS.Add(at.of64(h.ByteMS))
		to.amounts.PresentMS += max(0, at.ms(h.PresentMS)-to.here)
		to.here = max(to.here, at.ms(h.PresentMS))
	}
	b.countBytes(Overhead, at.of64(p.rec.ReservedByteMS))
	b.countBytes(Unattributed, at.of64(p.rec.UnattributedByteMS))
	r.mark++
	for i := range p.grants {
		if to := r.claims.tenants[i]; to.mark != r.mark {
			to.mark = r.mark
			to.amounts.GrantedMS += at.ms(p.grants[i].GrantedMS)
		}
	}
}
