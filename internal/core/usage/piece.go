// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// maxReasons bounds the distinct reasons kept for one piece.
const maxReasons = 8

// shape is what must stay the same for a piece to go on.
type shape struct {
	profile                        string
	placement                      gpu.Placement
	slices, deviceSlices, stranded uint32
	parent                         bool
	mode                           gpu.Mode
	replicas                       int64 // -1 when unknown
}

func shapeOf(p *attribution.Partition) shape {
	s := shape{
		profile: p.Profile, placement: p.Placement, slices: p.Slices, deviceSlices: p.DeviceSlices,
		stranded: p.StrandedSlices, parent: p.MIGParent, mode: p.Mode, replicas: -1,
	}
	if p.Replicas != nil {
		s.replicas = *p.Replicas
	}
	return s
}

// piece adds up one partition over a stretch of one window in which its grants
// and its shape stay the same.
type piece struct {
	start, end int64 // monotonic milliseconds
	shape      shape
	grants     grantSet
	memory     memory
	rec        PartitionRecord // identity, and sums in place
	grades     gradeTimes
	signals    signalSums
	holders    map[holderKey]*holderSum
	reasons    []string
}

func newPiece(at int64, s shape) *piece {
	return &piece{start: at, shape: s, holders: map[holderKey]*holderSum{}}
}

// again is a fresh piece of the same kind from a time on.
func (p *piece) again(at int64) *piece {
	if p.start == at {
		return p
	}
	n := newPiece(at, p.shape)
	n.holders = make(map[holderKey]*holderSum, len(p.holders))
	n.grants, n.memory = p.grants, p.memory
	n.rec.Names, n.rec.Slot, n.rec.Model = p.rec.Names, p.rec.Slot, p.rec.Model
	n.rec.CapacityBytes, n.rec.EstimatedCapacityBytes = p.rec.CapacityBytes, p.rec.EstimatedCapacityBytes
	return n
}

// inherit takes over what was noted in a predecessor of no length.
func (p *piece) inherit(old *piece) {
	if old == nil {
		return
	}
	p.rec.Events = old.rec.Events
	for k, h := range old.holders {
		if h.accounted > 0 {
			p.holder(k).accounted = h.accounted
		}
	}
}

// mustEnd reports whether a reading needs a piece of its own: other grants,
// another shape, another capacity, or memory that began or ceased to be read.
func (p *piece) mustEnd(s shape, g grantSet, r *reading) bool {
	if p.shape != s || !p.grants.same(g) {
		return true
	}
	if r.memory == memoryUnread || p.memory == memoryUnread {
		return false
	}
	return p.memory != r.memory || (r.memory == memoryKnown && *p.rec.CapacityBytes != r.capacity)
}

// describe takes the names and the latest form of the grants.
func (p *piece) describe(src *attribution.Partition, g grantSet, r *reading) {
	if len(src.Names) > 0 {
		p.rec.Names = slices.Clone(src.Names)
		slices.Sort(p.rec.Names)
	}
	if src.Slot != "" {
		p.rec.Slot = src.Slot
	}
	if src.Model != "" {
		p.rec.Model = src.Model
	}
	if src.EstimatedCapacity != nil {
		c := *src.EstimatedCapacity
		p.rec.EstimatedCapacityBytes = &c
	}
	p.grants = p.grants.update(g)
	if r.memory == memoryUnread {
		return
	}
	p.memory = r.memory
	if r.memory == memoryKnown {
		c := r.capacity
		p.rec.CapacityBytes = &c
	}
}

func (p *piece) accrue(r *reading, dt int64, gap bool) {
	if !r.grantsKnown {
		p.rec.GrantsUnknownMS += dt
	}
	switch {
	case gap:
		p.rec.UnmeasuredMS += dt
		p.because(reasonNoSamples)
	case r.account == toUnmeasured:
		p.rec.UnmeasuredMS += dt
		p.because(r.reason)
	case r.account == toUnavailable:
		p.rec.UnavailableMS += dt
		p.because(r.reason)
	default:
		p.measure(r, dt)
	}
}

// measure adds dt milliseconds of a reading. Nothing here can wrap: reading
// refuses sizes whose sum over a window would.
func (p *piece) measure(r *reading, dt int64) {
	ms := uint64(dt)
	p.rec.MeasuredMS += dt
	p.grades[r.grade] += dt
	p.signals.add(&r.signals, &r.levels, dt)
	if r.memory == memoryNone {
		p.rec.NoMemoryMS += dt
	}
	if r.noReserve {
		p.rec.ReserveUnknownMS += dt
	}
	p.rec.CapacityByteMS += r.capacity * ms
	p.rec.ReservedByteMS += r.reserved * ms
	p.rec.UsedByteMS += r.used * ms
	p.rec.UnattributedByteMS += r.unattributed * ms
	p.rec.FreeByteMS += r.free * ms
	for i := range r.holdings {
		r.holdings[i].sum.add(&r.holdings[i], dt)
	}
}

func (p *piece) because(reason string) {
	if len(p.reasons) < maxReasons && !slices.Contains(p.reasons, reason) {
		p.reasons = append(p.reasons, reason)
	}
}

func (p *piece) addEnergy(mj uint64) {
	sum := addUint(deref(p.rec.EnergyMJ), mj)
	p.rec.EnergyMJ = &sum
}

func (p *piece) addEvents(events []sample.Event) {
	p.rec.Events = append(p.rec.Events, events...)
}

func (p *piece) holder(k holderKey) *holderSum {
	h := p.holders[k]
	if h == nil {
		h = &holderSum{key: k}
		p.holders[k] = h
	}
	return h
}

// write appends the records of the closed piece.
func (p *piece) write(b *Batch, id gpu.PartitionID, span Span) {
	rec := p.rec
	rec.Partition, rec.Span = id, span
	s := p.shape
	rec.Profile, rec.Placement, rec.Slices = s.profile, s.placement, s.slices
	rec.DeviceSlices, rec.StrandedSlices, rec.MIGParent, rec.Mode = s.deviceSlices, s.stranded, s.parent, s.mode
	if s.replicas >= 0 {
		rec.Replicas = &s.replicas
	}
	rec.Reasons = sorted(p.reasons)
	rec.Grade, rec.GradeMS = p.grades.worst()
	rec.Signals = p.signals.mean()
	rec.PowerMW, rec.PowerLimitMW = p.signals.levels.mean(levelPower), p.signals.levels.mean(levelPowerLimit)
	b.Partitions = append(b.Partitions, rec)
	b.Holders = p.writeHolders(b.Holders, id, span)
	for _, g := range p.grants {
		b.Grants = append(b.Grants, GrantRecord{Partition: id, Span: span, Grant: g.grant, GrantedMS: span.DurationMS})
	}
}

func (p *piece) writeHolders(to []Record, id gpu.PartitionID, span Span) []Record {
	sums := make([]*holderSum, 0, len(p.holders))
	for _, h := range p.holders {
		if h.presentMS > 0 || h.accounted > 0 {
			sums = append(sums, h)
		}
	}
	slices.SortFunc(sums, func(a, b *holderSum) int { return a.key.compare(b.key) })
	for _, h := range sums {
		to = append(to, h.record(id, span))
	}
	return to
}
