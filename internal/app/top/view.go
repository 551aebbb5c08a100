// SPDX-License-Identifier: Apache-2.0

package top

import (
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// View is what is on the screen: the last readings and how the reader wants to
// see them. It is not safe for concurrent use.
type View struct {
	Glyphs Glyphs
	// Order and Pods choose the table: GPUs with their holders, or pods over
	// all GPUs.
	Order Order
	Pods  bool
	// FindingsOnly shows findings with their evidence and nothing else.
	FindingsOnly bool
	// Compact leaves the rows under the bars out.
	Compact bool
	// Filter keeps what has this text in it.
	Filter string
	// Now is the clock by which the age of a reading is told.
	Now func() time.Time

	// Caption says what is shown, where that is no agent's live answer.
	Caption string

	readings []Reading
	// all are the GPUs of the readings, unsorted and unfiltered.
	all     []Block
	palette palette
	help    bool
	typing  bool
	// scroll is the first line of the body that is shown; page is how many
	// lines the last frame had room for, length how many there were.
	scroll, page, length int
}

// Show takes the next readings.
func (v *View) Show(readings []Reading) {
	v.readings, v.all = readings, nil
	for _, r := range readings {
		if r.Result != nil {
			v.all = append(v.all, blocks(r.Result)...)
		}
	}
	held := map[string]uint64{}
	for _, b := range v.all {
		for _, p := range b.Parts {
			for _, row := range p.Rows {
				if row.Owner != "" {
					held[row.Owner] += deref(row.Bytes)
				}
			}
		}
	}
	v.palette.assign(held)
}

// HasNodes reports whether any node was read yet.
func (v *View) HasNodes() bool { return v.nodes() > 0 }

func deref(p *uint64) uint64 {
	if p == nil {
		return 0
	}
	return *p
}

// blocks are the GPUs to be shown, in order.
func (v *View) blocks() []Block {
	out := make([]Block, len(v.all))
	for i, b := range v.all {
		out[i] = b.clone()
	}
	out = filter(out, v.Filter)
	for i := range out {
		for j := range out[i].Parts {
			v.Order.rows(out[i].Parts[j].Rows)
		}
		out[i].mark()
	}
	v.Order.blocks(out)
	return out
}

func (v *View) findings() []Found {
	var out []Found
	for _, severity := range []attribution.Severity{attribution.Critical, attribution.Warning, attribution.Info} {
		for _, r := range v.readings {
			if r.Result == nil {
				continue
			}
			for _, f := range r.Result.Findings {
				if f.Severity == severity {
					out = append(out, Found{Node: r.Result.Node, Finding: f})
				}
			}
		}
	}
	return filterFindings(out, v.Filter)
}

// Frame is the whole screen: width columns and height lines.
func (v *View) Frame(width, height int) []Line {
	width, height = max(width, 40), max(height, 8)
	head, foot := v.head(width), v.foot(width)
	body := v.body(width)
	v.length, v.page = len(body), max(height-len(head)-len(foot), 1)
	v.scroll = max(min(v.scroll, v.length-v.page), 0)
	body = body[v.scroll:min(v.scroll+v.page, v.length)]
	for len(body) < v.page {
		body = append(body, Line{})
	}
	return v.fit(append(append(head, body...), foot...), width)
}

// Page is everything, as one text: what --once prints.
func (v *View) Page(width int) []Line {
	width = max(width, 40)
	out := append(v.head(width), v.body(width)...)
	if len(out[len(out)-1]) > 0 {
		out = append(out, Line{})
	}
	return v.fit(append(out, v.legend(width)...), width)
}

func (v *View) body(width int) []Line {
	switch {
	case v.help:
		return v.helpText(width)
	case v.FindingsOnly:
		return append(v.problems(width), v.findingLines(width, true)...)
	}
	out := v.problems(width)
	if v.Pods {
		out = append(out, v.podLines(width)...)
	} else {
		out = append(out, v.blockLines(width)...)
	}
	return append(out, v.findingLines(width, false)...)
}

// fit makes every text safe to print, whoever chose it, and no line wider
// than the screen.
func (v *View) fit(lines []Line, width int) []Line {
	for i, l := range lines {
		for j := range l {
			l[j].Text = clean(l[j].Text)
		}
		lines[i] = v.Glyphs.clip(l, width)
	}
	return lines
}
