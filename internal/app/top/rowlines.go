// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// partRows are the rows of a partition and the sum that must be its capacity.
func (v *View) partRows(p Part, width int) []Line {
	c := columnsFor(width)
	var out []Line
	for _, r := range p.Rows {
		out = append(out, v.row(r, p, c, width))
	}
	return append(out, v.total(p, c, width))
}

func (v *View) row(r Row, p Part, c columns, width int) Line {
	name := r.Name
	if c.container == 0 && r.Kind == KindHolder && r.Container != "" && several(r, p) {
		name += ":" + r.Container
	}
	t := texts{
		name: name, container: r.Container, used: v.Glyphs.mib(r.Bytes, r.Grade), share: share(r.Bytes, p.Capacity),
		reserved: v.reserved(r), source: r.Source,
	}
	if r.SM != nil || r.Kind == KindHolder {
		t.sm = v.Glyphs.percent(r.SM, r.SMGrade)
	}
	role := ""
	if r.Kind >= KindDaemon || r.Kind == KindOthers {
		role = "dim"
	}
	line := append(v.edge(r), styled(role, c.line(v.Glyphs, t)))
	return v.Glyphs.clip(append(line, v.notes(r, p)...), width)
}

// edge is the four columns before a name: the row's letter as its bar has it,
// or how its account is drawn.
func (v *View) edge(r Row) Line {
	leak := plain(" ")
	if r.Leak {
		leak = styled("alert", string(v.Glyphs.Leak))
	}
	switch {
	case r.Mark != 0:
		s := Segment{Fill: r.fill(), Owner: r.Owner}
		return Line{plain(" "), leak, styled("mark-"+s.role(&v.palette), string(r.Mark)), plain(" ")}
	case r.Kind == KindReserve || r.Kind == KindUnattributed:
		s := Segment{Fill: r.fill()}
		return Line{plain("  "), styled(s.role(&v.palette), string(v.Glyphs.of(r.fill()))), plain(" ")}
	}
	return Line{plain("    ")}
}

// several reports whether a pod has more than one row here.
func several(r Row, p Part) bool {
	n := 0
	for _, o := range p.Rows {
		if o.Owner == r.Owner {
			n++
		}
	}
	return n > 1
}

// reserved is what a grant keeps from everyone else.
func (v *View) reserved(r Row) string {
	switch {
	case !r.Granted:
		return ""
	case r.Together:
		return "together"
	case r.Reserved == nil:
		return v.Glyphs.Unknown
	case *r.Reserved == 0:
		return "none"
	}
	return thousands(*r.Reserved)
}

func (v *View) notes(r Row, p Part) Line {
	text := strings.Join(r.Notes, ", ")
	role := "warning"
	switch {
	case r.Leak:
		role = "alert"
	case r.Bytes == nil && text == "" && p.State == gpu.StateOK && r.Kind < KindReserve:
		text, role = "size unknown", "dim"
	case r.estimated() && text == "":
		text, role = string(r.Grade), "dim"
	}
	if text == "" {
		return nil
	}
	return Line{plain("  "), styled(role, text)}
}

// total is the sum of the rows beside what it must be.
func (v *View) total(p Part, c columns, width int) Line {
	sum := p.Sum
	t := texts{name: "total", used: v.Glyphs.mib(&sum, p.Grade)}
	verdict := styled("good", v.Glyphs.OK+" = capacity")
	switch {
	case p.Capacity == nil:
		t.used = v.Glyphs.Unknown
		verdict = styled("warning", "capacity unknown")
		if p.EstimatedCapacity != nil {
			verdict = styled("warning", "host memory "+thousands(*p.EstimatedCapacity)+"~")
		}
	case !p.Balanced:
		verdict = styled("alert", fmt.Sprintf("%d bytes off the capacity", int64(sum)-int64(*p.Capacity)))
	}
	text := c.line(v.Glyphs, t)
	if c.reserved > 0 {
		// The verdict takes the place of the columns that a sum does not have.
		text = strings.TrimRight(text, " ")
	}
	return v.Glyphs.clip(Line{plain("    "), plain(text), plain("  "), verdict}, width)
}
