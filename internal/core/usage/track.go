// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// track follows one partition: the reading it holds now, the piece that this
// adds to, and the pieces that already ended in the open window.
type track struct {
	id     gpu.PartitionID
	held   reading
	grants []attribution.Grant // as last listed
	energy counter
	piece  *piece // nil once the partition is gone
	done   []*piece
	// sample and counted are the last samples whose reading and whose
	// counters were taken.
	sample, counted uint64
}

// accrue adds dt milliseconds of the held reading, ending at a time.
func (t *track) accrue(dt, to int64, gap bool) {
	if mj, ok := t.energy.take(to); ok {
		last := t.piece
		if last == nil && len(t.done) > 0 {
			last = t.done[len(t.done)-1]
		}
		if last != nil {
			last.addEnergy(mj)
		}
	}
	if t.piece != nil {
		t.piece.accrue(&t.held, dt, gap)
	}
}

// install holds a new reading from a time on, in a new piece where the old one
// must end.
func (t *track) install(p *attribution.Partition, at int64, limit uint64) {
	t.held.fill(p, limit)
	s, g := shapeOf(p), t.grantsOf(p)
	if t.piece == nil || t.piece.mustEnd(s, g, &t.held) {
		old := t.end(at)
		t.piece = newPiece(at, s)
		t.piece.inherit(old)
		t.bind()
	} else if t.held.rebind {
		t.bind()
	}
	t.piece.describe(p, g, &t.held)
}

// grantsOf is the grants of a reading, those of the piece where they are the same.
func (t *track) grantsOf(p *attribution.Partition) grantSet {
	if t.piece != nil && alike(t.grants, p.Grants) {
		return t.piece.grants
	}
	t.grants = p.Grants
	return grantsOf(p)
}

// end closes the open piece at a time. A piece of no length is returned
// instead of kept, so that its successor can take over what was noted in it.
func (t *track) end(at int64) *piece {
	p := t.piece
	t.piece = nil
	if p == nil || p.start == at {
		return p
	}
	p.end = at
	t.done = append(t.done, p)
	return nil
}

// restart gives the partition a fresh piece of the same kind from a time on.
func (t *track) restart(at int64) {
	t.done = t.done[:0]
	if t.piece == nil {
		return
	}
	t.piece = t.piece.again(at)
	t.bind()
}

// bind points the held sizes at the sums of the open piece.
func (t *track) bind() {
	for i := range t.held.holdings {
		h := &t.held.holdings[i]
		h.sum = t.piece.holder(h.key)
	}
	t.held.rebind = false
}

// write appends the pieces of the window that ends now, and restarts.
func (t *track) write(b *Batch, c *clock, now int64) {
	open := t.piece
	t.end(now)
	for _, p := range t.done {
		p.write(b, t.id, c.span(p.start, p.end))
	}
	t.piece = open
	t.restart(now)
}

// drop ends the partition at a time: a later sample did not have it.
func (t *track) drop(at int64) {
	t.end(at)
	t.held = reading{}
}

func (in *Integrator) install(r *attribution.Result) {
	for i := range r.Partitions {
		p := &r.Partitions[i]
		t := in.tracks[p.ID]
		if t == nil {
			t = &track{id: p.ID}
			t.energy.observe(p.Power.EnergyMJ, in.now, in.now)
			in.tracks[p.ID] = t
		}
		if t.sample == in.sample {
			continue // named twice in one sample: the first stands
		}
		t.sample = in.sample
		t.install(p, in.now, in.limit)
	}
	for id, t := range in.tracks {
		if t.sample != in.sample && t.piece != nil {
			t.drop(in.now)
		}
		if t.piece == nil && len(t.done) == 0 {
			delete(in.tracks, id)
		}
	}
	in.pods.install(r.Pods, in.now)
	in.node.install(r)
	in.findings.install(r.Findings)
}

func (in *Integrator) observeCounters(r *attribution.Result) {
	in.dropCounters()
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if t := in.tracks[p.ID]; t != nil && t.counted != in.sample {
			t.counted = in.sample
			t.energy.observe(p.Power.EnergyMJ, in.now, r.MonoMS)
		}
	}
	in.pods.observe(r.Pods, in.now, r.MonoMS)
}

func (in *Integrator) dropCounters() {
	for _, t := range in.tracks {
		t.energy.clear()
	}
	in.pods.clear()
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
