// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Cost is what a node costs in [from, to), Unix milliseconds within one hour of
// UTC. It is cut where the node begins or ends and where its price changes, so
// the pieces need not cover the whole time, and there is none where the node
// did not exist. What nobody prices is a piece without a price, with a reason.
//
// Pieces are exact: however a time is cut, the pieces under one price sum to
// what that price makes of it, and a whole hour to the hourly price. Where they are
// converted into another currency (Conversion), each is rounded once more.
func (p *Prices) Cost(n *Node, from, to int64) ([]NodeCost, error) {
	if from < 0 || to <= from || from/hourMS != (to-1)/hourMS {
		return nil, fmt.Errorf("price node %s: [%d, %d) is no part of one hour", n.Name, from, to)
	}
	node, err := p.ready(n)
	if err != nil {
		return nil, err
	}
	t := &tariff{Prices: p, node: &node, own: p.candidates(&node, from, true)}
	if t.mayNeedReference() {
		t.onDemand = p.onDemand(&node, from)
	}
	var out []NodeCost
	for _, s := range t.spans(from, to) {
		if out, err = t.pieces(out, s); err != nil {
			return nil, fmt.Errorf("price node %s: %w", n.Name, err)
		}
	}
	for i := range out {
		if err := p.convert(&out[i]); err != nil {
			return nil, fmt.Errorf("price node %s: %w", n.Name, err)
		}
	}
	return out, nil
}

// tariff is everything that one node's cost depends on.
type tariff struct {
	*Prices
	node          *Node
	own, onDemand *candidates
}

// onDemand are the prices on demand of nodes like this one, bills left out: the
// GPUs' share of a price comes from there.
func (p *Prices) onDemand(n *Node, ms int64) *candidates {
	like := *n
	like.Capacity = OnDemand
	c := p.candidates(&like, ms, false)
	for i := range c.rows {
		for class, rows := range c.rows[i] {
			c.rows[i][class] = slices.DeleteFunc(rows, func(r *Row) bool { return r.Capacity != OnDemand || r.Price.Charge != nil })
		}
	}
	return c
}

// span is a stretch of time, [from, to).
type span struct{ from, to int64 }

