// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// rater divides one hour of one node.
type rater struct {
	policy  Policy
	name    string // the policy's
	hour    Hour
	batches []*usage.Batch // each once, in order of time
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

	// What follows is of the seat, or of the node's resource, at hand: the next uses
	// its memory again.
	stretches []stretch
	pieces    []located
	segments  []segment
	settled   []settled // of the piece of the hour
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
	if err := r.node(); err != nil {
		return err
	}
	r.enter()
	return nil
}

// seat divides one slot's time and cost.
func (r *rater) seat(s seat) error {
	from, until := r.cost.StartMS, r.cost.StartMS+r.cost.DurationMS
	r.stretch(s.cards)
	var doubled int64
	r.segments, doubled = timeline(r.segments[:0], r.stretches, from, until, r.cuts)
	to, total := &pot{explain: r.explain}, r.cost.DurationMS
	last := s.known
	for _, seg := range r.segments {
		if seg.ref >= 0 {
			p := r.pieces[seg.ref]
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

// stretch lists the times of which the cards' records tell.
func (r *rater) stretch(cards []card) {
	r.stretches, r.pieces = r.stretches[:0], r.pieces[:0]
	for _, c := range cards {
		for i := range c.days {
			d := &c.days[i]
			for k := range d.whole {
				p := &d.whole[k]
				r.stretches = append(r.stretches, stretch{
					from: p.rec.StartMS, until: p.end(), good: p.rec.MeasuredMS > 0, batch: d.batch, ref: len(r.pieces),
				})
				r.pieces = append(r.pieces, located{d, p})
			}
		}
	}
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
	looked, _ := timeline(nil, r.nodes, seg.from, seg.until, nil)
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
	for i := range r.batches[batch].Partitions {
		if r.batches[batch].Partitions[i].MeasuredMS > 0 {
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
