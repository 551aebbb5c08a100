// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"slices"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// layout is what is remembered of how a device is cut into MIG instances.
type layout struct {
	known     bool // it was read at least once from this library
	restored  bool // the instances of an earlier process were taken over
	mig       bool
	devices   []migDevice
	instances []instance
	profiles  []profile // nil until read
	possible  []gpu.ProfilePlacements
	slices    uint32 // memory slices of the device
	age       int    // readings since the GPU instances were listed
}

// relist is after how many readings GPU instances are listed again although no
// MIG device has changed: one without compute instances has no MIG device.
const relist = 12

// migDevice is one compute instance, which NVML calls a MIG device.
type migDevice struct {
	handle binding.Device
	gi, ci uint32
	uuid   gpu.UUID
	slices uint32 // compute slices
}

func (d migDevice) sameAs(e migDevice) bool {
	return d.handle == e.handle && d.gi == e.gi && d.ci == e.ci && d.uuid == e.uuid
}

// instance is one GPU instance with the compute instances in it.
type instance struct {
	id        uint32
	profileID uint32
	profile   string
	placement gpu.Placement
	slices    uint32 // compute slices
	sinceMS   int64
	total     uint64 // memory at the last reading, 0 before
	dead      bool   // it was found to be another than it was
	devices   []migDevice
}

func (r *reading) migMode() bool {
	if !r.begin(symMigMode) {
		return false
	}
	current, _, ret := r.handle.GetMigMode()
	return r.must(ret) && current == binding.DEVICE_MIG_ENABLE
}

// inspectMIG reads a device in MIG mode. Where an instance is destroyed while
// it is read, or turns out to be another one, the layout is read once more.
func (r *reading) inspectMIG() {
	r.out.Memory, _ = r.memoryInfo(r.handle, true)
	for try := range migTries {
		r.vanished = false
		r.refreshLayout(try+1 == migTries)
		if r.failed() || r.quit.Load() {
			return
		}
		if !r.vanished && r.instances() {
			r.outside()
			return
		}
	}
	if !r.failed() {
		r.out.State, r.out.Reason = gpu.StateUnreadable, reasonTooFast
	}
}

const reasonTooFast = "MIG instances come and go faster than they can be read"

// migTries is how often one reading begins anew because an instance went away
// under it.
const migTries = 4

// refreshLayout lists the MIG devices and, when they have changed, reads again
// what lies behind them. When an instance is gone before all of it was read,
// nothing is taken over, except at the last try: there are drivers that never
// tell some of it.
func (r *reading) refreshLayout(last bool) {
	l := &r.past.layout
	if l.profiles == nil {
		r.readProfiles()
	}
	devices := r.migDevices()
	if r.failed() || r.quit.Load() {
		return
	}
	l.age++
	if !l.known || !l.mig || l.age >= relist || !slices.EqualFunc(devices, l.devices, migDevice.sameAs) {
		fresh := r.group(devices)
		if r.failed() || r.quit.Load() {
			return
		}
		if r.vanished && !last {
			return
		}
		r.changeLayout(devices, fresh)
		if r.vanished {
			l.age = relist // ask again in the next reading
		}
		r.vanished = false
	}
}

// migDevices walks the indexes of MIG devices. NOT_FOUND and INVALID_ARGUMENT
// both mean that there is none at an index.
func (r *reading) migDevices() []migDevice {
	if !r.begin(symMaxMig) {
		return nil
	}
	n, ret := r.handle.GetMaxMigDeviceCount()
	if !r.must(ret) || !r.lib.symbols.has(symGpuInstanceID) || !r.lib.symbols.has(symComputeInstanceID) {
		return nil
	}
	var devices []migDevice
	for i := range n {
		if d, ok := r.migDevice(i); ok {
			devices = append(devices, d)
		}
	}
	slices.SortFunc(devices, func(a, b migDevice) int {
		return cmp.Or(cmp.Compare(a.gi, b.gi), cmp.Compare(a.ci, b.ci))
	})
	return devices
}

func (r *reading) migDevice(index int) (d migDevice, ok bool) {
	if !r.begin(symMigHandle) {
		return d, false
	}
	h, ret := r.handle.GetMigDeviceHandleByIndex(index)
	if ret == binding.ERROR_NOT_FOUND || ret == binding.ERROR_INVALID_ARGUMENT || !r.must(ret) {
		return d, false
	}
	d.handle = h
	// An instance may be destroyed between these calls: it is then not there.
	if !r.begin(symUUID) {
		return d, false
	}
	uuid, ret := h.GetUUID()
	if !r.ok(ret) || !r.begin(symGpuInstanceID) {
		return d, false
	}
	gi, ret := h.GetGpuInstanceId()
	if !r.ok(ret) || !r.begin(symComputeInstanceID) {
		return d, false
	}
	ci, ret := h.GetComputeInstanceId()
	d.uuid, d.gi, d.ci = gpu.UUID(uuid), uint32(gi), uint32(ci)
	return d, r.ok(ret)
}

