// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

const reasonGone = "NVML no longer lists this GPU"

// known says what the next list of devices may leave out: indexes of devices
// that hang or are lost.
func (s *Source) known(now time.Time) known {
	k := known{skip: make([]bool, s.count), renamed: s.renamed}
	for _, d := range s.devices {
		k.stuck = k.stuck || !d.worker.idle()
		if d.listed && d.index < len(k.skip) {
			k.skip[d.index] = !d.reachable(now)
		}
	}
	return k
}

// apply brings the known devices up to date with a list.
func (s *Source) apply(walk listing, lib *library, now time.Time) {
	if len(walk.entries) == s.count {
		s.stable++
	} else {
		s.count, s.stable = len(walk.entries), 1
	}
	before := make([]*device, s.count)
	for _, d := range s.devices {
		if d.listed && d.index < s.count {
			before[d.index] = d
		}
		d.listed = false
	}
	for i, e := range walk.entries {
		switch {
		case e.skipped && before[i] != nil:
			before[i].listed = true
		case !e.skipped && e.ret == binding.SUCCESS:
			s.found(i, e, lib)
		}
	}
	for i, e := range walk.entries {
		if e.ret != binding.SUCCESS {
			s.unreadable(i, e, before[i], now)
		}
	}
	s.forget()
}

func (s *Source) nameless(index int) gpu.UUID {
	return gpu.UUID(fmt.Sprintf("%s/%d", s.opts.Node, index))
}

func (s *Source) device(uuid gpu.UUID) *device {
	d := s.devices[uuid]
	if d == nil {
		d = newDevice(uuid)
		s.devices[uuid] = d
	}
	d.reloads = s.library.reloads
	return d
}

// found notes a device that the library gave a handle for.
func (s *Source) found(index int, e listed, lib *library) {
	uuid := gpu.UUID(e.uuid)
	if e.uuid == "" {
		uuid = s.nameless(index)
	}
	d := s.device(uuid)
	d.of = lib
	d.index, d.handle, d.mute, d.listed, d.placeholder = index, e.handle, false, true, e.uuid == ""
}

// unreadable notes an index that gave an error instead of a device: the one
// that was there before, or one that has not yet told who it is.
func (s *Source) unreadable(index int, e listed, d *device, now time.Time) {
	if d == nil || d.listed {
		d = s.device(s.nameless(index))
		d.placeholder = true
	}
	d.index, d.mute, d.listed = index, true, true
	d.reloads = s.library.reloads
	d.fail(stateOf(e.ret), failure(e.call, e.ret), now.Add(s.opts.LostProbe))
}

// forget drops what does not exist: stand-ins whose device has since told its
// UUID, and devices that a reloaded driver does not list either. Until then a
// device that is no longer listed is lost: it is still in the machine, as far
// as anybody knows, and still paid for.
func (s *Source) forget() {
	for uuid, d := range s.devices {
		switch {
		case d.listed:
		case d.placeholder, d.reloads < s.library.reloads && s.stable >= 2:
			d.worker.stop()
			delete(s.devices, uuid)
		default:
			d.mute = true
			d.fail(gpu.StateLost, reasonGone, time.Time{})
		}
	}
}

// read reads all devices at the same time and waits for them no longer than
// the deadline.
func (s *Source) read(ctx context.Context, lib *library, now time.Time) {
	var begun []*device
	for _, d := range s.devices {
		if !d.worker.idle() {
			if d.gaveUp {
				d.fail(gpu.StateHung, d.worker.overdue(s.opts.Deadline), time.Time{})
			}
			continue
		}
		d.finish()
		if d.of == lib && d.listed && !d.mute && d.reachable(now) {
			d.start(lib, &s.settings, now)
			begun = append(begun, d)
		}
	}
	timer := time.NewTimer(s.opts.Deadline)
	defer timer.Stop()
	over := false
	for _, d := range begun {
		if !over {
			select {
			case <-d.worker.job.done:
				continue
			case <-timer.C:
			case <-ctx.Done():
			}
			over = true
		}
		if !d.worker.idle() {
			d.abandon()
		}
	}
	s.collect(begun, lib, now)
	lib.events.run()
}

// collect takes over what was read.
func (s *Source) collect(begun []*device, lib *library, now time.Time) {
	for _, d := range begun {
		if d.gaveUp {
			d.fail(gpu.StateHung, d.worker.overdue(s.opts.Deadline), time.Time{})
			continue
		}
		r := d.finish()
		d.probeAt = now.Add(s.opts.LostProbe)
		s.renamed = s.renamed || r.renamed
		if endsLibrary(r.ret) {
			s.library.drop(r.ret, d.reason)
		}
	}
	for _, d := range s.devices {
		if d.handle != nil {
			d.events = append(d.events, lib.events.drain(d.handle)...)
		}
	}
}

// report lists the devices by index. Without a library none can be read.
func (s *Source) report() []sample.Device {
	out := make([]sample.Device, 0, len(s.devices))
	for _, d := range s.devices {
		if s.library.lib == nil && d.state != gpu.StateLost && d.state != gpu.StateHung {
			d.fail(gpu.StateUnreadable, s.library.text, time.Time{})
		}
		out = append(out, d.report())
	}
	slices.SortFunc(out, func(a, b sample.Device) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID))
	})
	return out
}
