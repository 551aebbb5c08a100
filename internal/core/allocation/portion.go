// SPDX-License-Identifier: Apache-2.0

package allocation

import "math/big"

// class is the step in which a claim is served.
type class uint8

const (
	// intruder: a leak or a host process. It pays for what it occupies, and
	// the rightful holder does not.
	intruder class = iota
	// tenant: a holder with a grant, or whose grants are not known.
	tenant
	// infrastructure: the driver's reserve, daemons, and what no one can be
	// named for.
	infrastructure
)

// claim is what one line has of a portion, in the portion's units.
type claim struct {
	cell  *cell
	class class
	// held is in use; reserve is what the grant keeps from everyone else, kept
	// the part of it that is not held.
	held, reserve, kept wide
	grades              gradeTime
}

// portion is time of one partition, under one set of grants, that is divided
// among its claims in the order of accounting.md §4.2.
type portion struct {
	pot *pot
	// left of total is not given away yet. times / den turns a unit into
	// milliseconds times the share of the slot.
	total, left wide
	times       uint64
	den         wide
	claims      []claim
	// keeps is what a reservation counts as: kept, or other where nobody can
	// tell whether it was used.
	keeps part
	// rest is whose the remainder is, graded by grades.
	rest   *cell
	grades gradeTime
}

// divide gives the portion away, all of it.
func (p *portion) divide(b Basis) {
	p.left = p.total
	p.askAll()
	p.hand(intruder, heldOf)
	switch b {
	case Reserved:
		p.hand(tenant, reserveOf)
	case Memory:
		p.hand(tenant, heldOf)
	default:
		p.hand(tenant, heldOf)
		p.hand(tenant, keptOf)
	}
	p.hand(infrastructure, heldOf)
	p.give(p.rest, &p.grades, other, p.left)
	p.left = wide{}
}

// An asking is what a claim wants in one step, and how much of that counts as
// held.
type asking func(*claim) (want, held wide)

func heldOf(c *claim) (want, held wide)    { return c.held, c.held }
func keptOf(c *claim) (want, held wide)    { return c.kept, wide{} }
func reserveOf(c *claim) (want, held wide) { return c.reserve, lesser(c.reserve, c.held) }

// hand serves the claims of a class: each what it wants, or, where what is left
// does not suffice, in proportion.
func (p *portion) hand(of class, ask asking) {
	var sum wide
	for i := range p.claims {
		if c := &p.claims[i]; c.class == of {
			want, _ := ask(c)
			sum = sum.plus(want)
		}
	}
	if p.left.less(sum) {
		p.share(of, ask, sum)
		return
	}
	p.left = p.left.minus(sum)
	for i := range p.claims {
		if c := &p.claims[i]; c.class == of {
			want, held := ask(c)
			p.take(c, want, held)
		}
	}
}

// share divides what is left in proportion: each claim's whole units, and the
// rest of the division as an exact fraction.
func (p *portion) share(of class, ask asking, sum wide) {
	if p.left.isZero() {
		return
	}
	left, all := p.left.big(), sum.big()
	odd := -1
	for i := range p.claims {
		c := &p.claims[i]
		if c.class != of {
			continue
		}
		want, held := ask(c)
		units, rest := new(big.Int).QuoRem(new(big.Int).Mul(want.big(), left), all, new(big.Int))
		got := fromBig(units)
		p.take(c, got, lesser(got, held))
		if rest.Sign() == 0 {
			continue
		}
		if odd < 0 {
			odd = p.pot.odd(new(big.Int).Mul(all, p.den.big()))
		}
		c.cell.addRest(odd, rest.Mul(rest, new(big.Int).SetUint64(p.times)))
	}
	p.left = wide{}
}

// take gives a claim units, of which the first are for what it holds.
func (p *portion) take(c *claim, got, ofHeld wide) {
	p.give(c.cell, &c.grades, held, ofHeld)
	p.give(c.cell, &c.grades, p.keeps, got.minus(ofHeld))
}

func (p *portion) give(to *cell, g *gradeTime, as part, n wide) {
	if n.isZero() {
		return
	}
	den := p.pot.den(p.den)
	g.each(n, func(grade int, n wide) { to.add(den, grade, as, n.times(p.times)) })
}

// askAll notes what each claim asks for, before anything is given.
func (p *portion) askAll() {
	den := p.pot.den(p.den)
	for i := range p.claims {
		c := &p.claims[i]
		c.cell.worst = max(c.cell.worst, c.grades.worst())
		if p.pot.explain {
			c.cell.add(den, 0, askedHeld, c.held.times(p.times))
			c.cell.add(den, 0, askedReserve, c.reserve.times(p.times))
			c.cell.add(den, 0, askedKept, c.kept.times(p.times))
		}
	}
}
