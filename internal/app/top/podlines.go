// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
)

// podColumns are the widths of the table of pods.
type podColumns struct{ name, places, used, reserved, sm, bar, notes int }

func podColumnsFor(width int) podColumns {
	c := podColumns{places: 9, used: 10, reserved: 9, sm: 7, bar: 12, notes: 10}
	if width >= widerScreen {
		c.places, c.bar, c.notes = 14, 24, 20
	} else if width < wideScreen {
		c.bar = 10
	}
	c.name = min(max(width-2-c.places-c.used-c.reserved-c.sm-c.bar-1-c.notes, 12), 50)
	return c
}

func (v *View) podHead(width int) Line {
	c := podColumnsFor(width)
	text := "  " + padRight("HOLDER", c.name) + padLeft("GPUS", c.places) + padLeft("USED MiB", c.used) +
		padLeft("RESERVED", c.reserved) + padLeft("SM", c.sm) + " " + padRight("OF GPUS", c.bar) + " NOTES"
	return Line{styled("dim", padRight(text, width))}
}

// podLines is the table of owners over all GPUs, and its sum beside the
// capacity it must be.
func (v *View) podLines(width int) []Line {
	blocks := v.blocks()
	c := podColumnsFor(width)
	var out []Line
	for _, h := range v.holdings(blocks) {
		out = append(out, v.podLine(h, c, width))
	}
	if len(out) == 0 {
		return v.empty(width)
	}
	out = append(out, v.podTotal(blocks, c, width))
	if n := unreadParts(blocks); n > 0 {
		out = append(out, Line{styled("warning", "  not in the total: "+count(n, "GPU")+" whose memory is unknown")})
	}
	return append(out, Line{})
}

// podTotal is the sum of the rows beside what it must be.
func (v *View) podTotal(blocks []Block, c podColumns, width int) Line {
	sum, capacity, beside := sums(blocks)
	verdict := styled("good", v.Glyphs.OK+" = capacity")
	if sum != capacity {
		verdict = styled("alert", fmt.Sprintf("%d bytes off the capacity", int64(sum)-int64(capacity)))
	}
	text := "  " + padRight("total", c.name+c.places) + padLeft(thousands(sum), c.used) + "  "
	line := Line{plain(text), verdict}
	if beside > 0 {
		line = append(line, styled("warning", fmt.Sprintf(", and %s MiB on other GPUs", thousands(beside))))
	}
	return v.Glyphs.clip(line, width)
}

func (v *View) podLine(h Holding, c podColumns, width int) Line {
	sm := ""
	if h.Kind == KindHolder || h.SM != nil {
		sm = v.Glyphs.percent(h.SM, h.SMGrade)
	}
	role := v.palette.role(h.Owner)
	if h.Owner == "" {
		role = "dim"
	}
	places := strings.Join(h.Places, ",")
	if len(h.Places) > 1 && (h.Kind >= KindReserve || len(places) >= c.places) {
		places = count(len(h.Places), "part")
	}
	line := Line{
		plain("  "), styled(role, padRight(v.Glyphs.cutMiddle(h.Name, c.name-1), c.name)),
		plain(padLeft(v.Glyphs.cut(places, c.places-1), c.places) + padLeft(v.Glyphs.mib(h.Bytes, h.Grade), c.used) +
			padLeft(v.reserved(h.Row), c.reserved) + padLeft(sm, c.sm) + " "),
	}
	line = append(line, h.bar().draw(v.Glyphs, &v.palette, c.bar)...)
	if len(h.Notes) > 0 {
		noteRole := "warning"
		if h.Leak {
			noteRole = "alert"
		}
		line = append(line, plain(" "), styled(noteRole, strings.Join(h.Notes, ", ")))
	}
	return v.Glyphs.clip(line, width)
}