// group puts the MIG devices under their GPU instances, and adds those GPU
// instances that have none.
func (r *reading) group(devices []migDevice) []instance {
	var out []instance
	for rest := devices; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(d migDevice) bool { return d.gi != rest[0].gi })
		if n < 0 {
			n = len(rest)
		}
		out = append(out, r.instanceFacts(rest[:n]))
		rest = rest[n:]
	}
	for _, bare := range r.bareInstances() {
		if !slices.ContainsFunc(out, func(i instance) bool { return i.id == bare.id }) {
			out = append(out, bare)
		}
	}
	slices.SortFunc(out, func(a, b instance) int { return cmp.Compare(a.id, b.id) })
	return out
}

// instanceFacts reads what does not change while a GPU instance lives.
func (r *reading) instanceFacts(devices []migDevice) instance {
	i := instance{id: devices[0].gi, devices: devices}
	for n := range devices {
		if !r.begin(symAttributes) {
			break
		}
		a, ret := devices[n].handle.GetAttributes()
		if r.gone(ret); r.ok(ret) {
			i.slices, devices[n].slices = a.GpuInstanceSliceCount, a.ComputeInstanceSliceCount
		}
	}
	if r.begin(symGpuInstanceByID) {
		h, ret := r.handle.GetGpuInstanceById(int(i.id))
		if r.gone(ret); r.ok(ret) {
			r.gpuInstanceInfo(h, &i)
		}
	}
	i.profile = r.profileName(i)
	return i
}

func (r *reading) gpuInstanceInfo(h binding.GpuInstance, i *instance) bool {
	if !r.begin(symGpuInstanceInfo) {
		return false
	}
	info, ret := h.GetInfo()
	if r.gone(ret); !r.ok(ret) {
		return false
	}
	i.id, i.profileID = info.Id, info.ProfileId
	i.placement = gpu.Placement{Start: info.Placement.Start, Size: info.Placement.Size}
	return true
}

// instances reads memory and holders of every instance. It reports false when
// one turned out not to be the one that is remembered.
func (r *reading) instances() bool {
	l := &r.past.layout
	r.out.MemorySlices, r.out.Placements = l.slices, l.possible
	r.out.Instances = make([]sample.Instance, 0, len(l.instances))
	for n := range l.instances {
		i := &l.instances[n]
		out := i.sample()
		if !r.instance(i, &out) {
			return false
		}
		r.out.Instances = append(r.out.Instances, out)
	}
	return true
}

// instance reads memory and holders of one instance. One that was destroyed
// and made anew may carry the same ids and UUID: its size gives it away.
func (r *reading) instance(i *instance, out *sample.Instance) bool {
	if len(i.devices) == 0 {
		return true
	}
	r.inInstance, r.vanished = true, false
	h := r.holdings(i.devices[0].handle, handles(i.devices))
	r.inInstance = false
	out.Memory, out.Processes = h.memory, h.processes()
	if r.failed() || r.quit.Load() {
		return false
	}
	other := h.memory != nil && i.total != 0 && i.total != h.memory.Total
	if r.vanished || other {
		i.dead, r.past.layout.devices = other, nil
		return false
	}
	if h.memory != nil {
		i.total = h.memory.Total
	}
	return true
}

func (i *instance) sample() sample.Instance {
	out := sample.Instance{
		ID: i.id, SinceMS: i.sinceMS, ProfileID: i.profileID, Profile: i.profile,
		Placement: i.placement, ComputeSlices: i.slices,
	}
	for _, d := range i.devices {
		out.Compute = append(out.Compute, sample.ComputeInstance{ID: d.ci, UUID: d.uuid, Slices: d.slices})
	}
	return out
}

func handles(devices []migDevice) []binding.Device {
	out := make([]binding.Device, len(devices))
	for i, d := range devices {
		out[i] = d.handle
	}
	return out
}

// outside lists what holds memory of the device but is in no instance. The
// parent's lists are an aggregate, given only to the privileged.
func (r *reading) outside() {
	list := merge(r.processes(r.handle, nil, true))
	list = slices.DeleteFunc(list, func(p holding) bool {
		return slices.ContainsFunc(r.past.layout.instances, func(i instance) bool { return i.id == p.gi })
	})
	r.out.Processes = holdings{list: list}.processes()
}
