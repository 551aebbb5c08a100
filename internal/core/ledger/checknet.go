// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// pieceKey is a node's piece of an hour.
type pieceKey struct {
	cluster, node string
	startMS       int64
}

// potKey is what is divided in one go: a slot, a device without one, or the CPU
// or the memory of the node.
type potKey struct {
	resource allocation.Resource
	slot     string
	device   gpu.UUID // where there is no slot
}

// pot is what the standing entries of a pot come to.
type pot struct {
	shareMS int64
	amount  money.Sum
	first   *Line
	// above and below are lines whose entries are above and below 0: a pot has
	// only one sort, that of its cost.
	above, below *Line
}

// piece is the same of a node's piece.
type piece struct {
	key        pieceKey
	durationMS int64
	amount     money.Sum
	pots       map[potKey]*pot
	first      *Line
	// paid is the first line of what is paid for, nil where nothing is: all
	// others are in its currency, or without a price like it.
	paid *Line
}

// checkNet looks at what the entries come to.
func checkNet(lines []Line, chains map[string]*chain, costs []pricing.NodeCost) *Violation {
	pieces := map[pieceKey]*piece{}
	var order []*piece
	for i := range lines {
		l := &lines[i]
		c := chains[l.Entry]
		if l.ID != c.last || !c.live || l.IsDrift() {
			continue
		}
		if v := checkEntry(l, c); v != nil {
			return v
		}
		k := pieceKey{l.Cluster, l.Node, l.StartMS}
		p := pieces[k]
		if p == nil {
			p = &piece{key: k, durationMS: l.DurationMS, pots: map[potKey]*pot{}, first: l}
			pieces[k] = p
			order = append(order, p)
		}
		if v := p.add(l, c); v != nil {
			return v
		}
	}
	return checkCosts(order, pieces, costs)
}

// checkEntry looks at one entry's quantities.
func checkEntry(l *Line, c *chain) *Violation {
	n := &c.sum
	for _, q := range []int64{n.ShareMS, n.UsedMS, n.UnusedMS, n.PresentMS, n.GrantedMS, n.CPUNanos, n.CPURequestMilliMS} {
		if q < 0 {
			return violation(Negative, l, "its entry has a quantity of %d in sum", q)
		}
	}
	for i, g := range n.grades {
		if g.shareMS < 0 {
			return violation(Negative, l, "its entry has %d ms graded %s in sum", g.shareMS, gradeOrder[i])
		}
	}
	switch {
	case n.ByteMS.Sign() < 0 || n.RequestByteMS.Sign() < 0:
		return violation(Negative, l, "its entry holds %s and asked for %s byte-milliseconds in sum", n.ByteMS, n.RequestByteMS)
	case n.UsedMS+n.UnusedMS > n.ShareMS:
		return violation(UsedBeyondShare, l, "its entry used %d and kept %d ms of a share of %d ms", n.UsedMS, n.UnusedMS, n.ShareMS)
	}
	return nil
}

// add adds an entry. A device that is in no slot is paid for by nobody: its
// entries have no currency beside those that have one.
func (p *piece) add(l *Line, c *chain) *Violation {
	k := potKey{resource: l.Resource, slot: l.Slot}
	unpaid := l.Resource == allocation.ResourceGPU && l.Slot == ""
	switch {
	case l.DurationMS != p.durationMS:
		return violation(SharesOff, l, "its piece of the hour has %d ms, another line of it says %d ms", l.DurationMS, p.durationMS)
	case unpaid && l.Priced():
		return violation(SlotOff, l, "its device is in no slot that is paid for, and it is charged %s", text(l.Amount))
	case unpaid:
		k.device = l.Partition.Device
	case p.paid == nil:
		p.paid = l
	case l.Currency != p.paid.Currency:
		return violation(CurrencyMixed, l, "it is in %q, and line %s of the same hour and node in %q", l.Currency, p.paid.ID, p.paid.Currency)
	}
	of := p.pots[k]
	if of == nil {
		of = &pot{first: l}
		p.pots[k] = of
	}
	p.amount.Add(c.sum.amount)
	return of.add(l, c)
}

func (p *pot) add(l *Line, c *chain) *Violation {
	p.shareMS += c.sum.ShareMS
	p.amount.Add(c.sum.amount)
	switch {
	case c.sum.amount > 0:
		p.above = l
	case c.sum.amount < 0:
		p.below = l
	}
	if p.above != nil && p.below != nil {
		return violation(Negative, p.below, "its entry is below 0 in sum, and that of line %s of the same slot is above", p.above.ID)
	}
	return nil
}

