// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"math"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// device is one GPU as the timeline has left it.
type device struct {
	static sample.Device // everything but memory and what lasts one sample
	total, reserved, used, free,
	hostMemory *uint64
	// noReserve: the reserve is null, so the driver did not tell it.
	noReserve bool
	// usedGiven is false until an entry said what is used, be it null.
	usedGiven bool
	line      int
	migMode   *bool
	// events and accounted belong to the sample of their entry alone.
	events    []sample.Event
	accounted []sample.Accounted
}

// patch is one change to a device; now is the wall clock in Unix milliseconds.
type patch func(dev *device, now int64)

// devicePatches reads what an inventory line or a timeline entry says of one
// GPU. A field that is null is back at "not known".
func (d *decoder) devicePatches(o *object) []patch {
	var out []patch
	set := func(key string, read func(n *node, path string) patch) {
		if n := o.get(key); n != nil {
			out = append(out, read(n, o.at(key)))
		}
	}
	text := func(key string, field func(*sample.Device) *string) {
		set(key, func(n *node, path string) patch {
			v := ""
			if n.shape != shapeNull {
				v = d.text(n, path)
			}
			return func(dev *device, _ int64) { *field(&dev.static) = v }
		})
	}
	text("reason", func(s *sample.Device) *string { return &s.Reason })
	text("model", func(s *sample.Device) *string { return &s.Name })
	text("pci_bus_id", func(s *sample.Device) *string { return &s.PCIBusID })
	text("serial", func(s *sample.Device) *string { return &s.Serial })
	text("architecture", func(s *sample.Device) *string { return &s.Architecture })
	text("virtualization", func(s *sample.Device) *string { return &s.Virtualization })
	text("compute_mode", func(s *sample.Device) *string { return &s.ComputeMode })
	set("index", d.numberPatch(func(dev *device, v int) { dev.static.Index = v }))
	set("minor", d.minorPatch)
	set("memory_slices", d.numberPatch(func(dev *device, v int) { dev.static.MemorySlices = uint32(v) }))
	set("state", d.statePatch)
	set("unified_memory", d.flagPatch(func(dev *device, v *bool) { dev.static.UnifiedMemory = v != nil && *v }))
	set("mig_mode", d.flagPatch(func(dev *device, v *bool) { dev.migMode = v }))
	set("mig", d.migPatch)
	set("placements", intoPatch(d, func(dev *device, v []gpu.ProfilePlacements) { dev.static.Placements = v }))
	set("signals", intoPatch(d, func(dev *device, v sample.Signals) { dev.static.Signals = v }))
	set("power", intoPatch(d, func(dev *device, v sample.Power) { dev.static.Power = v }))
	set("events", intoPatch(d, func(dev *device, v []sample.Event) { dev.events = v }))
	set("accounted", intoPatch(d, func(dev *device, v []sample.Accounted) { dev.accounted = v }))
	set("processes", func(n *node, path string) patch {
		v := d.processes(n, path, nil)
		return func(dev *device, _ int64) { dev.static.Processes = v }
	})
	return append(out, d.sizePatches(o)...)
}

// sizePatches reads the sizes of a GPU's memory.
func (d *decoder) sizePatches(o *object) []patch {
	var out []patch
	for key, field := range map[string]func(*device) **uint64{
		"total":       func(dev *device) **uint64 { return &dev.total },
		"free":        func(dev *device) **uint64 { return &dev.free },
		"host_memory": func(dev *device) **uint64 { return &dev.hostMemory },
	} {
		if v, given := o.size(key); given {
			out = append(out, func(dev *device, _ int64) { *field(dev) = v })
		}
	}
	if v, given := o.size("reserved"); given {
		out = append(out, func(dev *device, _ int64) { dev.reserved, dev.noReserve = v, v == nil })
	}
	if v, given := o.size("used"); given {
		out = append(out, func(dev *device, _ int64) { dev.used, dev.usedGiven = v, true })
	}
	return out
}

// size reads NAME_mib or NAME_bytes, of which at most one may stand; null is
// nil. given is false when neither is there.
func (o *object) size(name string) (v *uint64, given bool) {
	mib, raw := o.get(name+"_mib"), o.get(name+"_bytes")
	switch {
	case mib != nil && raw != nil:
		o.d.fail(raw.line, o.at(name+"_bytes"), "stands beside %s_mib; keep one of them", name)
	case mib != nil && mib.shape == shapeNull, raw != nil && raw.shape == shapeNull:
		return nil, true
	case raw != nil:
		b := o.d.uint(raw, o.at(name+"_bytes"), 64)
		return &b, true
	case mib != nil:
		m := o.d.uint(mib, o.at(name+"_mib"), 64)
		if m > math.MaxUint64/gpu.MiB {
			o.d.fail(mib.line, o.at(name+"_mib"), "is %d MiB, more than 64 bits of bytes; write a size a GPU can have", m)
			m = 0
		}
		b := m * gpu.MiB
		return &b, true
	}
	return nil, false
}

func (d *decoder) numberPatch(set func(*device, int)) func(*node, string) patch {
	return func(n *node, path string) patch {
		v := 0
		if n.shape != shapeNull {
			v = int(d.uint(n, path, 31))
		}
		return func(dev *device, _ int64) { set(dev, v) }
	}
}

// minorPatch reads the number of /dev/nvidiaN, or -1: a GPU that was lost
// before NVML said it.
func (d *decoder) minorPatch(n *node, path string) patch {
	v := int64(0)
	if n.shape != shapeNull {
		v = d.int(n, path)
	}
	if v < -1 || v > math.MaxInt32 {
		d.fail(n.line, path, "is %d; write the N of /dev/nvidiaN, or -1 where it is not known", v)
	}
	return func(dev *device, _ int64) { dev.static.Minor = int(v) }
}

func (d *decoder) flagPatch(set func(*device, *bool)) func(*node, string) patch {
	return func(n *node, path string) patch {
		var v *bool
		if n.shape != shapeNull {
			b := d.boolean(n, path)
			v = &b
		}
		return func(dev *device, _ int64) { set(dev, v) }
	}
}

func intoPatch[T any](d *decoder, set func(*device, T)) func(*node, string) patch {
	return func(n *node, path string) patch {
		var v T
		if n.shape != shapeNull {
			d.into(n, path, &v)
		}
		return func(dev *device, _ int64) { set(dev, v) }
	}
}

func (d *decoder) statePatch(n *node, path string) patch {
	v := gpu.State(d.text(n, path))
	switch v {
	case gpu.StateOK, gpu.StateLost, gpu.StateHung, gpu.StateUnreadable, gpu.StateNotSupported:
	default:
		d.fail(n.line, path, "is %q; write ok, lost, hung, unreadable or not_supported", clip(string(v)))
	}
	return func(dev *device, _ int64) { dev.static.State = v }
}

// compose is the GPU as a sample shows it. Only a device whose state is ok has
// readings.
func (dev *device) compose() sample.Device {
	s := dev.static
	s.Events = dev.events
	s.MIG = len(s.Instances) > 0
	if dev.migMode != nil {
		s.MIG = *dev.migMode
	}
	s.HostMemory = dev.hostMemory
	if s.State != gpu.StateOK {
		s.Instances, s.Processes, s.Signals, s.Power = nil, nil, sample.Signals{}, sample.Power{}
		return s
	}
	s.Accounted = dev.accounted
	if dev.total != nil && dev.used != nil {
		s.Memory = &sample.Memory{
			Total: *dev.total, Reserved: value(dev.reserved), ReserveUnknown: dev.noReserve,
			Used: *dev.used, Free: value(dev.free),
		}
	}
	return s
}

func value(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}