func (s span) and(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

func (s span) length() int64 { return max(0, s.to-s.from) }

func (t *tariff) life() span {
	from, _ := t.node.Life.start()
	to, _ := t.node.Life.end()
	return span{from, to}
}

// spans are the times within [from, to) in which the node costs: its life, and
// what it is billed for though nobody saw it.
func (t *tariff) spans(from, to int64) (out []span) {
	hour := span{from, to}
	if s := hour.and(t.life()); s.length() > 0 {
		out = append(out, s)
	}
	for _, book := range t.own.rows {
		for _, r := range book[byName] {
			if s := hour.and(span{r.From, r.To}); r.Price.Charge != nil && s.length() > 0 && t.lived(r) == (span{r.From, r.To}) {
				out = append(out, s)
			}
		}
	}
	return merged(out)
}

// merged is the union of the spans, in the order of time.
func merged(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	for _, s := range spans {
		if k := len(out) - 1; k >= 0 && s.from <= out[k].to {
			out[k].to = max(out[k].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// lived is the time over which a charge is spread: that of the node within the
// charge's, or all of it where the node was not seen in it at all.
func (t *tariff) lived(r *Row) span {
	whole := span{r.From, r.To}
	if s := whole.and(t.life()); s.length() > 0 {
		return s
	}
	return whole
}

// priced is a stretch of time under one price.
type priced struct {
	span
	own, ref *quote
}

// pieces appends the costs of a span, cut where the price changes.
func (t *tariff) pieces(out []NodeCost, s span) ([]NodeCost, error) {
	cuts := append(t.own.changes(s.from, s.to), s.to)
	if t.onDemand != nil {
		cuts = append(cuts, t.onDemand.changes(s.from, s.to)...)
	}
	slices.Sort(cuts)
	var run []priced
	at := s.from
	for _, cut := range slices.Compact(cuts) {
		next := priced{span: span{at, cut}, own: t.own.at(at)}
		if t.needsReference(next.own) {
			next.ref = t.onDemand.at(at)
		}
		if k := len(run) - 1; k >= 0 && run[k].own.same(next.own) && (next.ref == nil || run[k].ref.same(next.ref)) {
			run[k].to = cut
		} else {
			run = append(run, next)
		}
		at = cut
	}
	for _, piece := range run {
		c, err := t.cost(piece)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// mayNeedReference says whether some price of the node could need one on
// demand beside it.
func (t *tariff) mayNeedReference() bool {
	if t.policy.Rule != RuleResidual && t.policy.Rule != RuleGPURate {
		return false
	}
	charged := func(r *Row) bool { return r.Price.Charge != nil }
	return t.discounted() || slices.ContainsFunc(t.own.rows, func(book [classes][]*Row) bool { return slices.ContainsFunc(book[byName], charged) })
}

func (t *tariff) discounted() bool { return t.node.Capacity == Spot || t.node.Capacity == Reserved }

// needsReference says whether the GPUs' share of a price must come from the
// price on demand: spot, reserved and billed prices have discounts that say
// nothing about what a GPU is worth.
func (t *tariff) needsReference(q *quote) bool {
	if t.onDemand == nil || !q.priced() || q.stated != nil {
		return false
	}
	return len(q.charges) > 0 || t.discounted()
}

func (t *tariff) cost(piece priced) (NodeCost, error) {
	q := piece.own
	out := NodeCost{Cluster: t.node.Cluster, Node: t.node.Name, StartMS: piece.from, DurationMS: piece.length()}
	if !q.priced() {
		out.Reason = q.reason
		out.fill(t.node, make([]money.Nano, len(t.node.Slots)))
		return out, nil
	}
	out.Priced, out.Currency = true, q.rows[0].Currency
	node, how, err := t.split(piece)
	if err != nil {
		return out, err
	}
	parts, err := t.amounts(piece, node, &how)
	if err != nil {
		return out, err
	}
	out.CPU, out.Memory = parts.cpu, parts.memory
	out.fill(node, parts.slots)
	if out.Total, err = parts.total(); err != nil {
		return out, err
	}
	out.Basis = t.basis(piece, how)
	return out, nil
}

func (c *NodeCost) fill(n *Node, slots []money.Nano) {
	c.CPUMilli, c.MemoryBytes = n.CPUMilli, n.MemoryBytes
	for i, s := range n.Slots {
		c.Slots = append(c.Slots, SlotCost{Slot: s.Name, Cost: slots[i]})
	}
}

// split weighs the parts of the node under the price of the piece.
func (t *tariff) split(piece priced) (*Node, split, error) {
	q := piece.own
	currency := q.rows[0].Currency
	switch {
	case q.stated != nil && q.stated.cpu != nil:
		s := split{weights: *q.stated, rule: RuleStated}
		return q.node, s.settle(q.node), nil
	case q.stated != nil:
		rest := nanos(q.hourly)
		for _, s := range q.stated.slots {
			rest.Sub(rest, s)
		}
		s := split{weights: t.policy.rest(q.node, q.stated.slots, rest, currency), rule: RuleStated}
		return q.node, s.settle(q.node), nil
	}
	hourly, err := t.hourly(q)
	if err != nil {
		return nil, split{}, err
	}
	from := &hourly
	node := q.node
	if t.needsReference(q) {
		switch ref := piece.ref; {
		case ref.priced() && ref.stated == nil:
			from, currency = &ref.hourly, ref.rows[0].Currency
			if len(q.charges) > 0 {
				node = ref.node // a bill does not say what the node has
			}
		case t.discounted():
			from = nil
		}
	}
	s := t.policy.splitBy(node, from, currency)
	if len(q.charges) > 0 && !slices.ContainsFunc(q.charges, func(r *Row) bool { return r.Price.Charge.Part == PartNode }) {
		s.rule, s.notes = RuleStated, nil // the bill has a line for each part
	}
	return node, s, nil
}

// hourly is what a whole hour costs under the quote. A charge is scaled to the
// hour, for people and for the split.
func (t *tariff) hourly(q *quote) (money.Nano, error) {
	if len(q.charges) == 0 {
		return q.hourly, nil
	}
	sum := new(big.Rat)
	for _, r := range q.charges {
		sum.Add(sum, new(big.Rat).Mul(nanos(r.Price.Charge.Amount), big.NewRat(hourMS, t.lived(r).length())))
	}
	return Rate(sum)
}

// parts are amounts of a piece.
type parts struct {
	slots       []money.Nano
	cpu, memory money.Nano
}

func (p *parts) total() (money.Nano, error) {
	var sum money.Sum
	sum.Add(p.cpu)
	sum.Add(p.memory)
	for _, s := range p.slots {
		sum.Add(s)
	}
	return sum.Nano()
}

// amounts divides what the piece costs.
func (t *tariff) amounts(piece priced, n *Node, how *split) (parts, error) {
	out := parts{slots: make([]money.Nano, len(n.Slots))}
	if q := piece.own; len(q.charges) == 0 {
		hour := piece.from - piece.from%hourMS
		amount, err := between(q.hourly, piece.from-hour, piece.to-hour, hourMS)
		if err != nil {
			return out, err
		}
		return out, out.add(PartNode, amount, &how.weights, n)
	}
	for _, r := range piece.own.charges {
		life := t.lived(r)
		amount, err := between(r.Price.Charge.Amount, piece.from-life.from, piece.to-life.from, life.length())
		if err != nil {
			return out, err
		}
		if err := out.add(r.Price.Charge.Part, amount, &how.weights, n); err != nil {
			return out, err
		}
	}
	return out, nil
}

// between is the part of an amount that falls on [from, to) of total ms.
func between(amount money.Nano, from, to, total int64) (money.Nano, error) {
	before, err := portion(amount, from, total)
	if err != nil {
		return 0, err
	}
	until, err := portion(amount, to, total)
	return until - before, err
}

// add puts an amount where it belongs: that of the node by the weights, that of
// the GPUs equally. GPUs that nobody knows of cannot be charged.
func (p *parts) add(part Part, amount money.Nano, w *weights, n *Node) error {
	switch {
	case part == PartGPU && len(n.Slots) > 0:
		w = &weights{slots: equally(n, big.NewRat(1, 1)), cpu: none, memory: none}
	case part == PartCPU:
		p.cpu += amount
		return nil
	case part == PartMemory:
		p.memory += amount
		return nil
	}
	slots, cpu, memory, err := w.apportion(amount)
	if err != nil {
		return err
	}
	for i := range slots {
		p.slots[i] += slots[i]
	}
	p.cpu, p.memory = p.cpu+cpu, p.memory+memory
	return nil
}

func (t *tariff) basis(piece priced, how split) Basis {
	q := piece.own
	b := Basis{Grade: q.book.Grade, Source: q.book.Name, Revision: q.book.Revision, Split: string(how.rule)}
	var ids []string
	for _, r := range q.rows {
		ids = append(ids, r.ID)
	}
	b.Row = strings.Join(ids, ", ")
	b.Hourly, _ = t.hourly(q)
	b.Notes = append(append(t.lifeNotes(piece.span), q.notes...), how.notes...)
	if r := q.rows[0]; r.Capacity == OnDemand && t.node.Capacity == "" {
		b.Notes = append(b.Notes, "nothing says how the node was bought: taken as on demand")
	}
	return b
}

// lifeNotes says where a piece begins or ends by an estimate.
func (t *tariff) lifeNotes(s span) (notes []string) {
	if ms, note := t.node.Life.start(); note != "" && ms == s.from {
		notes = append(notes, note)
	}
	if ms, note := t.node.Life.end(); note != "" && ms == s.to {
		notes = append(notes, note)
	}
	return notes
}
