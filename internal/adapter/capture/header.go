// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/expect"
	"github.com/gputally/gputally/internal/core/gpu"
)

// header reads the top of a capture, and its timeline where it has one.
func (f *File) header(d *decoder, root *node) {
	o := d.object(root, "")
	if v := o.need("capture"); d.err == nil && (v.shape != shapeNumber || v.text != fmt.Sprint(Version)) {
		d.fail(v.line, "capture", "is version %q; this program reads version %d", clip(v.text), Version)
	}
	for key, field := range map[string]*string{"id": &f.ID, "title": &f.Title} {
		if v := o.get(key); v != nil {
			*field = d.text(v, key)
		}
	}
	if v := o.get("source"); v != nil {
		for i, c := range d.list(v, "source") {
			f.Source = append(f.Source, d.text(c, fmt.Sprintf("source[%d]", i)))
		}
	}
	f.window(d, o)
	f.rhythm(d, o)
	if v := o.get("nodes"); v != nil && v.shape != shapeNull {
		for i, c := range d.list(v, "nodes") {
			f.readNode(d, c, fmt.Sprintf("nodes[%d]", i))
		}
	}
	f.Prices, f.Policy = section(o.get("prices")), section(o.get("policy"))
	// Carried along for audit, which reads them in its own way.
	for _, key := range []string{"billing", "prometheus"} {
		o.get(key)
	}
	if v := o.get("timeline"); v != nil && v.shape != shapeNull {
		for i, c := range d.list(v, "timeline") {
			f.entry(d, c, fmt.Sprintf("timeline[%d]", i))
		}
	}
	if v := o.get("expect"); v != nil {
		f.Expect = &expect.Expect{}
		d.into(v, "expect", f.Expect)
	}
	o.done()
}

func (f *File) window(d *decoder, o *object) {
	w := d.object(o.need("window"), "window")
	f.Start = d.time(w.need("start"), "window.start")
	if v := w.get("end"); v != nil {
		if f.End = d.time(v, "window.end"); d.err == nil && !f.End.After(f.Start) {
			d.fail(v.line, "window.end", "is not after window.start; write a later moment")
		}
		if f.End.Sub(f.Start) > longest {
			d.fail(v.line, "window.end", "is more than 400 days after window.start; write a shorter window")
		}
	}
	w.done()
}

// rhythm reads how the capture is sampled.
func (f *File) rhythm(d *decoder, o *object) {
	if v := o.get("interval"); v != nil {
		ms := d.millis(v, "interval")
		if d.err == nil && (ms < 100 || ms > time.Hour.Milliseconds()) {
			d.fail(v.line, "interval", "is %s; write 100 ms to 1 h", v.text)
		}
		f.Interval = time.Duration(ms) * time.Millisecond
	}
	if v := o.get("samples"); v != nil {
		switch s := d.text(v, "samples"); s {
		case "interval":
		case "entries":
			f.EachEntry = true
		default:
			d.fail(v.line, "samples", "is %q; write interval (sampled at every interval and entry) or entries (each entry is one sample)", clip(s))
		}
	}
	if v := o.get("mono_ms"); v != nil {
		f.monoMS = d.int(v, "mono_ms")
	}
}

func (f *File) readNode(d *decoder, n *node, path string) {
	o := d.object(n, path)
	node := Node{Name: d.text(o.need("name"), o.at("name")), Price: d.price(o), line: n.line}
	if f.node(node.Name) != nil {
		d.fail(n.line, o.at("name"), "is %q, which another node has; names are unique", clip(node.Name))
	}
	seen := map[string]bool{}
	if v := o.get("gpus"); v != nil && v.shape != shapeNull {
		for i, c := range d.list(v, o.at("gpus")) {
			g := d.inventory(c, fmt.Sprintf("%s[%d]", o.at("gpus"), i), node.Name)
			if seen[g.UUID] {
				d.fail(c.line, o.at("gpus"), "names %s twice; keep one line for each GPU", g.UUID)
			}
			seen[g.UUID] = true
			node.GPUs = append(node.GPUs, g)
		}
	}
	o.done()
	f.Nodes = append(f.Nodes, node)
}

// inventory reads one GPU of a node. uuid: null is a platform without UUIDs:
// the GPU is called node/index and cannot be read.
func (d *decoder) inventory(n *node, path, node string) GPU {
	o := d.object(n, path)
	g := GPU{line: n.line, Price: d.price(o)}
	id, index := o.need("uuid"), o.need("index")
	if id.shape == shapeNull {
		g.UUID = node + "/" + d.text(index, o.at("index"))
		g.patches = append(g.patches, func(dev *device, _ int64) { dev.static.State = gpu.StateNotSupported })
	} else {
		g.UUID = d.text(id, o.at("uuid"))
	}
	g.patches = append(g.patches, d.devicePatches(o)...)
	o.done()
	return g
}

// price reads the price fields of a node or a GPU, as text.
func (d *decoder) price(o *object) Price {
	var p Price
	for key, field := range map[string]*string{
		"currency": &p.Currency, "price_per_hour": &p.PerHour, "vcpu": &p.VCPU, "memory_gib": &p.MemoryGiB,
	} {
		if v := o.get(key); v != nil && v.shape != shapeNull {
			*field = d.text(v, o.at(key))
		}
	}
	return p
}
