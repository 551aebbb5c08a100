// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// claims collects what the lines of one piece claim of it. It is made anew for
// each piece, and keeps its memory.
type claims struct {
	list   []claim
	grants []granted
}

// granted is the part of the partition that one grant keeps: its share of what
// there is, alone, or, of a claim that several pods share, together.
type granted struct {
	claim int // place in the list
	share gpu.Ratio
	group string // the shared claim's name
	size  uint64 // pods of the group
}

// of is the claim of a line; it is made where there is none.
func (c *claims) of(to *cell, as class) *claim {
	for i := range c.list {
		if c.list[i].cell == to {
			return &c.list[i]
		}
	}
	c.list = append(c.list, claim{cell: to, class: as})
	return &c.list[len(c.list)-1]
}

// hold adds what the holders have, and the driver's reserve and what nobody can
// be named for, in byte-milliseconds.
func (c *claims) hold(b *book, p *piece) {
	for i := range p.holders {
		r := &p.holders[i]
		to, as := lineOf(b, r)
		cl := c.of(to, as)
		cl.held = cl.held.plus(narrow(r.ByteMS))
		cl.grades.add(r.Grade, r.GradeMS, r.KnownMS)
	}
	c.platform(b, Overhead, p.rec.ReservedByteMS)
	c.platform(b, Unattributed, p.rec.UnattributedByteMS)
}

func (c *claims) platform(b *book, account string, byteMS uint64) {
	if byteMS > 0 {
		cl := c.of(b.platform(account, ""), infrastructure)
		cl.held = cl.held.plus(narrow(byteMS))
	}
}

// lineOf is on whose line a holder's record stands, and when that is served.
func lineOf(b *book, r *usage.Record) (*cell, class) {
	switch r.Holder.Kind {
	case workload.KindPod:
		if r.Leak {
			return b.pod(r.Holder, true), intruder
		}
		return b.pod(r.Holder, false), tenant
	case workload.KindHost:
		return b.host(r.Holder), intruder
	case workload.KindDaemon:
		return b.platform(Overhead, ""), infrastructure
	}
	return b.platform(Unattributed, ""), infrastructure
}

// grant notes what the grants keep. blind: the device tells neither its memory
// nor sizes, so that replicas count as parts of it.
func (c *claims) grant(b *book, p *piece, policy Policy, blind bool) {
	turns := blind || policy.TurnsReserve || policy.basis() == Reserved
	for i := range p.grants {
		g := &p.grants[i].Grant
		cl := c.of(b.pod(g.Holder, false), tenant)
		n := granted{share: shareOf(g, p.rec.Replicas, turns), size: 1}
		for n.claim = range c.list {
			if c.list[n.claim].cell == cl.cell {
				break
			}
		}
		if g.Mode == gpu.ModeSharedClaim {
			n.group = g.Claim
		}
		c.note(n)
	}
	for i := range c.grants {
		c.grants[i].size = c.groupSize(c.grants[i].group)
	}
}

// note keeps, of several grants of one pod, the one that keeps most: r counts
// once per pod and partition.
func (c *claims) note(n granted) {
	for i := range c.grants {
		if have := &c.grants[i]; have.claim == n.claim {
			if lessRatio(have.share, n.share) {
				*have = n
			}
			return
		}
	}
	c.grants = append(c.grants, n)
}

func (c *claims) groupSize(group string) (n uint64) {
	if group == "" {
		return 1
	}
	for i := range c.grants {
		if c.grants[i].group == group {
			n++
		}
	}
	return n
}

// shareOf is r, the share of the partition that a grant keeps from everyone
// else. Where turns count, that of a replica is replicas held / N.
func shareOf(g *attribution.Grant, offered *int64, turns bool) gpu.Ratio {
	r := g.Reserved
	if g.Mode == gpu.ModeTimeSlicing || g.Mode == gpu.ModeShared {
		r = gpu.Ratio{}
		if turns && offered != nil && *offered > 0 && g.Replicas > 0 {
			r = gpu.Ratio{Num: uint64(g.Replicas), Den: uint64(*offered)}
		}
	}
	switch {
	case g.Admin || r.IsZero():
		return gpu.Ratio{Den: 1}
	case r.Num >= r.Den:
		return gpu.One
	}
	return r
}

// lessRatio compares shares of at most 1 exactly.
func lessRatio(a, b gpu.Ratio) bool {
	return narrow(a.Num).times(b.Den).less(narrow(b.Num).times(a.Den))
}

// reserve turns the grants into what they keep of total, and of that what is
// not held. total is to be a multiple of what scale says.
func (c *claims) reserve(total wide) {
	for _, g := range c.grants {
		cl := &c.list[g.claim]
		cl.reserve, _ = total.part(g.share.Num, g.share.Den).over(g.size)
		if g.group == "" {
			cl.kept = above(cl.reserve, cl.held)
			continue
		}
		// A shared claim's unused part is its pods', evenly.
		unused := above(total.part(g.share.Num, g.share.Den), c.heldBy(g.group))
		cl.kept, _ = unused.over(g.size)
	}
}

func (c *claims) heldBy(group string) (sum wide) {
	for _, g := range c.grants {
		if g.group == group {
			sum = sum.plus(c.list[g.claim].held)
		}
	}
	return sum
}

// scale is the factor by which units must be finer for every reservation of
// total to be a whole number of them: nearly always 1. Beyond limit it is
// otherwise, and reservations are cut to whole units.
func (c *claims) scale(total uint64, limit, otherwise uint64) uint64 {
	l := uint64(1)
	for _, g := range c.grants {
		_, left := narrow(total).times(g.share.Num).over(g.share.Den)
		finer, ok := multiple(1, g.share.Den/gcd(g.share.Den, left), limit)
		if ok {
			l, ok = multiple(l, finer*g.size, limit)
		}
		if !ok {
			return otherwise
		}
	}
	return l
}

// refine makes the units of what is held finer.
func (c *claims) refine(by uint64) {
	for i := range c.list {
		c.list[i].held = c.list[i].held.times(by)
	}
}
