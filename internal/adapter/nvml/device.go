// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"time"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// device is one GPU as the Source knows it. Only past belongs to the worker.
type device struct {
	uuid        gpu.UUID
	index       int
	placeholder bool           // stands for an index that never told its UUID
	handle      binding.Device // the last one the library gave, nil if none
	of          *library       // the library that gave it; no other may be asked by it
	mute        bool           // the last list gave no handle: do not ask
	listed      bool           // in the last list of devices
	reloads     int            // how often the driver had been reloaded when last listed

	worker  *worker
	past    *history
	current *reading // under way, or given up and not yet taken
	gaveUp  bool

	state   gpu.State
	reason  string
	probeAt time.Time // a lost device is not asked before

	now       *sample.Device // this sample's reading, nil if there is none
	last      *sample.Device // the last that was good
	events    []sample.Event // to be reported with the next sample
	accounted []sample.Accounted
}

func newDevice(uuid gpu.UUID) *device {
	return &device{uuid: uuid, worker: newWorker(), past: &history{}}
}

// reachable reports whether the device may be asked anything now.
func (d *device) reachable(now time.Time) bool {
	return d.worker.idle() && !(d.state == gpu.StateLost && now.Before(d.probeAt))
}

// start begins a reading. The worker must be idle.
func (d *device) start(lib *library, s *settings, now time.Time) {
	r := &reading{calls: &d.worker.calls, lib: lib, handle: d.handle, past: d.past, settings: s, nowMS: now.UnixMilli()}
	r.out.UUID, r.out.Index, r.nameless = d.uuid, d.index, d.placeholder
	d.current, d.gaveUp = r, false
	d.worker.start(lib.symbols, r.run)
}

// abandon leaves a reading that did not end in time.
func (d *device) abandon() {
	d.gaveUp = true
	d.worker.quit.Store(true)
}

// finish takes over a reading that has ended.
func (d *device) finish() *reading {
	r := d.current
	d.current = nil
	if r == nil {
		return nil
	}
	d.events = append(d.events, r.out.Events...)
	d.accounted = append(d.accounted, r.out.Accounted...)
	r.out.Events, r.out.Accounted = nil, nil
	if d.gaveUp {
		return nil // it is of the past
	}
	d.state, d.reason = r.out.State, r.out.Reason
	if d.state == gpu.StateOK {
		d.now, d.last = &r.out, &r.out
	}
	return r
}

// fail notes why the device cannot be read.
func (d *device) fail(state gpu.State, reason string, probeAt time.Time) {
	d.now, d.state, d.reason, d.probeAt = nil, state, reason, probeAt
}

// report is the device for the sample. Of one that could not be read it says
// what it is and how it was cut, as last seen, and nothing that changes.
func (d *device) report() sample.Device {
	if d.now == nil && d.state == gpu.StateOK {
		d.state, d.reason = gpu.StateUnreadable, "not read in this sample"
	}
	out := sample.Device{UUID: d.uuid, Minor: -1, State: d.state, Reason: d.reason}
	switch {
	case d.now != nil:
		out = *d.now
	case d.last != nil:
		out.Minor, out.Name, out.PCIBusID, out.Serial = d.last.Minor, d.last.Name, d.last.PCIBusID, d.last.Serial
		out.Architecture, out.Virtualization = d.last.Architecture, d.last.Virtualization
		out.UnifiedMemory, out.HostMemory = d.last.UnifiedMemory, d.last.HostMemory
		out.MIG, out.MemorySlices, out.Placements = d.last.MIG, d.last.MemorySlices, d.last.Placements
		for _, i := range d.last.Instances {
			i.Memory, i.Processes, i.Signals = nil, nil, sample.Signals{}
			out.Instances = append(out.Instances, i)
		}
	}
	out.Index = d.index
	out.Events, out.Accounted = d.events, d.accounted
	d.events, d.accounted, d.now = nil, nil, nil
	return out
}

// instances adds since when the device's MIG instances have been there.
func (d *device) instances(to map[gpu.UUID]int64) {
	if d.last == nil {
		return
	}
	for _, i := range d.last.Instances {
		for _, c := range i.Compute {
			to[c.UUID] = i.SinceMS
		}
		if len(i.Compute) == 0 {
			to[bareName(d.uuid, i.ID)] = i.SinceMS
		}
	}
}
