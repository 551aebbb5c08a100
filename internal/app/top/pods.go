// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gputally/gputally/internal/core/gpu"
)

// Holding is one owner or platform account over all GPUs that are shown.
type Holding struct {
	Row
	Places []string
	// Capacity is that of the partitions it is on.
	Capacity uint64

	smUnknown bool
}

// holdings are the blocks' rows by owner, platform accounts at the end.
func (v *View) holdings(blocks []Block) []Holding {
	byKey := map[string]*Holding{}
	var keys []string
	for _, b := range blocks {
		for _, p := range b.Parts {
			seen := map[string]bool{}
			for _, r := range p.Rows {
				if r.Bytes == nil && r.Kind >= KindReserve {
					continue // the line below the total says so
				}
				key := fmt.Sprint(int(r.Kind), r.Owner, r.Name)
				h := byKey[key]
				if h == nil {
					h = &Holding{Row: Row{Kind: r.Kind, Owner: r.Owner, Name: r.Name, Grade: r.Grade}}
					byKey[key] = h
					keys = append(keys, key)
				}
				h.merge(r)
				if !seen[key] {
					seen[key] = true
					h.Capacity += deref(p.Capacity)
					h.Places = append(h.Places, v.place(b, p))
				}
			}
		}
	}
	out := make([]Holding, 0, len(keys))
	for _, k := range keys {
		out = append(out, *byKey[k])
	}
	return v.sortHoldings(out)
}

func (h *Holding) merge(r Row) {
	h.take(r)
	h.Leak = h.Leak || r.Leak
	if r.Granted {
		h.Granted, h.Together = true, h.Together || r.Together
		if r.Reserved != nil {
			sum := deref(h.Reserved) + *r.Reserved
			h.Reserved = &sum
		}
	}
	h.mergeSM(r)
	for _, n := range r.Notes {
		if !slices.Contains(h.Notes, n) {
			h.Notes = append(h.Notes, n)
		}
	}
}

// mergeSM adds a row's SM share: a sum of which a part is unknown is unknown.
func (h *Holding) mergeSM(r Row) {
	switch {
	case r.SM == nil:
		h.SM, h.smUnknown = nil, true
	case !h.smUnknown:
		sum := *r.SM
		if h.SM != nil {
			sum += *h.SM
		}
		h.SM, h.SMGrade = &sum, worse(h.SMGrade, r.SMGrade)
	}
}

// place names a partition in a few characters: "0", "2/gi1", "node-b:0".
func (v *View) place(b Block, p Part) string {
	text := strconv.Itoa(b.Device.Index)
	if p.ID.IsInstance() {
		text += fmt.Sprintf("/gi%d", p.ID.Instance)
	}
	if v.nodes() > 1 {
		text = b.Node + ":" + text
	}
	return text
}

func (v *View) sortHoldings(list []Holding) []Holding {
	slices.SortStableFunc(list, func(a, b Holding) int {
		if a.Kind != b.Kind {
			return cmp.Compare(a.Kind, b.Kind)
		}
		if v.Order == ByGPU {
			return cmp.Or(slices.Compare(a.Places, b.Places), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(v.Order.compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// bar is what an owner uses and keeps of the partitions it is on.
func (h Holding) bar() Bar {
	bar := Bar{Capacity: h.Capacity}
	used := min(deref(h.Bytes), h.Capacity)
	keep := min(h.keep, h.Capacity-used)
	for _, s := range []Segment{
		{Fill: h.fill(), Bytes: used, Owner: h.Owner, Leak: h.Leak},
		{Fill: FillReserved, Bytes: keep, Owner: h.Owner},
		{Fill: FillFree, Bytes: h.Capacity - used - keep},
	} {
		if s.Bytes > 0 {
			bar.Segments = append(bar.Segments, s)
		}
	}
	return bar
}

// sums adds up the rows of the parts whose capacity is known, those
// capacities, and what is held on the other parts.
func sums(blocks []Block) (sum, capacity, beside uint64) {
	for _, b := range blocks {
		for _, p := range b.Parts {
			if p.Capacity == nil {
				beside += p.Sum
				continue
			}
			sum += p.Sum
			capacity += *p.Capacity
		}
	}
	return sum, capacity, beside
}

// unreadParts counts the partitions that no total can have.
func unreadParts(blocks []Block) (n int) {
	for _, b := range blocks {
		if b.Device.State != gpu.StateOK || b.Capacity == nil && !b.Device.MIGParent {
			n++
		}
	}
	return n
}
