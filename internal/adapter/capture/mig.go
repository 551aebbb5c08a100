// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// migPatch reads the GPU instances of a device, whole. An instance that was
// there before, with the same id and the same MIG UUIDs, keeps the moment at
// which it was first seen; others are first seen now, as an agent would say.
func (d *decoder) migPatch(n *node, path string) patch {
	if n.shape == shapeNull {
		return func(dev *device, _ int64) { dev.static.Instances = nil }
	}
	var list []sample.Instance
	seen, dated := map[uint32]bool{}, map[uint32]bool{}
	for i, c := range d.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		inst := d.instance(c, at)
		if seen[inst.ID] {
			d.fail(c.line, at+".gi", "is %d again; give one entry per GPU instance and list its compute instances under compute", inst.ID)
		}
		seen[inst.ID], dated[inst.ID] = true, c.find("since_ms") != nil
		list = append(list, inst)
	}
	return func(dev *device, now int64) {
		next := make([]sample.Instance, len(list))
		for i, inst := range list {
			if !dated[inst.ID] {
				inst.SinceMS = firstSeen(dev.static.Instances, inst, now)
			}
			next[i] = inst
		}
		dev.static.Instances = next
	}
}

func firstSeen(before []sample.Instance, inst sample.Instance, now int64) int64 {
	for _, b := range before {
		if b.ID == inst.ID && sameNames(b.Compute, inst.Compute) {
			return b.SinceMS
		}
	}
	return now
}

func sameNames(a, b []sample.ComputeInstance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UUID != b[i].UUID {
			return false
		}
	}
	return true
}

// instance reads one GPU instance. With uuid and ci it has one compute
// instance, whose id its processes get; with compute it has those listed.
func (d *decoder) instance(n *node, path string) sample.Instance {
	o := d.object(n, path)
	inst := sample.Instance{ID: uint32(d.uint(o.need("gi"), o.at("gi"), 32))}
	if v := o.get("since_ms"); v != nil {
		inst.SinceMS = d.int(v, o.at("since_ms"))
	}
	for key, field := range map[string]*uint32{"profile_id": &inst.ProfileID, "compute_slices": &inst.ComputeSlices} {
		if v := o.get(key); v != nil {
			*field = uint32(d.uint(v, o.at(key), 32))
		}
	}
	if v := o.get("profile"); v != nil {
		inst.Profile = d.text(v, o.at("profile"))
	}
	d.into(o.need("placement"), o.at("placement"), &inst.Placement)
	if v := o.get("memory_slices"); v != nil && d.uint(v, o.at("memory_slices"), 32) != uint64(inst.Placement.Size) {
		d.fail(v.line, o.at("memory_slices"), "is %s, but the placement has size %d; make them agree", v.text, inst.Placement.Size)
	}
	inst.Memory = d.instanceMemory(o)
	if v := o.get("signals"); v != nil {
		d.into(v, o.at("signals"), &inst.Signals)
	}
	only := d.compute(o, &inst)
	if v := o.get("processes"); v != nil {
		inst.Processes = d.processes(v, o.at("processes"), only)
	}
	o.done()
	return inst
}

func (d *decoder) instanceMemory(o *object) *sample.Memory {
	total, _ := o.size("total")
	used, _ := o.size("used")
	reserved, told := o.size("reserved")
	free, _ := o.size("free")
	if total == nil || used == nil {
		return nil
	}
	return &sample.Memory{
		Total: *total, Reserved: value(reserved), ReserveUnknown: told && reserved == nil,
		Used: *used, Free: value(free),
	}
}

// compute reads the compute instances; where there is just one, written in
// short, it returns its id.
func (d *decoder) compute(o *object, inst *sample.Instance) *uint32 {
	uuid, ci, list := o.get("uuid"), o.get("ci"), o.get("compute")
	if list != nil {
		if uuid != nil || ci != nil {
			d.fail(list.line, o.at("compute"), "stands beside uuid or ci; keep the list")
		}
		d.into(list, o.at("compute"), &inst.Compute)
		return nil
	}
	c := sample.ComputeInstance{UUID: gpu.UUID(d.text(o.need("uuid"), o.at("uuid"))), Slices: inst.ComputeSlices}
	if ci != nil {
		c.ID = uint32(d.uint(ci, o.at("ci"), 32))
	}
	inst.Compute = []sample.ComputeInstance{c}
	return &c.ID
}

// processes reads a process list; only is the compute instance of those that
// do not name theirs.
func (d *decoder) processes(n *node, path string, only *uint32) []sample.Held {
	if n.shape == shapeNull {
		return nil
	}
	var out []sample.Held
	for i, c := range d.list(n, path) {
		o := d.object(c, fmt.Sprintf("%s[%d]", path, i))
		h := sample.Held{PID: int(d.uint(o.need("pid"), o.at("pid"), 31)), Compute: only}
		var given bool
		if h.Bytes, given = o.size("used"); !given {
			d.fail(c.line, o.at("used_mib"), "is missing; write the size, or null where NVML says it is not available")
		}
		if v := o.get("kind"); v != nil {
			h.Kind = d.processKind(v, o.at("kind"))
		}
		if v := o.get("ci"); v != nil {
			id := uint32(d.uint(v, o.at("ci"), 32))
			h.Compute = &id
		}
		if v := o.get("sm"); v != nil && v.shape != shapeNull {
			sm := d.float(v, o.at("sm"))
			h.SM = &sm
		}
		o.done()
		out = append(out, h)
	}
	return out
}

func (d *decoder) processKind(n *node, path string) sample.ProcessKind {
	k := sample.ProcessKind(d.text(n, path))
	switch k {
	case sample.KindCompute, sample.KindGraphics, sample.KindMPS:
		return k
	}
	d.fail(n.line, path, "is %q; write compute, graphics or mps", clip(n.text))
	return ""
}