// checkCosts compares the pieces with what the nodes cost.
func checkCosts(order []*piece, pieces map[pieceKey]*piece, costs []pricing.NodeCost) *Violation {
	if costs == nil {
		return nil
	}
	of := map[pieceKey]*pricing.NodeCost{}
	for i := range costs {
		c := &costs[i]
		k := pieceKey{c.Cluster, c.Node, c.StartMS}
		if err := c.Check(); err != nil {
			return violation(CostWrong, nil, "%v", err)
		}
		if of[k] != nil {
			return violation(CostWrong, nil, "node %s has two costs from %s", c.Node, clock(c.StartMS))
		}
		of[k] = c
	}
	for _, p := range order {
		c := of[p.key]
		if c == nil {
			return violation(CostMissing, p.first, "there is no cost of its node from %s", clock(p.key.startMS))
		}
		if v := p.compare(c); v != nil {
			return v
		}
	}
	for i := range costs {
		c := &costs[i]
		if pieces[pieceKey{c.Cluster, c.Node, c.StartMS}] == nil && !nothing(c) {
			return violation(HourUnrated, nil, "node %s of cluster %q cost %s from %s, and no line charges it", c.Node, c.Cluster, c.Total, clock(c.StartMS))
		}
	}
	return nil
}

// nothing says that there is nothing to charge for.
func nothing(c *pricing.NodeCost) bool {
	return c.Total == 0 && len(c.Slots) == 0 && (c.Priced || c.CPUMilli == 0 && c.MemoryBytes == 0)
}

// compare checks invariant M, and that shares are the whole.
func (p *piece) compare(c *pricing.NodeCost) *Violation {
	switch {
	case p.durationMS != c.DurationMS:
		return violation(SharesOff, p.first, "its piece has %d ms, and its cost is of %d ms", p.durationMS, c.DurationMS)
	case p.paid != nil && (p.paid.Priced() != c.Priced || c.Priced && p.paid.Currency != c.Currency):
		return violation(CurrencyMixed, p.paid, "it is in %q, and its node costs in %q", p.paid.Currency, c.Currency)
	}
	parts := map[potKey]money.Nano{
		{resource: allocation.ResourceCPU}:    c.CPU,
		{resource: allocation.ResourceMemory}: c.Memory,
	}
	for _, s := range c.Slots {
		parts[potKey{resource: allocation.ResourceGPU, slot: s.Slot}] = s.Cost
	}
	for _, k := range slices.SortedFunc(maps.Keys(p.pots), potKey.compare) {
		if v := p.pots[k].compare(k, c, parts); v != nil {
			return v
		}
		delete(parts, k)
	}
	for _, k := range slices.SortedFunc(maps.Keys(parts), potKey.compare) {
		if parts[k] != 0 || k.resource == allocation.ResourceGPU {
			return violation(SlotOff, p.first, "%s %s costs %s, and no line of the same hour and node charges it", k.resource, k.slot, parts[k])
		}
	}
	if n, err := p.amount.Nano(); c.Priced && (err != nil || n != c.Total) {
		return violation(NodeOff, p.first, "the lines of its node sum to %s, and the node costs %s", p.amount, c.Total)
	}
	return nil
}

func (k potKey) compare(o potKey) int {
	a := Facts{Resource: k.resource, Slot: k.slot, Partition: gpu.PartitionID{Device: k.device}}
	b := Facts{Resource: o.resource, Slot: o.slot, Partition: gpu.PartitionID{Device: o.device}}
	return a.compare(&b)
}

func (p *pot) compare(k potKey, c *pricing.NodeCost, parts map[potKey]money.Nano) *Violation {
	if k.device != "" { // in no slot: it may have been there for a part of the time
		if p.shareMS > c.DurationMS {
			return violation(SharesOff, p.first, "the shares of device %s sum to %d of %d ms", k.device, p.shareMS, c.DurationMS)
		}
		return nil
	}
	want, paid := parts[k]
	switch n, err := p.amount.Nano(); {
	case p.shareMS != c.DurationMS:
		return violation(SharesOff, p.first, "the shares of %s %s sum to %d of %d ms", k.resource, k.slot, p.shareMS, c.DurationMS)
	case !paid && p.amount != money.Sum{}:
		return nil // the node's sum shows it
	case !paid:
		return violation(SlotOff, p.first, "its node has no such slot")
	case err != nil || n != want:
		return violation(SlotOff, p.first, "the lines of %s %s sum to %s, and it costs %s", k.resource, k.slot, p.amount, want)
	}
	return nil
}
