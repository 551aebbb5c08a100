// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// blockLines are all GPUs: for each its name, bar, signals and rows.
func (v *View) blockLines(width int) []Line {
	var out []Line
	last := ""
	nodes := v.nodes()
	for _, b := range v.blocks() {
		if nodes > 1 && v.Order == ByGPU && b.Node != last {
			out = append(out, Line{styled("title", "node "+b.Node)})
			last = b.Node
		}
		out = append(out, v.block(b, width, nodes > 1 && v.Order != ByGPU)...)
		if !v.Compact {
			out = append(out, Line{})
		}
	}
	if len(out) == 0 {
		out = v.empty(width)
	}
	return out
}

func (v *View) nodes() int {
	n := 0
	for _, r := range v.readings {
		if r.Result != nil {
			n++
		}
	}
	return n
}

// empty says why there is nothing to see, and what to do.
func (v *View) empty(width int) []Line {
	text := "No GPU was seen. gputally-agent needs NVIDIA's driver on its node: see its log and nvidia-smi."
	switch {
	case v.Filter != "":
		text = fmt.Sprintf("Nothing has %q in it; esc drops the filter.", v.Filter)
	case v.nodes() == 0:
		text = "Waiting for an answer."
	}
	var out []Line
	for _, l := range wrap(text, width) {
		out = append(out, Line{plain(l)})
	}
	return append(out, Line{})
}

func (v *View) block(b Block, width int, withNode bool) []Line {
	out := []Line{v.blockHead(b, width, withNode)}
	if b.Device.State != gpu.StateOK {
		return append(out, v.unread(b, width)...)
	}
	out = append(out, append(Line{plain("  ")}, b.bar().draw(v.Glyphs, &v.palette, width-2)...))
	if signals := v.signals(b.Device, width); len(signals) > 0 {
		out = append(out, signals)
	}
	if v.Compact {
		return out
	}
	for _, p := range b.Parts {
		if p.ID.IsInstance() {
			out = append(out, v.partHead(p, width))
		}
		if !p.idle() {
			out = append(out, v.partRows(p, width)...)
		}
	}
	return out
}

// idle: an instance that nobody was given or uses. Its whole memory is free
// but for what the driver keeps, and a line says so.
func (p Part) idle() bool {
	if !p.ID.IsInstance() || !p.Balanced || deref(p.Unattributed) > 0 {
		return false
	}
	for _, r := range p.Rows {
		if r.Kind < KindReserve {
			return false
		}
	}
	return true
}

func (v *View) blockHead(b Block, width int, withNode bool) Line {
	name := fmt.Sprintf("GPU %d", b.Device.Index)
	if withNode {
		name = b.Node + " " + name
	}
	dot := v.Glyphs.Dot
	left := Line{styled("bold", name), plain("  " + model(b.Device, width))}
	if !b.Standalone || b.Device.MIGParent || b.Device.State != gpu.StateOK {
		left = append(left, plain(dot), styled(modeRole(b.Device), v.modeText(b.Device)))
	}
	if width >= widerScreen && b.Device.ModeEvidence != "" && b.Device.State == gpu.StateOK {
		left = append(left, styled("dim", " ("+b.Device.ModeEvidence+")"))
	}
	if n := len(b.Parts); b.Device.MIGParent {
		left = append(left, plain(dot+count(n, "instance")))
		if s := b.Device.StrandedSlices; s > 0 {
			left = append(left, styled("warning", dot+count(int(s), "slice")+" stranded"))
		}
	}
	right := Line{}
	if b.Findings > 0 {
		right = append(right, styled("alert", count(b.Findings, "finding")), plain(dot))
	}
	return v.Glyphs.spread(left, append(right, plain(v.usedOf(b.Used, b.Capacity))), width)
}

func (v *View) usedOf(used, capacity *uint64) string {
	if used == nil || capacity == nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%s/%s MiB", thousands(*used), thousands(*capacity))
}

// model is the name of the GPU; whose it is goes without saying.
func model(p attribution.Partition, width int) string {
	if width < wideScreen {
		return orUnknown(strings.TrimPrefix(p.Model, "NVIDIA "))
	}
	return orUnknown(p.Model)
}

func modeRole(p attribution.Partition) string {
	if p.State != gpu.StateOK {
		return "alert"
	}
	return "title"
}

// modeText is the sharing mode with the number of replicas.
func (v *View) modeText(p attribution.Partition) string {
	if p.State != gpu.StateOK {
		return string(p.State)
	}
	text := string(p.Mode)
	if p.Mode == "" || p.Mode == gpu.ModeNone {
		text = "not granted"
	}
	if p.Replicas != nil && *p.Replicas > 1 {
		text += fmt.Sprintf(" %s%d", v.Glyphs.Times, *p.Replicas)
	}
	return text
}

// unread is a device that could not be read: why, and who was given it.
func (v *View) unread(b Block, width int) []Line {
	account := "unmeasured"
	if b.Device.State == gpu.StateLost {
		account = "unavailable"
	}
	reason := b.Device.Reason
	if reason == "" {
		reason = "no reason was given"
	}
	bar := Bar{Capacity: 1, Segments: []Segment{{Fill: FillUnknown, Bytes: 1}}}
	out := []Line{append(Line{plain("  ")}, bar.draw(v.Glyphs, &v.palette, width-2)...)}
	text := fmt.Sprintf("%s (%s): %s", strings.ToUpper(string(b.Device.State)), account, reason)
	for _, l := range wrap(text, width-4) {
		out = append(out, Line{plain("    "), styled("alert", l)})
	}
	if v.Compact {
		return out
	}
	for _, p := range b.Parts {
		for _, r := range p.Rows {
			out = append(out, v.row(r, p, columnsFor(width), width))
		}
	}
	return out
}

func (v *View) partHead(p Part, width int) Line {
	last := p.Placement.Start + max(p.Placement.Size, 1) - 1
	where := fmt.Sprintf("slices %d-%d", p.Placement.Start, last)
	if p.Placement.Size == 1 {
		where = fmt.Sprintf("slice %d", p.Placement.Start)
	}
	left := Line{
		plain("  "), styled("bold", fmt.Sprintf("gi %d  %s", p.ID.Instance, p.Profile)),
		plain("  " + where),
	}
	if p.idle() {
		left = append(left, styled("dim", v.Glyphs.Dot+"idle "), styled("good", v.Glyphs.OK))
	} else if p.Mode != gpu.ModeMIG {
		left = append(left, plain(v.Glyphs.Dot), styled("title", v.modeText(p.Partition)))
	}
	if text := v.activity(p.Partition, width); text != "" {
		left = append(left, styled("dim", v.Glyphs.Dot+text))
	}
	return v.Glyphs.spread(left, Line{plain(v.usedOf(p.Used, p.Capacity))}, width)
}
