// SPDX-License-Identifier: Apache-2.0

package top

import (
	"maps"
	"slices"
	"strings"
)

// columns are the widths of a table of holders, which depend on the screen's.
// A width of 0 leaves a column out.
type columns struct {
	name, container, used, share, reserved, source, sm, notes int
}

const (
	wideScreen  = 100 // room for shares
	widerScreen = 120 // and for containers and the source of grants
	uuidScreen  = 150 // and for UUIDs beside the signals
)

func columnsFor(width int) columns {
	c := columns{used: 11, reserved: 10, sm: 8, notes: 12}
	if width >= wideScreen {
		c.share = 9
	}
	if width >= widerScreen {
		c.container, c.source, c.notes = 16, 9, 20
	}
	if width < 70 {
		c.reserved = 0
	}
	fixed := 4 + c.container + c.used + c.share + c.reserved + c.source + c.sm + 2 + c.notes
	c.name = max(width-fixed, 12)
	if c.name > 60 {
		c.notes += c.name - 60
		c.name = 60
	}
	return c
}

// texts are the fields of one row of the table.
type texts struct {
	name, container, used, share, reserved, source, sm string
}

// line lays fields out; the first four columns belong to the row's mark.
func (c columns) line(g Glyphs, t texts) string {
	var b strings.Builder
	field := func(n int, text string) {
		if n > 0 {
			b.WriteString(padLeft(g.cut(text, n-1), n))
		}
	}
	b.WriteString(padRight(g.cutMiddle(t.name, c.name), c.name))
	if c.container > 0 {
		b.WriteString(" " + padRight(g.cut(t.container, c.container-1), c.container-1))
	}
	field(c.used, t.used)
	field(c.share, t.share)
	field(c.reserved, t.reserved)
	field(c.source, t.source)
	field(c.sm, t.sm)
	return b.String()
}

func (v *View) rowHead(width int) Line {
	c := columnsFor(width)
	text := "    " + c.line(v.Glyphs, texts{
		name: "HOLDER", container: "CONTAINER", used: "USED MiB", share: "SHARE", reserved: "RESERVED", source: "GRANT", sm: "SM",
	}) + "  NOTES"
	return Line{styled("dim", padRight(text, width))}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
