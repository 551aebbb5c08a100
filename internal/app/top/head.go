// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// head is the title, the nodes' totals and the column heads.
func (v *View) head(width int) []Line {
	left, right := v.titles()
	out := []Line{v.Glyphs.spread(left, right, width)}
	out = append(out, v.Glyphs.clip(v.summary(), width))
	switch {
	case v.help, v.FindingsOnly:
	case v.Pods:
		out = append(out, v.podHead(width))
	default:
		out = append(out, v.rowHead(width))
	}
	return out
}

func (v *View) titles() (left, right Line) {
	left = Line{styled("title", "gputally top")}
	var latest time.Time
	var names []string
	for _, r := range v.readings {
		if r.Result != nil {
			names = append(names, r.Result.Node)
			if r.Result.At.After(latest) {
				latest = r.Result.At
			}
		}
	}
	switch {
	case len(names) == 1:
		left = append(left, plain("  node "+names[0]))
		if d := v.readings[0].Result; d != nil && d.NVML.DriverVersion != "" && v.Caption == "" {
			left = append(left, styled("dim", v.Glyphs.Dot+"driver "+d.NVML.DriverVersion))
		}
	case len(names) > 1:
		left = append(left, plain("  "+count(len(names), "node")+": "+strings.Join(names, ", ")))
	}
	if v.Caption != "" {
		left = append(left, styled("dim", v.Glyphs.Dot+v.Caption))
	}
	if !latest.IsZero() {
		right = Line{plain(clock(latest))}
	}
	return left, right
}

// summary says in one line what there is and how much of it is held.
func (v *View) summary() Line {
	gpus, silent := 0, 0
	var used, capacity uint64
	for _, b := range v.all {
		gpus++
		if b.Used == nil {
			silent++
			continue
		}
		used += *b.Used
		capacity += *b.Capacity
	}
	dot := v.Glyphs.Dot
	line := Line{plain(count(gpus, "GPU"))}
	if capacity > 0 {
		line = append(line, plain(dot+fmt.Sprintf("%s of %s MiB used", thousands(used), thousands(capacity))))
	}
	if silent > 0 {
		line = append(line, plain(dot), styled("warning", count(silent, "GPU")+" unknown"))
	}
	line = append(line, plain(dot))
	return append(line, v.findingCount()...)
}

func (v *View) findingCount() Line {
	total, critical := 0, 0
	for _, r := range v.readings {
		if r.Result == nil {
			continue
		}
		for _, f := range r.Result.Findings {
			total++
			if f.Severity == attribution.Critical {
				critical++
			}
		}
	}
	switch {
	case total == 0:
		return Line{styled("good", "no findings")}
	case critical == 0:
		return Line{styled("warning", count(total, "finding"))}
	}
	return Line{styled("alert", fmt.Sprintf("%s, %d critical", count(total, "finding"), critical))}
}

// problems are the sources that do not answer, and sources of the agents that
// failed: a line or two each, above everything.
func (v *View) problems(width int) []Line {
	var out []Line
	say := func(role, text string) {
		for _, l := range wrap(text, width) {
			out = append(out, Line{styled(role, l)})
		}
	}
	for _, r := range v.readings {
		switch {
		case r.Error != "" && r.Result == nil:
			say("alert", fmt.Sprintf("%s does not answer: %s", r.Source, r.Error))
		case r.Error != "":
			say("alert", fmt.Sprintf("%s no longer answers (%s); what is shown of it is %s old", r.Source, r.Error, v.age(r)))
		}
		if r.Result != nil {
			for _, text := range failures(r.Result) {
				say("warning", "node "+r.Result.Node+": "+text)
			}
		}
	}
	if len(out) > 0 {
		out = append(out, Line{})
	}
	return out
}

func (v *View) age(r Reading) string {
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	return now().Sub(r.ReadAt).Round(time.Second).String()
}

// failures are the sources an agent could not read, in the order of their names.
func failures(r *attribution.Result) []string {
	var out []string
	if !r.NVML.OK {
		out = append(out, "NVML cannot be used: "+orUnknown(r.NVML.Error))
	}
	for _, name := range sortedKeys(r.Sources) {
		if s := r.Sources[name]; !s.OK {
			text := "source " + name + " failed: " + orUnknown(s.Error)
			if s.StaleMS > 0 {
				text += fmt.Sprintf(" (working from an answer %s old)", time.Duration(s.StaleMS)*time.Millisecond)
			}
			out = append(out, text)
		}
	}
	return out
}

// foot is the line of keys, or of what is being typed.
func (v *View) foot(width int) []Line {
	left := Line{}
	switch {
	case v.typing:
		left = append(left, styled("title", "filter: "+v.Filter+"_"), styled("dim", "  enter keeps it, esc drops it"))
	default:
		for _, k := range [][2]string{{"s", "sort"}, {"/", "filter"}, {"g", "group"}, {"f", "findings"}, {"c", "compact"}, {"?", "help"}, {"q", "quit"}} {
			left = append(left, styled("bold", k[0]), styled("dim", " "+k[1]+" "))
		}
		if v.Filter != "" {
			left = Line{styled("title", "filter: "+v.Filter), styled("dim", "  esc drops it  ? help  q quit")}
		}
	}
	return []Line{v.Glyphs.spread(left, Line{styled("dim", v.where())}, width)}
}

// where says how the table is sorted and what part of it is seen.
func (v *View) where() string {
	text := "sort " + v.Order.String()
	if v.length > v.page {
		text += fmt.Sprintf("%s%d-%d/%d", v.Glyphs.Dot, v.scroll+1, min(v.scroll+v.page, v.length), v.length)
	}
	return text
}
