// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// quote is the price of a node at a moment, or the reason why there is none.
type quote struct {
	book    *Book
	node    *Node  // with what the row knows of it filled in
	rows    []*Row // that priced it, each once
	hourly  money.Nano
	stated  *weights // the parts, where the price states them
	charges []*Row   // instead of hourly: what a bill says
	reason  string   // why there is no price
	notes   []string
}

func (q *quote) priced() bool { return q.book != nil }

// same says whether two quotes come from the same rows, so that the time
// between them need not be cut.
func (q *quote) same(o *quote) bool {
	return q.book == o.book && slices.Equal(q.rows, o.rows) && slices.Equal(q.charges, o.charges) && q.reason == o.reason
}

// candidates are the rows of all books that choose a node in an hour.
type candidates struct {
	node  *Node
	of    []*Book
	rows  [][classes][]*Row // by book
	books []*indexed        // those that are no bills
}

// candidates are those of the hour of a moment, with or without bills.
func (p *Prices) candidates(n *Node, ms int64, bills bool) *candidates {
	c := &candidates{node: n, books: p.books}
	if p.bills != nil && bills {
		if book, rows := p.bills.of(n, ms-ms%hourMS); book != nil {
			c.of, c.rows = append(c.of, book), append(c.rows, [classes][]*Row{byName: rows})
		}
	}
	for _, b := range p.books {
		c.of, c.rows = append(c.of, b.Book), append(c.rows, b.rows(n))
	}
	return c
}

// changes are the moments in (from, to) at which a candidate begins or ends.
func (c *candidates) changes(from, to int64) (out []int64) {
	for _, book := range c.rows {
		for _, rows := range book {
			for _, r := range rows {
				for _, at := range []int64{r.From, r.To} {
					if at > from && at < to {
						out = append(out, at)
					}
				}
			}
		}
	}
	return out
}

// at is the price of the node at a moment.
func (c *candidates) at(ms int64) *quote {
	var reasons []string
	for i, b := range c.of {
		q := c.ask(b, c.rows[i], ms)
		if q.priced() {
			// Why a stronger book does not price it belongs on the bill.
			q.notes = append(reasons, q.notes...)
			return q
		}
		if q.reason != "" {
			reasons = append(reasons, b.Name+": "+q.reason)
		}
	}
	return &quote{reason: c.whyNot(ms, reasons)}
}

// ask looks for a price in one book: charges first, then the classes of rows in
// order. The first row of a class that is in effect counts.
func (c *candidates) ask(b *Book, rows [classes][]*Row, ms int64) *quote {
	if q := c.charged(b, rows[byName], ms); q != nil {
		return q
	}
	if Virtual(c.node.Labels) {
		return &quote{reason: "the node is virtual: its pods are billed, not it"}
	}
	d := newDraft(b, c.node)
	for _, class := range rows {
		for _, r := range class {
			if r.Price.Charge != nil || !r.active(ms) || !r.sells(c.node.Capacity) {
				continue
			}
			if d.take(r, ms) {
				return d.finish()
			}
		}
	}
	return &quote{reason: d.missing()}
}

func (c *candidates) charged(b *Book, rows []*Row, ms int64) *quote {
	var charges []*Row
	for _, r := range rows {
		if r.Price.Charge != nil && r.active(ms) {
			charges = append(charges, r)
		}
	}
	if len(charges) == 0 {
		return nil
	}
	for _, r := range charges[1:] {
		if r.Currency != charges[0].Currency {
			return &quote{reason: fmt.Sprintf("charges in %s (row %s) and %s (row %s) cannot be added", charges[0].Currency, charges[0].ID, r.Currency, r.ID)}
		}
	}
	q := &quote{book: b, node: c.node, rows: charges, charges: charges}
	for _, r := range charges {
		q.notes = append(q.notes, r.Notes...)
	}
	return q
}

// draft is a price of a node in the making.
type draft struct {
	quote
	slots    []*money.Nano // price of each slot, nil: none yet
	unpriced int           // slots without a price
	whole    bool          // one row prices the node as a whole
	host     *Row          // the row that prices CPU and memory
	conflict string
}

func newDraft(b *Book, n *Node) *draft {
	return &draft{quote: quote{book: b, node: n}, slots: make([]*money.Nano, len(n.Slots)), unpriced: len(n.Slots)}
}

// take lets a row price what it can, and says whether the node is priced now.
func (d *draft) take(r *Row, ms int64) (done bool) {
	if _, whole, _ := r.Price.node(0); whole {
		return d.takeWhole(r, ms)
	}
	if r.Model == "" && !d.touched() && (r.Price.GPU != nil || len(d.node.Slots) == 0) {
		d.complete(r)
	}
	used := d.takeGPUs(r)
	if used || len(d.node.Slots) == 0 && (r.Price.VCPU != nil || r.Price.GiB != nil) {
		d.use(r, ms)
		d.takeHost(r)
	}
	return d.unpriced == 0 && d.touched() && d.conflict == ""
}

// takeWhole lets a row price the node, unless a stronger row prices some of its
// GPUs: a price of the node cannot be added to that.
func (d *draft) takeWhole(r *Row, ms int64) (done bool) {
	if d.touched() {
		return false
	}
	d.complete(r)
	hourly, _, err := r.Price.node(len(d.node.Slots))
	if err != nil {
		d.conflict = fmt.Sprintf("row %s: %v", r.ID, err)
		return false
	}
	d.use(r, ms)
	d.hourly, d.unpriced, d.whole = hourly, 0, true
	return true
}

