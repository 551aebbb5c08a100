// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
)

// chain is what the lines of one entry come to.
type chain struct {
	facts Facts
	sum   numbers
	grade gpu.Grade
	basis *pricing.Basis
	// live: something of the entry stands. It may be 0.
	live bool
	// mixed: lines of what stands were priced under different rules of splitting.
	mixed bool
	seq   int
	last  string // id of the last line
}

// apply adds the next line. It fails where that cannot follow what was before.
func (c *chain) apply(l *Line) *Violation {
	switch {
	case l.Seq != c.seq+1:
		return violation(ChainBroken, l, "it is line %d of its entry, and the line before is %d: lines are missing or there twice", l.Seq, c.seq)
	case l.Adjusts != c.last:
		return violation(AdjustsNothing, l, "it adjusts %q, and the line before it is %q", l.Adjusts, c.last)
	}
	n, err := l.numbers()
	if err != nil {
		return violation(GradesOff, l, "%v", err)
	}
	return c.step(l, n)
}

func (c *chain) step(l *Line, n numbers) *Violation {
	var err error
	switch live := c.live; {
	case l.Step == Booked && !live:
		c.facts, c.sum, c.live, c.mixed = l.Facts, n, true, false
	case l.Step == Changed && live && l.Facts == c.facts:
		c.sum, err = c.sum.plus(n)
		c.mixed = c.mixed || l.Split() != splitOf(c.basis)
	case l.Step == Reversed && live && l.Facts == c.facts && n == c.sum.negated():
		c.sum, c.live = numbers{}, false
	case l.Step == Reversed && live && l.Facts == c.facts:
		return violation(StepWrong, l, "it takes back %s and what stood is %s, or their quantities differ", text(l.Amount), c.sum.amount)
	case live && l.Facts != c.facts && l.Step != Booked:
		return violation(StepWrong, l, "it says other things about its entry than the lines before: %s", differences(&c.facts, &l.Facts))
	default:
		return violation(StepWrong, l, "it is a %q where the entry stands: %v", l.Step, live)
	}
	if err != nil {
		return violation(StepWrong, l, "%v", err)
	}
	c.seq, c.last, c.grade, c.basis = l.Seq, l.ID, l.Grade, l.Basis
	return nil
}

// target is what an entry is to be.
type target struct {
	facts Facts
	numbers
	grade gpu.Grade
	basis *pricing.Basis
}

// reach adds the lines that make the chain's sum the target's, or take
// everything back where there is none.
func (c *chain) reach(t *target, add func(*chain, Step, *target)) error {
	if c.live && !c.follows(t) {
		add(c, Reversed, &target{facts: c.facts, numbers: c.sum.negated(), grade: c.grade, basis: c.reversed()})
		c.live = false
	}
	switch {
	case t == nil:
	case !c.live:
		add(c, Booked, t)
	case !c.stands(t):
		by, err := t.plus(c.sum.negated())
		if err != nil {
			return fmt.Errorf("entry %s on account %s: %w", t.facts.Entry, t.facts.Account, err)
		}
		add(c, Changed, &target{facts: t.facts, numbers: by, grade: t.grade, basis: t.basis})
	}
	return nil
}

// stands says that nothing is to be added to numbers that are the target's.
func (c *chain) stands(t *target) bool { return t.numbers == c.sum && t.grade == c.grade }

// follows says that a difference, if anything, leads from what stands to the target. A
// difference of what was priced under one rule and another would belong to neither.
func (c *chain) follows(t *target) bool {
	return t != nil && t.facts == c.facts && splitOf(t.basis) == splitOf(c.basis) && (!c.mixed || c.stands(t))
}

// reversed is the basis of a line that takes back what stands. Where that was priced
// under several rules, as differences once were booked, it is of none of them.
func (c *chain) reversed() *pricing.Basis {
	if !c.mixed || c.basis == nil {
		return c.basis
	}
	b := *c.basis
	b.Split = ""
	return &b
}

// chainsOf adds lines up by entry. They may come in any order.
func chainsOf(lines []Line) (map[string]*chain, *Violation) {
	order := make([]*Line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortFunc(order, (*Line).inChain)
	out := map[string]*chain{}
	for _, l := range order {
		c := out[l.Entry]
		if c == nil {
			c = &chain{}
			out[l.Entry] = c
		}
		if v := c.apply(l); v != nil {
			return nil, v
		}
	}
	return out, nil
}

// Net is what the lines of whole entries come to: the entries that stand, in
// order, as the newest rating gave them. It fails where lines are missing.
// Basis is that of the last line of each.
func Net(lines []Line) ([]allocation.Entry, error) {
	chains, v := chainsOf(lines)
	if v != nil {
		return nil, v
	}
	var standing []*chain
	for _, c := range chains {
		if c.live && !c.facts.IsDrift() {
			standing = append(standing, c)
		}
	}
	slices.SortFunc(standing, func(a, b *chain) int { return a.facts.compare(&b.facts) })
	var out []allocation.Entry
	for _, c := range standing {
		e, err := c.entry()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// entry is the entry that the chain comes to.
func (c *chain) entry() (e allocation.Entry, err error) {
	f, n := &c.facts, &c.sum
	e = allocation.Entry{
		ID: f.Entry, Cluster: f.Cluster, Node: f.Node, HourMS: f.HourMS, StartMS: f.StartMS, DurationMS: f.DurationMS,
		Resource: f.Resource, Slot: f.Slot, Partition: f.Partition, Kind: f.EntryKind, Account: f.Account, From: f.From,
		Note: f.Note, Holder: f.Holder, Policy: f.Policy, Model: f.Model, Profile: f.Profile, Mode: f.Mode, Currency: f.Currency, Basis: c.basis,
		Quantities: allocation.Quantities{
			ShareMS: n.ShareMS, UsedMS: n.UsedMS, UnusedMS: n.UnusedMS, Grade: c.grade, PresentMS: n.PresentMS,
			GrantedMS: n.GrantedMS, CPUNanos: uint64(n.CPUNanos), CPURequestMilliMS: n.CPURequestMilliMS,
		},
	}
	e.Amount, e.Moved = n.money(f)
	if e.ByteMS, err = n.ByteMS.total(); err == nil {
		e.RequestByteMS, err = n.RequestByteMS.total()
	}
	split := map[gpu.Grade]int64{}
	for i, g := range n.grades {
		if g.shareMS != 0 {
			split[gradeOrder[i]] = g.shareMS
		}
	}
	if len(split) > 1 {
		e.GradeMS = split
	}
	return e, err
}
