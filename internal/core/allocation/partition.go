// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// factor turns milliseconds of a partition into milliseconds times the share
// of its slot: its memory slices by the device's, and the part of a record that
// lies in the piece.
type factor struct{ num, den uint64 }

var whole = factor{1, 1}

// by is f × num / den, in lowest terms.
func (f factor) by(num, den int64) factor {
	n, d := uint64(num), uint64(den)
	a, b := gcd(f.num, d), gcd(n, f.den)
	return lowest(factor{f.num / a * (n / b), f.den / b * (d / a)})
}

func lowest(f factor) factor {
	g := gcd(f.num, f.den)
	return factor{f.num / g, f.den / g}
}

// cut is the part of a record in [from, to): its place in the record's time.
type cut struct {
	from, to, of int64
}

func cutOf(r *usage.PartitionRecord, from, to int64) cut {
	return cut{from - r.StartMS, to - r.StartMS, r.DurationMS}
}

// of64 is the part of a sum over the record's time. The parts of all cuts of a
// record sum to the whole.
func (c cut) of64(n uint64) uint64 {
	if c.from == 0 && c.to == c.of {
		return n
	}
	return c.upTo(n, c.to) - c.upTo(n, c.from)
}

func (c cut) upTo(n uint64, ms int64) uint64 {
	return narrow(n).part(uint64(ms), uint64(c.of)).lo
}

func (c cut) ms(n int64) int64 { return int64(c.of64(uint64(max(n, 0)))) }

// partition divides the part of one partition's piece that lies in [from, until).
func (r *rater) partition(to *pot, p *piece, from, until int64, f factor, note string) {
	b := to.of(p.rec.Partition)
	b.describe(p.rec)
	b.modes.begin(p.rec, until-from)
	f = f.by(until-from, p.rec.DurationMS)
	r.claims.begin(b, p)
	r.count(b, p, cutOf(p.rec, from, until))
	if ms := p.rec.UnavailableMS; ms > 0 {
		r.plain(to, b.platform(Unavailable, ""), measured, uint64(ms), f)
	}
	if p.rec.UnmeasuredMS > 0 {
		r.unmeasured(to, b, p, f, note)
	}
	switch capacity, ok := capacityOf(p.rec); {
	case p.rec.MeasuredMS == 0:
	case ok:
		r.measured(to, b, p, capacity, f, note)
	default:
		r.blind(to, b, p, p.rec.MeasuredMS, f, note)
	}
}

// plain gives time to one line.
func (r *rater) plain(to *pot, c *cell, grade int, ms uint64, f factor) {
	c.add(to.den(narrow(f.den)), grade, other, narrow(ms).times(f.num))
}

// capacityOf is the memory by which shares are measured: the device's, or,
// where it has none of its own and sizes of processes are known, the host's.
func capacityOf(rec *usage.PartitionRecord) (bytes uint64, ok bool) {
	ms := uint64(rec.MeasuredMS)
	switch {
	case rec.NoMemoryMS > 0 && rec.EstimatedCapacityBytes != nil:
		bytes = *rec.EstimatedCapacityBytes
		return bytes, bytes > 0 && bytes <= math.MaxUint64/max(ms, 1)
	case rec.NoMemoryMS > 0 || ms == 0 || rec.CapacityByteMS == 0 || rec.CapacityByteMS%ms != 0:
		return 0, false
	}
	return rec.CapacityByteMS / ms, true
}

// measured divides time in which the memory was read.
func (r *rater) measured(to *pot, b *book, p *piece, capacity uint64, f factor, note string) {
	c := r.claims.fresh()
	c.hold(b, p)
	if r.policy.basis() != Memory {
		c.grant(p, r.policy, false)
	}
	total := capacity * uint64(p.rec.MeasuredMS)
	l := c.scale(total)
	c.refine(l)
	c.reserve(narrow(total).times(l))
	g := partitionGrades(p.rec)
	c.grade(g)
	r.divide(portion{
		pot: to, total: narrow(total).times(l), times: f.num, den: narrow(capacity).times(l).times(f.den),
		keeps: kept, rest: b.platform(Idle, note), grades: g,
	})
}

// grade gives lines without a graded reading the partition's grades. Sizes
// against an estimated capacity are estimated.
func (c *claims) grade(g gradeTime) {
	for i := range c.list {
		if cl := &c.list[i]; cl.grades.sum() == 0 || g == only(estimated) {
			cl.grades = g
		}
	}
}

func partitionGrades(rec *usage.PartitionRecord) gradeTime {
	if rec.NoMemoryMS > 0 {
		return only(estimated)
	}
	var g gradeTime
	g.add(rec.Grade, rec.GradeMS, rec.MeasuredMS)
	return g
}

// unmeasured divides time without samples: grants are charged what they keep
// (under memory, nobody is), the rest is nobody's. It is idle only where the
// source of grants was readable throughout and named none.
func (r *rater) unmeasured(to *pot, b *book, p *piece, f factor, note string) {
	ms := p.rec.UnmeasuredMS
	switch {
	case unmeasurable(p.rec):
		r.blind(to, b, p, ms, f, note)
	case p.rec.GrantsUnknownMS == 0 && len(p.grants) == 0:
		r.plain(to, b.platform(Idle, note), unmeasured, uint64(ms), f)
	default:
		r.byGrants(to, b, p, ms, f, b.platform(Unmeasured, ""), false)
	}
}

// unmeasurable: the partition is known by the kubelet's ids alone (a node
// without NVML), or its platform has no reading. It was never read and is not
// expected to be.
func unmeasurable(rec *usage.PartitionRecord) bool {
	if rec.MeasuredMS > 0 || rec.CapacityBytes != nil {
		return false
	}
	for _, reason := range rec.Reasons {
		if reason == "device is "+string(gpu.StateNotSupported) {
			return true
		}
	}
	return rec.Slot == "" && rec.Model == ""
}

// blind divides time of a device that tells neither its memory nor sizes: a
// replica counts as its part of the replicas, and what no grant covers is idle,
// unless the grants were not known either. Under memory, what a grant covers is
// unmeasured.
func (r *rater) blind(to *pot, b *book, p *piece, ms int64, f factor, note string) {
	rest := b.platform(Idle, note)
	if p.rec.GrantsUnknownMS > 0 {
		rest = b.platform(Unmeasured, "")
	}
	r.byGrants(to, b, p, ms, f, rest, true)
}

// byGrants divides time by what the grants keep alone.
func (r *rater) byGrants(to *pot, b *book, p *piece, ms int64, f factor, rest *cell, blind bool) {
	c := r.claims.fresh()
	c.grant(p, r.policy, blind)
	l := c.scale(uint64(ms))
	total := narrow(uint64(ms)).times(l)
	c.reserve(total)
	for i := range c.list {
		c.list[i].grades = only(unmeasured)
		if r.policy.basis() == Memory {
			c.list[i].cell, c.list[i].class = b.platform(Unmeasured, ""), tenant
		}
	}
	r.divideBy(Held, portion{
		pot: to, total: total, times: f.num, den: narrow(l).times(f.den),
		keeps: other, rest: rest, grades: only(unmeasured),
	})
}