// complete fills in what the row states of the node's shape and nobody else
// does. GPUs that are paid for and not seen get slots of their own, so that
// what they cost is nobody else's.
func (d *draft) complete(r *Row) {
	n := *d.node
	if n.CPUMilli == 0 {
		n.CPUMilli = r.Shape.CPUMilli
	}
	if n.MemoryBytes == 0 {
		n.MemoryBytes = r.Shape.MemoryBytes
	}
	seen := len(n.Slots)
	if seen < r.Shape.GPUs {
		n.Slots = withMissing(n.Slots, r.Shape)
		d.slots = make([]*money.Nano, len(n.Slots))
		d.unpriced = len(n.Slots)
	}
	if seen > 0 && r.Shape.GPUs > 0 && seen != r.Shape.GPUs {
		d.notes = append(d.notes, fmt.Sprintf("the price is for %d GPUs, and %d are known on the node (row %s)", r.Shape.GPUs, seen, r.ID))
	}
	d.node = &n
}

// withMissing adds slots "gpuN" until the shape's number is reached.
func withMissing(slots []Slot, shape Shape) []Slot {
	out := slices.Clone(slots)
	for i := 0; len(out) < shape.GPUs; i++ {
		name := fmt.Sprintf("gpu%d", i)
		if !slices.ContainsFunc(out, func(s Slot) bool { return s.Name == name }) {
			out = append(out, Slot{Name: name, Model: shape.Model})
		}
	}
	slices.SortFunc(out, func(a, b Slot) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (d *draft) touched() bool { return len(d.rows) > 0 }

func (d *draft) use(r *Row, ms int64) {
	d.rows = append(d.rows, r)
	d.notes = append(d.notes, r.Notes...)
	if r.FirstSeen != 0 && ms < r.FirstSeen {
		d.notes = append(d.notes, fmt.Sprintf("the price was first seen on %s; it is taken for the time before, too (row %s)", day(r.FirstSeen), r.ID))
	}
}

// takeGPUs prices the slots that the row is for and that have no price yet.
func (d *draft) takeGPUs(r *Row) (used bool) {
	if r.Price.GPU == nil {
		return false
	}
	for i, s := range d.node.Slots {
		if d.slots[i] == nil && (r.Model == "" || MatchModel(r.Model, s.Model)) {
			d.slots[i] = r.Price.GPU
			d.unpriced--
			used = true
		}
	}
	return used
}

// takeHost keeps the row's price of CPU and memory, which must not differ
// between the rows of one node.
func (d *draft) takeHost(r *Row) {
	switch {
	case d.host == nil:
		d.host = r
	case !equal(d.host.Price.VCPU, r.Price.VCPU) || !equal(d.host.Price.GiB, r.Price.GiB) || d.host.Price.HostIncluded != r.Price.HostIncluded:
		d.conflict = fmt.Sprintf("rows %s and %s price its GPUs and say different things of its CPU and memory", d.host.ID, r.ID)
	case d.host.Currency != r.Currency:
		d.conflict = fmt.Sprintf("rows %s and %s price its GPUs in %s and %s, which cannot be added", d.host.ID, r.ID, d.host.Currency, r.Currency)
	}
}

func equal(a, b *money.Nano) bool { return a == b || a != nil && b != nil && *a == *b }

// finish is the quote of a node that is priced.
func (d *draft) finish() *quote {
	if d.whole {
		return d.finishWhole()
	}
	cpus, gib := quantities(d.node)
	w := &weights{slots: make([]*big.Rat, len(d.slots)), cpu: none, memory: none}
	for i, s := range d.slots {
		w.slots[i] = nanos(*s)
	}
	if p := d.host.Price; p.VCPU != nil || p.GiB != nil {
		w.cpu, w.memory = times(cpus, p.VCPU), times(gib, p.GiB)
	} else if !p.HostIncluded {
		d.notes = append(d.notes, "CPU and memory of the node have no price: only its GPUs are paid for")
	}
	hourly, err := Rate(w.sum())
	if err != nil {
		return &quote{reason: err.Error()}
	}
	d.hourly, d.stated = hourly, w
	return &d.quote
}

// finishWhole is the quote of a node with one price, whose GPUs' part may be
// stated. How the host's part divides is left to the policy.
func (d *draft) finishWhole() *quote {
	r := d.rows[0]
	if r.Price.GPU == nil || len(d.node.Slots) == 0 {
		return &d.quote
	}
	gpus := new(big.Rat).Mul(nanos(*r.Price.GPU), big.NewRat(int64(len(d.node.Slots)), 1))
	if gpus.Cmp(nanos(d.hourly)) > 0 {
		d.notes = append(d.notes, fmt.Sprintf("the row states more for %d GPUs than for the node: the statement is left aside", len(d.node.Slots)))
		return &d.quote
	}
	d.stated = &weights{slots: equally(d.node, nanos(*r.Price.GPU))}
	return &d.quote
}

func times(quantity *big.Rat, price *money.Nano) *big.Rat {
	if price == nil {
		return none
	}
	return new(big.Rat).Mul(quantity, nanos(*price))
}

// missing says what the book lacks for the node, "" where it has nothing for it
// at all.
func (d *draft) missing() string {
	switch {
	case d.conflict != "":
		return d.conflict
	case !d.touched():
		return ""
	}
	var models []string
	for i, s := range d.node.Slots {
		if d.slots[i] == nil && !slices.Contains(models, s.Model) {
			models = append(models, s.Model)
		}
	}
	return fmt.Sprintf("it prices some GPUs of the node, but has no row for model %q", strings.Join(models, `", "`))
}
