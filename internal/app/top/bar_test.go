// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCellsFillTheBar: however the bytes are divided, a bar has its length,
// and whatever has bytes is seen.
func TestCellsFillTheBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Bar
		for range rapid.IntRange(1, 20).Draw(t, "segments") {
			n := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(1, 1<<40)).Draw(t, "bytes")
			b.Segments = append(b.Segments, Segment{Bytes: n})
			b.Capacity += n
		}
		width := rapid.IntRange(20, 300).Draw(t, "width")
		sum := 0
		for i, k := range b.cells(width) {
			sum += k
			if b.Segments[i].Bytes > 0 != (k > 0) {
				t.Fatalf("segment %d has %d bytes and %d cells", i, b.Segments[i].Bytes, k)
			}
		}
		if b.Capacity > 0 && sum != width {
			t.Fatalf("%d cells, want %d", sum, width)
		}
	})
}

// TestMorePartsThanCells: the smallest parts go, and no leak while another is
// there.
func TestMorePartsThanCells(t *testing.T) {
	b := Bar{}
	for i := range uint64(30) {
		b.Segments = append(b.Segments, Segment{Bytes: 100 - i, Leak: i == 29})
		b.Capacity += 100 - i
	}
	for i, k := range b.cells(10) {
		if want := i < 9 || i == 29; (k == 1) != want {
			t.Errorf("segment %d has %d cells", i, k)
		}
	}
}

func TestDraw(t *testing.T) {
	mine := func(mark rune, bytes uint64) Segment { return Segment{Bytes: bytes, Owner: "x", Mark: mark} }
	free := func(bytes uint64) Segment { return Segment{Fill: FillFree, Bytes: bytes} }
	whole := func(s ...Segment) Bar {
		b := Bar{Segments: s}
		for _, one := range s {
			b.Capacity += one.Bytes
		}
		return b
	}
	for _, c := range []struct {
		name string
		bar  Bar
		want string
	}{
		{"holders are told apart without colour", whole(mine('a', 4), mine('b', 3), free(3)), "[a###b##   ]"},
		{"a leak has edges", whole(Segment{Bytes: 5, Mark: 'a', Leak: true}, free(5)), "[!a##!     ]"},
		{"a tiny leak is seen", whole(Segment{Bytes: 1, Mark: 'a', Leak: true}, free(999)), "[!         ]"},
		{"every fill has its shape", whole(
			mine('a', 2), Segment{Fill: FillReserved, Bytes: 2}, Segment{Fill: FillEstimated, Bytes: 1},
			Segment{Fill: FillOverhead, Bytes: 1}, Segment{Fill: FillUnattributed, Bytes: 2}, free(2),
		), "[a#//~%::  ]"},
		{"MIG is cut at its slices", Bar{Regions: []Region{
			{Slices: 2, Bar: whole(mine('a', 1), free(1))}, {Slices: 1, Bar: whole(free(1))},
			{Slices: 1, Bar: whole(Segment{Fill: FillStranded, Bytes: 1})},
		}}, "[a#  |  |xx]"},
		{"what was not read is not empty", Bar{}, "[??????????]"},
	} {
		var p palette
		if got := c.bar.draw(ASCII, &p, len(c.want)).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	got := ASCII.spread(Line{plain("a long text on the left")}, Line{plain("right")}, 20).String()
	if want := "a long text o~ right"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCutKeepsTheWidth: cut texts fit, whatever they are made of.
func TestCutKeepsTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := clean(rapid.String().Draw(t, "text"))
		n := rapid.IntRange(1, 30).Draw(t, "columns")
		for _, cut := range []string{Unicode.cut(text, n), Unicode.cutMiddle(text, n)} {
			if width(cut) > n {
				t.Fatalf("%q cut to %d columns is %q with %d", text, n, cut, width(cut))
			}
			if width(text) <= n && cut != text {
				t.Fatalf("%q fits %d columns and became %q", text, n, cut)
			}
		}
	})
}

func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z]{1,12} ){0,20}`).Draw(t, "text")
		lines := wrap(text, 20)
		if got, want := strings.Fields(strings.Join(lines, " ")), strings.Fields(text); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%q became %q", text, lines)
		}
		for _, l := range lines {
			if width(l) > 20 {
				t.Fatalf("line %q is too long", l)
			}
		}
	})
}
