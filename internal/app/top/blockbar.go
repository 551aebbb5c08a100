// SPDX-License-Identifier: Apache-2.0

package top

import (
	"github.com/gputally/gputally/internal/core/gpu"
)

// bar is the memory bar of a GPU.
func (b Block) bar() Bar {
	if !b.Device.MIGParent {
		if len(b.Parts) == 1 {
			return b.Parts[0].bar()
		}
		return Bar{}
	}
	return b.migBar()
}

// bar is the memory of one partition. Where its capacity is not known, what
// stands in for it (the host's memory) gives the length, else it has none.
func (p Part) bar() Bar {
	bar := Bar{}
	add := func(s Segment) {
		if s.Bytes > 0 {
			bar.Segments = append(bar.Segments, s)
			bar.Capacity += s.Bytes
		}
	}
	free := uint64(0)
	for _, r := range p.Rows {
		if r.Bytes == nil {
			continue
		}
		if r.Kind == KindFree {
			free = *r.Bytes
			continue
		}
		add(Segment{Fill: r.fill(), Bytes: *r.Bytes, Owner: r.Owner, Mark: r.Mark, Leak: r.Leak})
		kept := Segment{Fill: FillReserved, Bytes: r.keep, Owner: r.Owner}
		if *r.Bytes == 0 {
			kept.Mark = r.Mark // the only part of the row that is to be seen
		}
		add(kept)
	}
	add(Segment{Fill: FillFree, Bytes: free - min(free, p.kept())})
	if p.Capacity == nil {
		p.stretch(&bar)
	}
	return bar
}

func (p Part) kept() uint64 {
	var sum uint64
	for _, r := range p.Rows {
		sum += r.keep
	}
	return sum
}

// stretch fills a bar without a capacity up to the estimated one.
func (p Part) stretch(bar *Bar) {
	if p.EstimatedCapacity == nil {
		*bar = Bar{}
		return
	}
	if rest := *p.EstimatedCapacity; rest > bar.Capacity {
		bar.Segments = append(bar.Segments, Segment{Fill: FillUnknown, Bytes: rest - bar.Capacity})
		bar.Capacity = rest
	}
}

func (r Row) fill() Fill {
	switch {
	case r.Kind == KindReserve || r.Kind == KindDaemon:
		return FillOverhead
	case r.Kind == KindUnattributed:
		return FillUnattributed
	case r.Kind == KindFree:
		return FillFree
	case r.estimated():
		return FillEstimated
	}
	return FillUsed
}

// migBar cuts a device at its memory slices: instances where they lie, and
// each slice between them by itself.
func (b Block) migBar() Bar {
	taken := make([]gpu.Placement, 0, len(b.Parts))
	for _, p := range b.Parts {
		taken = append(taken, p.Placement)
	}
	lost := lostSlices(b.Device.DeviceSlices, b.Device.StrandedSlices, taken)
	bar := Bar{}
	for _, p := range taken {
		if p.Size == 0 || b.Device.DeviceSlices == 0 {
			return b.unplacedBar()
		}
	}
	for s := uint32(0); s < b.Device.DeviceSlices; {
		if p := b.at(s); p != nil {
			bar.Regions = append(bar.Regions, Region{Slices: p.Placement.Size, Bar: p.bar()})
			s += p.Placement.Size
			continue
		}
		fill := FillFree
		if lost[s] {
			fill = FillStranded
		}
		bar.Regions = append(bar.Regions, Region{Slices: 1, Bar: Bar{Capacity: 1, Segments: []Segment{{Fill: fill, Bytes: 1}}}})
		s++
	}
	return bar
}

// unplacedBar is the bar of instances whose slices are not known: one beside
// the other, and after them what cannot be told.
func (b Block) unplacedBar() Bar {
	bar := Bar{}
	for _, p := range b.Parts {
		bar.Regions = append(bar.Regions, Region{Slices: 1, Bar: p.bar()})
	}
	unknown := Bar{Capacity: 1, Segments: []Segment{{Fill: FillUnknown, Bytes: 1}}}
	return Bar{Regions: append(bar.Regions, Region{Slices: 1, Bar: unknown})}
}

// at is the instance that begins at a slice.
func (b Block) at(slice uint32) *Part {
	for i, p := range b.Parts {
		if p.Placement.Start == slice && p.Placement.Size > 0 {
			return &b.Parts[i]
		}
	}
	return nil
}

// lostSlices are the stranded ones. The result says how many there are;
// where the tables of placements do not lead to that number, the last free
// ones are drawn, so that the number is right.
func lostSlices(total, stranded uint32, taken []gpu.Placement) map[uint32]bool {
	out := map[uint32]bool{}
	var free []uint32
	for s := range total {
		if covered(s, taken) {
			continue
		}
		free = append(free, s)
		if !reachable(s, total, taken) {
			out[s] = true
		}
	}
	if uint32(len(out)) == stranded {
		return out
	}
	out = map[uint32]bool{}
	for i := len(free) - 1; i >= 0 && uint32(len(out)) < stranded; i-- {
		out[free[i]] = true
	}
	return out
}

func reachable(slice, total uint32, taken []gpu.Placement) bool {
	for _, profile := range gpu.LegalPlacements(total) {
		for _, p := range profile.Placements {
			if covered(slice, []gpu.Placement{p}) && !overlaps(p, taken) {
				return true
			}
		}
	}
	return false
}

func covered(slice uint32, taken []gpu.Placement) bool {
	for _, p := range taken {
		if slice >= p.Start && slice < p.Start+p.Size {
			return true
		}
	}
	return false
}

func overlaps(p gpu.Placement, taken []gpu.Placement) bool {
	for s := p.Start; s < p.Start+p.Size; s++ {
		if covered(s, taken) {
			return true
		}
	}
	return false
}
