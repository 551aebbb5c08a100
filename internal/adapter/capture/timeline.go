// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// entry is one point of the timeline: the changes it makes.
type entry struct {
	atMS  int64  // from the start of the window; may be negative
	node  string // empty: every node
	line  int
	clock *time.Time // what the node's wall clock shows from here on
	apply []change
	// objects are changes to Kubernetes objects, which name their own nodes.
	objects []objectChange
}

// change is one change to what is known of a node. It returns a mistake that
// only the whole timeline shows, or nil.
type change func(s *state) error

// entry reads one entry of the timeline.
func (f *File) entry(d *decoder, n *node, path string) {
	o := d.object(n, path)
	e := entry{line: n.line, atMS: d.millis(o.need("at"), o.at("at"))}
	if k := len(f.entries); d.err == nil && k > 0 && f.entries[k-1].atMS > e.atMS {
		d.fail(n.line, o.at("at"), "is earlier than the entry before it; write entries in the order of time")
	}
	if v := o.get("node"); v != nil {
		e.node = d.text(v, o.at("node"))
		if d.err == nil && f.node(e.node) == nil {
			d.fail(v.line, o.at("node"), "is %q, which is not in nodes; add it there or correct the name", clip(e.node))
		}
	}
	if v := o.get("clock"); v != nil {
		t := d.time(v, o.at("clock"))
		e.clock = &t
	}
	o.get("note")
	e.apply = append(e.apply, d.sourceChanges(o)...)
	e.apply = append(e.apply, d.processChanges(o)...)
	e.objects = d.objectChanges(o, f)
	if v := o.get("gpus"); v != nil {
		e.apply = append(e.apply, d.gpuChanges(v, o.at("gpus"))...)
	}
	o.done()
	f.entries = append(f.entries, e)
}

// gpuChanges reads gpus: {UUID: {...}}. A GPU that is null is gone.
func (d *decoder) gpuChanges(n *node, path string) []change {
	var out []change
	for _, f := range d.object(n, path).n.fields {
		at := join(path, f.key)
		uuid := gpu.UUID(f.key)
		if f.value.shape == shapeNull {
			out = append(out, func(s *state) error { delete(s.devices, uuid); return nil })
			continue
		}
		o := d.object(f.value, at)
		patches := d.devicePatches(o)
		indexed := o.n.find("index") != nil
		o.done()
		out = append(out, func(s *state) error {
			dev := s.devices[uuid]
			if dev == nil {
				if !indexed {
					return &Error{File: d.name, Line: f.line, Field: at,
						Msg: fmt.Sprintf("is not a GPU of node %s; correct the UUID, or give its index here if it was added", s.name)}
				}
				dev = newDevice(uuid, f.line)
				s.devices[uuid] = dev
			}
			for _, p := range patches {
				p(dev, s.wallMS)
			}
			return nil
		})
	}
	return out
}

func newDevice(uuid gpu.UUID, line int) *device {
	return &device{static: sample.Device{UUID: uuid, State: gpu.StateOK}, line: line}
}

// sourceChanges reads what the kubelet and the agent's own reads said.
func (d *decoder) sourceChanges(o *object) []change {
	var out []change
	if v := o.get("podresources"); v != nil {
		g := sample.Grants{Readable: v.shape != shapeNull}
		if g.Readable {
			d.into(v, o.at("podresources"), &g.Pods)
		}
		out = append(out, func(s *state) error { s.grants.Readable, s.grants.Pods = g.Readable, g.Pods; return nil })
	}
	out = append(out, whole(d, o, "allocatable", func(s *state, v []workload.ResourceDevices) { s.grants.Allocatable = v })...)
	out = append(out, whole(d, o, "reach", func(s *state, v []sample.Reach) { s.reach = v })...)
	out = append(out, whole(d, o, "engines", func(s *state, v []sample.Engine) { s.engines = v })...)
	out = append(out, whole(d, o, "nvml", func(s *state, v sample.Library) { s.nvml = v })...)
	out = append(out, whole(d, o, "standalone", func(s *state, v bool) { s.standalone = v })...)
	out = append(out, merged(d, o, "sources", func(s *state) map[string]sample.SourceStatus { return s.sources })...)
	out = append(out, merged(d, o, "pod_usage", func(s *state) map[string]usage { return s.usage })...)
	return out
}

// usage is the CPU and memory of one pod; the key of the map is its UID.
type usage struct {
	CPUNanos    uint64 `json:"cpu_nanos"`
	MemoryBytes uint64 `json:"memory_bytes"`
}

// whole reads a field that replaces what was known; null is nothing known.
func whole[T any](d *decoder, o *object, key string, set func(*state, T)) []change {
	n := o.get(key)
	if n == nil {
		return nil
	}
	var v T
	if n.shape != shapeNull {
		d.into(n, o.at(key), &v)
	}
	return []change{func(s *state) error { set(s, v); return nil }}
}

// merged reads a map whose keys replace those known; a key that is null goes.
func merged[T any](d *decoder, o *object, key string, of func(*state) map[string]T) []change {
	n := o.get(key)
	if n == nil {
		return nil
	}
	var out []change
	for _, f := range d.object(n, o.at(key)).n.fields {
		if f.value.shape == shapeNull {
			out = append(out, func(s *state) error { delete(of(s), f.key); return nil })
			continue
		}
		var v T
		d.into(f.value, join(o.at(key), f.key), &v)
		out = append(out, func(s *state) error { of(s)[f.key] = v; return nil })
	}
	return out
}

// processChanges reads what /proc said: whole processes, or single facts of
// them by PID.
func (d *decoder) processChanges(o *object) []change {
	var out []change
	if n := o.get("processes"); n != nil {
		for _, f := range d.object(n, o.at("processes")).n.fields {
			pid := d.pid(f, o.at("processes"))
			if f.value.shape == shapeNull {
				out = append(out, func(s *state) error { delete(s.processes, pid); return nil })
				continue
			}
			var p sample.Process
			d.into(f.value, join(o.at("processes"), f.key), &p)
			out = append(out, func(s *state) error { s.processes[pid] = &process{Process: p, listed: true}; return nil })
		}
	}
	out = append(out, fact(d, o, "cgroups", func(p *process, v string) { p.Cgroup = v })...)
	out = append(out, fact(d, o, "comm", func(p *process, v string) { p.Comm = v })...)
	out = append(out, fact(d, o, "env", func(p *process, v map[string]string) { p.Env = v })...)
	out = append(out, fact(d, o, "start_ticks", func(p *process, v uint64) { p.StartTicks = v })...)
	out = append(out, fact(d, o, "users", func(p *process, v string) { p.User = v })...)
	return out
}

// fact reads one fact of several processes: {PID: value}.
func fact[T any](d *decoder, o *object, key string, set func(*process, T)) []change {
	n := o.get(key)
	if n == nil {
		return nil
	}
	var out []change
	for _, f := range d.object(n, o.at(key)).n.fields {
		pid := d.pid(f, o.at(key))
		var v T
		d.into(f.value, join(o.at(key), f.key), &v)
		out = append(out, func(s *state) error {
			if s.processes[pid] == nil {
				s.processes[pid] = &process{}
			}
			set(s.processes[pid], v)
			return nil
		})
	}
	return out
}

func (d *decoder) pid(f field, path string) int {
	v, err := strconv.ParseUint(f.key, 10, 31)
	if err != nil {
		d.fail(f.line, join(path, f.key), "is not a process id; write a whole number")
	}
	return int(v)
}
