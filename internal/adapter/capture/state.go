// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// state is what is known of one node at a moment of the timeline.
type state struct {
	name       string
	wallMS     int64 // wall clock, Unix milliseconds
	devices    map[gpu.UUID]*device
	processes  map[int]*process
	grants     sample.Grants
	reach      []sample.Reach
	engines    []sample.Engine // of this moment alone
	nvml       sample.Library
	sources    map[string]sample.SourceStatus
	usage      map[string]usage
	objects    objects
	standalone bool
	// clock: the wall clock showed shown at clockMS of the timeline.
	clockMS int64
	shown   time.Time
}

// process is one PID. One that is listed is shown as long as it stands;
// others only while a device names them.
type process struct {
	sample.Process
	listed bool
}

func (f *File) newState(n *Node) *state {
	s := &state{
		name: n.Name, devices: map[gpu.UUID]*device{}, processes: map[int]*process{},
		grants: sample.Grants{Readable: true}, nvml: sample.Library{OK: true},
		sources: map[string]sample.SourceStatus{}, usage: map[string]usage{},
		objects: newObjects(), shown: f.Start, wallMS: f.Start.UnixMilli(),
	}
	for _, g := range n.GPUs {
		dev := newDevice(gpu.UUID(g.UUID), g.line)
		for _, p := range g.patches {
			p(dev, s.wallMS)
		}
		s.devices[dev.static.UUID] = dev
	}
	return s
}

// Samples yields the samples of one node in the order of time: at every entry
// that concerns it and, unless the entries are the samples, at every interval
// of the window, its end included. Samples share memory with each other and
// with the file; nobody may change them. A node not in Nodes has no samples.
func (f *File) Samples(node string) iter.Seq[sample.Sample] {
	return func(yield func(sample.Sample) bool) {
		n := f.node(node)
		if n == nil {
			return
		}
		// Mistakes that only the whole timeline shows were found by Read.
		_ = f.play(n, yield)
	}
}

// dryRun plays a node's timeline once to find what only that can show.
func (f *File) dryRun(d *decoder, n *Node) {
	if err := f.play(n, nil); err != nil && d.err == nil {
		d.err = err
	}
}

// play walks the timeline of a node. With a nil yield it only checks, and looks
// at the entries alone. A node is unknown before its first entry.
func (f *File) play(n *Node, yield func(sample.Sample) bool) error {
	s, entries := f.newState(n), f.entriesOf(n.Name)
	if len(entries) == 0 {
		return nil
	}
	endMS := f.End.Sub(f.Start).Milliseconds()
	for at := entries[0].atMS; ; {
		s.begin(at)
		for len(entries) > 0 && entries[0].atMS <= at {
			if err := s.apply(entries[0]); err != nil {
				return err
			}
			entries = entries[1:]
			if f.EachEntry {
				break
			}
		}
		if err := s.check(f.Name); err != nil {
			return err
		}
		if yield != nil && (f.EachEntry || at <= endMS) && !yield(s.sample(f.monoMS+at, at)) {
			return nil
		}
		var more bool
		if at, more = f.after(at, endMS, entries, yield != nil); !more {
			return nil
		}
	}
}

// after is the next moment to look at: the next tick, the end of the window or
// the next entry, whichever comes first. Entries after the window are still
// applied, so that mistakes in them are found.
func (f *File) after(at, endMS int64, entries []entry, ticks bool) (int64, bool) {
	step := f.Interval.Milliseconds()
	next, more := at-((at%step)+step)%step+step, at < endMS && ticks && !f.EachEntry
	if more && next > endMS {
		next = endMS
	}
	if len(entries) > 0 && (!more || entries[0].atMS < next) {
		return entries[0].atMS, true
	}
	return next, more
}

// entriesOf lists the entries that say something about a node.
func (f *File) entriesOf(node string) []entry {
	var out []entry
	for _, e := range f.entries {
		if e.concerns(node) {
			out = append(out, e)
		}
	}
	return out
}

func (e *entry) concerns(node string) bool {
	return e.node == "" || e.node == node ||
		slices.ContainsFunc(e.objects, func(c objectChange) bool { return c.node == node })
}

// begin moves the clock to a moment and forgets what lasted one sample.
func (s *state) begin(at int64) {
	s.wallMS, s.engines = s.wall(at).UnixMilli(), nil
	for _, dev := range s.devices {
		dev.events, dev.accounted = nil, nil
	}
}

func (s *state) wall(at int64) time.Time {
	return s.shown.Add(time.Duration(at-s.clockMS) * time.Millisecond)
}

func (s *state) apply(e entry) error {
	here := e.node == "" || e.node == s.name
	if here && e.clock != nil {
		s.shown, s.clockMS = *e.clock, e.atMS
		s.wallMS = s.wall(e.atMS).UnixMilli()
	}
	for _, c := range e.apply {
		if !here {
			break
		}
		if err := c(s); err != nil {
			return err
		}
	}
	for _, c := range e.objects {
		if c.node == s.name || (c.node == "" && here) {
			c.apply(&s.objects)
		}
	}
	return nil
}

// check finds GPUs of which nothing was ever said: silence is not 0.
func (s *state) check(file string) error {
	for _, uuid := range slices.Sorted(maps.Keys(s.devices)) {
		dev := s.devices[uuid]
		if dev.static.State == gpu.StateOK && dev.total != nil && !dev.usedGiven {
			return &Error{File: file, Line: dev.line, Field: "nodes." + s.name + "." + string(uuid),
				Msg: "has a size, but the timeline never says what is used; add used_mib: 0 to its first entry, or null where it cannot be read"}
		}
	}
	return nil
}

// sample is the node at a moment.
func (s *state) sample(monoMS, at int64) sample.Sample {
	out := sample.Sample{
		Node: s.name, At: s.wall(at), MonoMS: monoMS, NVML: s.nvml, Grants: s.grants,
		Objects: s.objects.compose(), Reach: s.reach, Engines: s.engines, Standalone: s.standalone,
		Processes: map[int]sample.Process{},
	}
	if len(s.sources) > 0 {
		out.Sources = maps.Clone(s.sources)
	}
	for _, dev := range s.devices {
		out.Devices = append(out.Devices, dev.compose())
	}
	slices.SortFunc(out.Devices, func(a, b sample.Device) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID))
	})
	named := namedPIDs(out.Devices)
	for pid, p := range s.processes {
		if p.listed || named[pid] {
			out.Processes[pid] = p.Process
		}
	}
	for _, uid := range sortedKeys(s.usage) {
		u := s.usage[uid]
		out.Usage = append(out.Usage, sample.PodUsage{PodUID: uid, CPUNanos: u.CPUNanos, MemoryBytes: u.MemoryBytes})
	}
	return out
}

func namedPIDs(devices []sample.Device) map[int]bool {
	out := map[int]bool{}
	for _, dev := range devices {
		for _, h := range dev.Processes {
			out[h.PID] = true
		}
		for _, inst := range dev.Instances {
			for _, h := range inst.Processes {
				out[h.PID] = true
			}
		}
	}
	return out
}
