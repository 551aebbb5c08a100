// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/big"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// part says what a weight stands for.
type part uint8

// The first three are what a holder is charged for and sum to its weight. The
// others are what it asked for, to explain the charge.
const (
	held  part = iota // memory held
	kept              // memory kept from others and not held
	other             // neither: a grant while nobody measured, a platform account
	charges
	askedHeld
	askedReserve
	askedKept
)

// cellKey tells the lines of one pot apart.
type cellKey struct {
	kind    Kind
	account string // of a platform account
	note    string
	pod     string
	unit    string
}

// cell adds up what one holder or platform account has in a pot.
type cell struct {
	cellKey
	book      *book
	at        int // place in the book
	holder    workload.Holder
	title     string // the entry's account, once the pot is settled
	terms     []term
	room      [2]term // for the terms of most
	fractions []fraction
	amounts   Quantities
	worst     int // grade of what it claimed
	// mark and here are the piece that was counted last, and how long the
	// holder was present in it.
	mark  uint64
	here  int64
	modes modeTimes
}

// term is a weight of n over the pot's denominator number den, in milliseconds
// times the share of the slot.
type term struct {
	den   uint16
	grade uint8
	part  part
	n     wide
}

// fraction is what a division in proportion left of a term: an exact rest,
// over the pot's odd denominator number den.
type fraction struct {
	den int
	n   *big.Int
}

// pot is what is divided in one go: one slot, or the CPU or the memory of the
// node, in one piece. Nearly always all weights have a few denominators (the
// capacities of the partitions), which are kept apart until the end.
type pot struct {
	dens  []wide
	odds  []*big.Int
	books []*book
	// explain: what was asked for is kept beside what was given.
	explain bool
}

// book is the lines of one partition.
type book struct {
	partition      gpu.PartitionID
	model, profile string
	modes          modeClock
	cells          []*cell
	pods           map[podKey]*cell // of a book with many lines
	next           int              // the line to try first
}

// fewCells is up to how many lines are looked through one by one.
const fewCells = 16

type podKey struct {
	pod  string
	leak bool
}

// of is the book of a partition.
func (p *pot) of(id gpu.PartitionID) *book {
	for _, b := range p.books {
		if b.partition == id {
			return b
		}
	}
	b := &book{partition: id}
	p.books = append(p.books, b)
	return b
}

// den is the number of a denominator.
func (p *pot) den(d wide) uint16 {
	for i, have := range p.dens {
		if have == d {
			return uint16(i)
		}
	}
	p.dens = append(p.dens, d)
	return uint16(len(p.dens) - 1)
}

func (p *pot) odd(d *big.Int) int {
	for i, have := range p.odds {
		if have.Cmp(d) == 0 {
			return i
		}
	}
	p.odds = append(p.odds, d)
	return len(p.odds) - 1
}

func (b *book) describe(rec *usage.PartitionRecord) {
	if rec.Model != "" {
		b.model = rec.Model
	}
	if rec.Profile != "" {
		b.profile = rec.Profile
	}
}

// platform is the line of a platform account.
func (b *book) platform(account, note string) *cell {
	return b.line(cellKey{kind: Platform, account: account, note: note}, workload.Holder{})
}

// countBytes adds memory that is nobody's workload's.
func (b *book) countBytes(account string, byteMS uint64) {
	if byteMS > 0 {
		b.platform(account, "").amounts.ByteMS.Add(byteMS)
	}
}

// host is the line of a holder outside Kubernetes.
func (b *book) host(h workload.Holder) *cell {
	return b.line(cellKey{kind: Platform, account: Host, unit: h.Unit}, h)
}

func (b *book) line(k cellKey, h workload.Holder) *cell {
	for _, c := range b.cells {
		if c.cellKey == k {
			return c
		}
	}
	c := &cell{cellKey: k, book: b, holder: h}
	b.append(c)
	return c
}

// pod is the line of a pod, whatever its container. Records name the same pods
// in the same order, window after window: the line after the last is tried
// first.
func (b *book) pod(h workload.Holder, leak bool) *cell {
	k := podKey{h.PodKey(), leak}
	h.Container = ""
	if b.next >= len(b.cells) {
		b.next = 0
	}
	if b.next < len(b.cells) && b.cells[b.next].podKey() == k {
		b.next++
		return b.cells[b.next-1].named(h)
	}
	c := b.known(k)
	if c == nil {
		c = &cell{cellKey: cellKey{kind: Direct, pod: k.pod}, book: b}
		if leak {
			c.kind = Leak
		}
		b.append(c)
	}
	b.next = c.at + 1
	return c.named(h)
}

// known is the line of a pod that has one.
func (b *book) known(k podKey) *cell {
	if b.pods != nil {
		return b.pods[k]
	}
	for _, c := range b.cells {
		if c.kind != Platform && c.podKey() == k {
			return c
		}
	}
	return nil
}

// append adds a line.
func (b *book) append(c *cell) {
	c.at = len(b.cells)
	b.cells = append(b.cells, c)
	switch {
	case b.pods != nil:
		b.remember(c)
	case len(b.cells) > fewCells:
		b.pods = make(map[podKey]*cell, 4*fewCells)
		for _, c := range b.cells {
			b.remember(c)
		}
	}
}

func (b *book) remember(c *cell) {
	if c.kind != Platform {
		b.pods[c.podKey()] = c
	}
}

func (c *cell) podKey() podKey { return podKey{c.pod, c.kind == Leak} }

// named keeps the fullest form of the holder's name. Of two names for one UID,
// which no cluster gives, the later by name stands, whatever came first.
func (c *cell) named(h workload.Holder) *cell {
	if c.holder != h && (c.holder.Kind == "" || c.holder.Compare(h) < 0) {
		c.holder = h
	}
	return c
}

// add adds a weight.
func (c *cell) add(den uint16, grade int, p part, n wide) {
	if n.isZero() {
		return
	}
	if p < charges {
		c.stands()
	}
	for i := range c.terms {
		if t := &c.terms[i]; t.den == den && t.part == p && t.grade == uint8(grade) {
			t.n = t.n.plus(n)
			return
		}
	}
	if c.terms == nil {
		c.terms = c.room[:0]
	}
	c.terms = append(c.terms, term{den, uint8(grade), p, n})
}

func (c *cell) addRest(odd int, n *big.Int) {
	for i := range c.fractions {
		if c.fractions[i].den == odd {
			c.fractions[i].n.Add(c.fractions[i].n, n)
			return
		}
	}
	c.fractions = append(c.fractions, fraction{odd, n})
}
