// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/bits"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// claims collects what the lines of one piece claim of it. It is made anew for
// each piece, and keeps its memory.
type claims struct {
	// holders and tenants are the lines of the piece's holders and grants.
	holders []seated
	tenants []*cell
	// list and grants are the claims of the portion at hand.
	list   []claim
	grants []granted
}

// seated is a holder's line, and the step in which it is served.
type seated struct {
	cell  *cell
	class class
}

// begin finds the lines of a piece.
func (c *claims) begin(b *book, p *piece) {
	c.holders, c.tenants = c.holders[:0], c.tenants[:0]
	for i := range p.holders {
		c.holders = append(c.holders, lineOf(b, &p.holders[i]))
	}
	for i := range p.grants {
		tenant := b.pod(p.grants[i].Grant.Holder, false)
		tenant.stands() // a turn has no weight where nothing is held
		c.tenants = append(c.tenants, tenant)
	}
}

// fresh forgets the claims of the portion before.
func (c *claims) fresh() *claims {
	c.list, c.grants = c.list[:0], c.grants[:0]
	return c
}

// granted is the part of the partition that one grant keeps: its share of what
// there is, alone, or, of a claim that several pods share, together.
type granted struct {
	claim int // place in the list
	share gpu.Ratio
	group string // the shared claim's name
	size  uint64 // pods of the group
}

// of is the place of a line's claim; it is made where there is none.
func (c *claims) of(to *cell, as class) int {
	for i := range c.list {
		if c.list[i].cell == to {
			return i
		}
	}
	c.list = append(c.list, claim{cell: to, class: as})
	return len(c.list) - 1
}

// hold adds what the holders have, and the driver's reserve and what nobody can
// be named for, in byte-milliseconds.
func (c *claims) hold(b *book, p *piece) {
	for i := range p.holders {
		r := &p.holders[i]
		cl := &c.list[c.of(c.holders[i].cell, c.holders[i].class)]
		cl.held = cl.held.plus(narrow(r.ByteMS))
		cl.grades.add(r.Grade, r.GradeMS, r.KnownMS)
	}
	c.platform(b, Overhead, p.rec.ReservedByteMS)
	c.platform(b, Unattributed, p.rec.UnattributedByteMS)
}

func (c *claims) platform(b *book, account string, byteMS uint64) {
	if byteMS > 0 {
		cl := &c.list[c.of(b.platform(account, ""), infrastructure)]
		cl.held = cl.held.plus(narrow(byteMS))
	}
}

// lineOf is on whose line a holder's record stands, and when that is served.
func lineOf(b *book, r *usage.Record) seated {
	switch r.Holder.Kind {
	case workload.KindPod:
		if r.Leak {
			return seated{b.pod(r.Holder, true), intruder}
		}
		return seated{b.pod(r.Holder, false), tenant}
	case workload.KindHost:
		return seated{b.host(r.Holder), intruder}
	case workload.KindDaemon:
		return seated{b.platform(Overhead, ""), infrastructure}
	}
	return seated{b.platform(Unattributed, ""), infrastructure}
}

// grant notes what the grants keep. blind: the device tells neither its memory
// nor sizes, so that replicas count as parts of it.
func (c *claims) grant(p *piece, policy Policy, blind bool) {
	turns := blind || policy.TurnsReserve || policy.basis() == Reserved
	for i := range p.grants {
		g := &p.grants[i].Grant
		n := granted{claim: c.of(c.tenants[i], tenant), share: shareOf(g, p.rec.Replicas, turns), size: 1}
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
// once per pod and partition. Of equals that of the claim with the later name
// stands, in whatever order they come.
func (c *claims) note(n granted) {
	for i := range c.grants {
		if have := &c.grants[i]; have.claim == n.claim {
			if d := compareRatio(have.share, n.share); d < 0 || d == 0 && have.group < n.group {
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

// compareRatio compares shares exactly.
func compareRatio(a, b gpu.Ratio) int {
	x, y := narrow(a.Num).times(b.Den), narrow(b.Num).times(a.Den)
	switch {
	case x.less(y):
		return -1
	case y.less(x):
		return 1
	}
	return 0
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

// unitBits is how fine units may become: total in the finest has at most so
// many bits, so that sums over an hour fit wide.
const unitBits = 80

// scale is the factor by which units must be finer for every reservation of
// total to be a whole number of them: nearly always 1. Where that is finer than
// unitBits allow, units are as fine as they may be and reservations are cut to
// whole units, each off by less than the 2^79th part of the total.
func (c *claims) scale(total uint64) uint64 {
	limit := uint64(1) << min(63, unitBits-bits.Len64(total))
	l := uint64(1)
	for _, g := range c.grants {
		_, left := narrow(total).times(g.share.Num).over(g.share.Den)
		finer := g.share.Den / gcd(g.share.Den, left)
		if finer > limit/g.size { // its pods divide it evenly
			return limit
		}
		var ok bool
		if l, ok = multiple(l, finer*g.size, limit); !ok {
			return limit
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
