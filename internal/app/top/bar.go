// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"
)

// Fill is what a part of a memory bar means.
type Fill int

// The fills, in the order of a bar. Busy is none of them: it is no memory.
const (
	FillUsed         Fill = iota // used by a holder
	FillEstimated                // used by a holder, by estimate
	FillReserved                 // kept by a grant and not used
	FillOverhead                 // the driver's reserve and GPU daemons
	FillUnattributed             // used, by nobody that can be named
	FillFree
	FillStranded // memory slices that no further MIG instance could cover
	FillUnknown  // not read
)

// Segment is one part of a bar.
type Segment struct {
	Fill  Fill
	Bytes uint64
	// Owner is whose colour it has; empty for platform parts.
	Owner string
	// Mark is the letter of the row it belongs to, 0 for none.
	Mark rune
	// Leak: the holder has no grant here.
	Leak bool
}

// Bar is one GPU's memory, its length the capacity.
type Bar struct {
	// Capacity is the sum of the segments of a bar without regions.
	Capacity uint64
	Segments []Segment
	// Regions cut a MIG device at its memory slices.
	Regions []Region
}

// Region is a run of memory slices of a MIG device.
type Region struct {
	Slices uint32
	Bar    Bar
}

// cell is one character of a bar.
type cell struct {
	r    rune
	role string
}

// cells divides n characters between the segments in proportion to their
// bytes. Whatever has bytes at all gets one, while there is room: a small leak
// must be seen.
func (b Bar) cells(n int) []int {
	out := make([]int, len(b.Segments))
	if b.Capacity == 0 {
		return out
	}
	left := n
	type rest struct {
		i    int
		part float64
	}
	var rests []rest
	for i, s := range b.Segments {
		exact := float64(n) * float64(s.Bytes) / float64(b.Capacity)
		out[i] = int(exact)
		if out[i] == 0 && s.Bytes > 0 {
			out[i] = 1
		} else {
			rests = append(rests, rest{i, exact - float64(out[i])})
		}
		left -= out[i]
	}
	slices.SortStableFunc(rests, func(a, b rest) int { return cmp.Compare(b.part, a.part) })
	for i := 0; left > 0 && i < len(rests); i++ {
		out[rests[i].i]++
		left--
	}
	for ; left < 0; left++ {
		i := largest(out)
		if out[i] == 1 {
			i = b.smallest(out) // more parts than characters
		}
		out[i]--
	}
	return out
}

// smallest is the segment with the fewest bytes that has a character; leaks
// come last.
func (b Bar) smallest(cells []int) int {
	at := -1
	for i, s := range b.Segments {
		if cells[i] == 0 {
			continue
		}
		if at < 0 || !s.Leak && b.Segments[at].Leak || s.Leak == b.Segments[at].Leak && s.Bytes < b.Segments[at].Bytes {
			at = i
		}
	}
	return at
}

func largest(n []int) int {
	at := 0
	for i := range n {
		if n[i] > n[at] {
			at = i
		}
	}
	return at
}

// draw is the bar as n characters between its edges.
func (b Bar) draw(g Glyphs, p *palette, n int) Line {
	inner := max(n-2, 1)
	var cells []cell
	if len(b.Regions) > 0 {
		cells = b.drawRegions(g, p, inner)
	} else {
		cells = b.drawSegments(g, p, inner)
	}
	line := Line{styled("dim", string(g.Open))}
	for _, c := range cells {
		if last := &line[len(line)-1]; last.Role == c.role && len(line) > 1 {
			last.Text += string(c.r)
			continue
		}
		line = append(line, Span{Text: string(c.r), Role: c.role})
	}
	return append(line, styled("dim", string(g.Close)))
}

func (b Bar) drawSegments(g Glyphs, p *palette, n int) []cell {
	var out []cell
	for i, k := range b.cells(n) {
		out = append(out, b.Segments[i].draw(g, p, k)...)
	}
	for len(out) < n {
		out = append(out, cell{g.Nothing, "dim"})
	}
	return out
}

// draw is a segment as k characters: the letter of its row first, so that
// neighbours can be told apart without colour, and a leak's edge before it.
func (s Segment) draw(g Glyphs, p *palette, k int) []cell {
	role := s.role(p)
	out := make([]cell, k)
	for i := range out {
		out[i] = cell{g.of(s.Fill), role}
	}
	at := 0
	if s.Leak && k > 0 {
		out[0] = cell{g.Leak, "alert"}
		at = 1
	}
	if s.Leak && k > 2 {
		out[k-1] = cell{g.Leak, "alert"}
	}
	if s.Mark != 0 && at < k {
		out[at] = cell{s.Mark, "mark-" + role}
	}
	return out
}

func (s Segment) role(p *palette) string {
	switch s.Fill {
	case FillUsed, FillEstimated, FillReserved:
		return p.role(s.Owner)
	case FillOverhead:
		return "overhead"
	}
	return "dim"
}

// drawRegions gives each region its slices' part of n characters, with a cut
// between neighbours.
func (b Bar) drawRegions(g Glyphs, p *palette, n int) []cell {
	total := uint32(0)
	for _, r := range b.Regions {
		total += r.Slices
	}
	room := max(n-len(b.Regions)+1, len(b.Regions))
	var out []cell
	done, used := uint32(0), 0
	for i, r := range b.Regions {
		if i > 0 {
			out = append(out, cell{g.Cut, ""})
		}
		done += r.Slices
		end := room * int(done) / int(max(total, 1))
		out = append(out, r.Bar.drawSegments(g, p, end-used)...)
		used = end
	}
	return out
}
