// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"
)

// Order is what GPUs and holders are sorted by.
type Order int

// The orders, as the s key walks through them. What is not known comes last.
const (
	ByGPU    Order = iota // GPUs by node and index, holders by memory
	ByMemory              // most memory used first
	ByPod                 // holders by name, GPUs by their first one
	BySM                  // busiest first
)

// orders is how many there are.
const orders = 4

// String is the order's name, as flags and the status line have it.
func (o Order) String() string { return [orders]string{"gpu", "memory", "pod", "sm"}[o] }

// ParseOrder reads the name of an order.
func ParseOrder(name string) (Order, bool) {
	for o := range Order(orders) {
		if o.String() == name {
			return o, true
		}
	}
	return 0, false
}

func (o Order) rows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Kind != b.Kind {
			return cmp.Compare(a.Kind, b.Kind)
		}
		if a.Kind == KindUnattributed {
			// Processes that are listed stand before the account's own row.
			return cmp.Compare(len(b.PIDs), len(a.PIDs))
		}
		return cmp.Or(o.compare(a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Container, b.Container))
	})
}

func (o Order) compare(a, b Row) int {
	switch o {
	case ByPod:
		return 0
	case BySM:
		return cmp.Or(descending(a.SM, b.SM), descending(a.Bytes, b.Bytes))
	}
	return descending(a.Bytes, b.Bytes)
}

// descending compares what may be unknown: unknown is last.
func descending[T cmp.Ordered](a, b *T) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}

func (o Order) blocks(blocks []Block) {
	slices.SortStableFunc(blocks, func(a, b Block) int {
		place := cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device.Index, b.Device.Index), cmp.Compare(a.Device.ID.Device, b.Device.ID.Device))
		switch o {
		case ByMemory:
			return cmp.Or(descending(a.Used, b.Used), place)
		case BySM:
			return cmp.Or(descending(a.busiest(), b.busiest()), place)
		case ByPod:
			return cmp.Or(cmp.Compare(a.firstHolder(), b.firstHolder()), place)
		}
		return place
	})
}

// busiest is a GPU's work for sorting: SM activity where it is measured, else
// the busy signal, of the busiest part.
func (b Block) busiest() *float64 {
	var out *float64
	parts := []Part{{Partition: b.Device}}
	for _, p := range append(parts, b.Parts...) {
		v := p.Signals.SMActive
		if v == nil {
			v = p.Signals.Busy
		}
		if descending(v, out) < 0 {
			out = v
		}
	}
	return out
}

// firstHolder is the first name among the holders; GPUs without any are last.
func (b Block) firstHolder() string {
	first := "\xff"
	for _, p := range b.Parts {
		for _, r := range p.Rows {
			if r.Kind == KindHolder {
				first = min(first, r.Name)
			}
		}
	}
	return first
}

// mark letters the rows of a GPU, so that its bar can name them.
func (b *Block) mark() {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	n := 0
	for i := range b.Parts {
		for j := range b.Parts[i].Rows {
			r := &b.Parts[i].Rows[j]
			if r.Kind > KindDaemon && len(r.PIDs) == 0 || r.Kind == KindOthers || n == len(letters) {
				continue
			}
			r.Mark = rune(letters[n])
			n++
		}
	}
}
