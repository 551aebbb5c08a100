// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// part is a partition in the making, with the readings it is made from.
type part struct {
	Partition
	dev  *sample.Device
	inst *sample.Instance // nil for a whole device
	mem  *sample.Memory
	held []sample.Held
	// compute is how the compute instances divide a MIG instance.
	compute computeShares
}

// target is what a name leads to: a partition and the share of it that the
// name stands for (a compute instance is a part of its GPU instance). A share
// of 0 is one that is not known.
type target struct {
	part  *part
	share gpu.Ratio
}

// inventory finds partitions by every name they have.
type inventory struct {
	parts   []*part
	byUUID  map[gpu.UUID]target
	byMinor map[int]*part
	byIndex map[int]*part
	// slots are ids of a node without NVML, by the index of their slot.
	slots map[string]int
}

func newInventory(devices []sample.Device, slots map[string]int) *inventory {
	inv := &inventory{
		byUUID: map[gpu.UUID]target{}, byMinor: map[int]*part{}, byIndex: map[int]*part{}, slots: slots,
	}
	for i := range devices {
		inv.add(&devices[i])
	}
	slices.SortFunc(inv.parts, func(a, b *part) int { return a.ID.Compare(b.ID) })
	return inv
}

func (inv *inventory) add(d *sample.Device) {
	whole := newPart(d, nil)
	inv.parts = append(inv.parts, whole)
	inv.byUUID[d.UUID] = target{whole, gpu.One}
	inv.byMinor[d.Minor] = whole
	inv.byIndex[d.Index] = whole
	for i := range d.Instances {
		p := newPart(d, &d.Instances[i])
		inv.parts = append(inv.parts, p)
		for _, ci := range d.Instances[i].Compute {
			inv.byUUID[ci.UUID] = target{p, p.compute.of(ci)}
		}
	}
}

func newPart(d *sample.Device, inst *sample.Instance) *part {
	p := &part{dev: d, inst: inst, Partition: Partition{
		ID: gpu.Whole(d.UUID), Index: d.Index, Minor: d.Minor, Slot: d.PCIBusID, Model: d.Name,
		State: d.State, Reason: d.Reason, DeviceSlices: d.MemorySlices, Grade: gpu.Unmeasured,
		Power: d.Power, Accounted: d.Accounted,
	}}
	if inst == nil {
		p.wholeDevice(d)
	} else {
		p.instance(d, inst)
	}
	return p
}

func (p *part) wholeDevice(d *sample.Device) {
	p.Names = []gpu.UUID{d.UUID}
	p.Signals = d.Signals
	if d.MIG || len(d.Instances) > 0 {
		p.MIGParent = true
		p.Mode = gpu.ModeMIG
		p.StrandedSlices = stranded(d)
		p.mem, p.held = d.Memory, outsideOf(d)
		return
	}
	p.mem, p.held = d.Memory, processesOf(d.Processes)
}

func (p *part) instance(d *sample.Device, inst *sample.Instance) {
	p.ID = gpu.PartitionID{Device: d.UUID, Instance: inst.ID, SinceMS: inst.SinceMS}
	p.Profile, p.Placement, p.Slices = inst.Profile, inst.Placement, inst.Placement.Size
	p.Signals, p.mem, p.held = inst.Signals, inst.Memory, processesOf(inst.Processes)
	p.Power, p.Accounted, p.compute = sample.Power{}, nil, sharesOf(inst)
	for _, ci := range inst.Compute {
		p.Names = append(p.Names, ci.UUID)
	}
	slices.Sort(p.Names)
}

func stranded(d *sample.Device) uint32 {
	taken := make([]gpu.Placement, 0, len(d.Instances))
	for _, i := range d.Instances {
		taken = append(taken, i.Placement)
	}
	return gpu.Stranded(d.MemorySlices, d.Placements, taken)
}

// grantable are the partitions that a scheduler can hand out.
func (inv *inventory) grantable() []*part {
	var out []*part
	for _, p := range inv.parts {
		if !p.MIGParent {
			out = append(out, p)
		}
	}
	return out
}

// slot finds an id of a node without NVML.
func (inv *inventory) slot(id string) []target {
	i, ok := inv.slots[id]
	if !ok {
		return nil
	}
	return targetOf(inv.byIndex[i])
}

// instances are the MIG instances of a device.
func (inv *inventory) instances(device gpu.UUID) []*part {
	var out []*part
	for _, p := range inv.parts {
		if p.inst != nil && p.ID.Device == device {
			out = append(out, p)
		}
	}
	return out
}

// resolve finds what a device plugin id stands for. Several targets only for
// WSL's "all". None means that the id names nothing this node has.
func (inv *inventory) resolve(id workload.DeviceID) []target {
	switch id.Form {
	case workload.FormUUID, workload.FormMIG, workload.FormHAMiSlot:
		return inv.named(id.UUID)
	case workload.FormLegacyMIG:
		return inv.gpuInstance(inv.byUUID[id.UUID].part, id)
	case workload.FormMinor:
		whole := inv.byMinor[deref(id.Minor)]
		if id.Instance != nil {
			return inv.gpuInstance(whole, id)
		}
		return targetOf(whole)
	case workload.FormAll:
		return inv.all()
	}
	if g := inv.grantable(); len(g) == 1 {
		return targetOf(g[0])
	}
	return nil
}

// named finds a UUID. A device in MIG mode cannot be granted as a whole.
func (inv *inventory) named(uuid gpu.UUID) []target {
	t, ok := inv.byUUID[uuid]
	if !ok || t.part.MIGParent {
		return nil
	}
	return []target{t}
}

func (inv *inventory) gpuInstance(whole *part, id workload.DeviceID) []target {
	if whole == nil || id.Instance == nil {
		return nil
	}
	for _, p := range inv.instances(whole.ID.Device) {
		if p.inst.ID != *id.Instance {
			continue
		}
		for _, ci := range p.inst.Compute {
			if id.Compute != nil && ci.ID == *id.Compute {
				return []target{{p, p.compute.of(ci)}}
			}
		}
		return targetOf(p)
	}
	return nil
}

func (inv *inventory) all() []target {
	var out []target
	for _, p := range inv.grantable() {
		out = append(out, p.target())
	}
	return out
}

func targetOf(p *part) []target {
	if p == nil || p.MIGParent {
		return nil
	}
	return []target{p.target()}
}

// target is all of the partition.
func (p *part) target() target {
	if p.inst != nil {
		return target{p, p.compute.whole()}
	}
	return target{p, gpu.One}
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
