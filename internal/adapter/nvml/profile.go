// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
)

// profile is one GPU instance profile of a device and where its instances may
// lie. It does not change while the driver is loaded.
type profile struct {
	info       binding.GpuInstanceProfileInfo
	name       string
	placements []gpu.Placement
}

// readProfiles reads the geometry of the device: every profile, its possible
// placements, and from their ends how many memory slices there are.
func (r *reading) readProfiles() {
	l := &r.past.layout
	profiles, end := []profile{}, uint32(0)
	for number := range binding.GPU_INSTANCE_PROFILE_COUNT {
		p, ok := r.profile(number)
		if !ok {
			continue
		}
		p.placements = r.possible(&p.info)
		for _, place := range p.placements {
			end = max(end, place.Start+place.Size)
		}
		profiles = append(profiles, p)
	}
	if r.failed() || r.quit.Load() {
		return
	}
	slices.SortFunc(profiles, func(a, b profile) int { return cmp.Compare(a.info.Id, b.info.Id) })
	l.profiles, l.possible, l.slices = profiles, placements(profiles), end
}

// profile reads one profile, by the call that also gives its name if the
// driver has it.
func (r *reading) profile(number int) (p profile, ok bool) {
	if r.begin(symProfileInfoV) {
		info, ret := r.handle.GetGpuInstanceProfileInfoV(number).V2()
		if r.ok(ret) {
			p.info = binding.GpuInstanceProfileInfo{
				Id: info.Id, SliceCount: info.SliceCount, InstanceCount: info.InstanceCount, MemorySizeMB: info.MemorySizeMB,
				MultiprocessorCount: info.MultiprocessorCount,
			}
			p.name = r.spelling(text(info.Name[:]), p.info)
			return p, true
		}
		if ret != binding.ERROR_ARGUMENT_VERSION_MISMATCH && ret != binding.ERROR_FUNCTION_NOT_FOUND {
			return p, false
		}
	}
	if !r.begin(symProfileInfo) {
		return p, false
	}
	info, ret := r.handle.GetGpuInstanceProfileInfo(number)
	p.info, p.name = info, r.spelling("", info)
	return p, r.ok(ret)
}

func (r *reading) possible(info *binding.GpuInstanceProfileInfo) (out []gpu.Placement) {
	if !r.begin(symPlacements) {
		return nil
	}
	var places []binding.GpuInstancePlacement
	var ret binding.Return
	if !r.contained(func() { places, ret = r.handle.GetGpuInstancePossiblePlacements(info) }) || !r.ok(ret) {
		return nil
	}
	for _, p := range places {
		out = append(out, gpu.Placement{Start: p.Start, Size: p.Size})
	}
	return out
}

// bareInstances lists all GPU instances by profile. Those without a compute
// instance have no MIG device, and yet take their place.
func (r *reading) bareInstances() (out []instance) {
	for n := range r.past.layout.profiles {
		p := &r.past.layout.profiles[n]
		if p.info.InstanceCount == 0 || !r.begin(symGpuInstances) {
			continue
		}
		var found []binding.GpuInstance
		var ret binding.Return
		if !r.contained(func() { found, ret = r.handle.GetGpuInstances(&p.info) }) || !r.ok(ret) {
			continue
		}
		for _, h := range found {
			i := instance{profile: p.name, slices: p.info.SliceCount}
			if r.gpuInstanceInfo(h, &i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// contained runs a call in which the binding may panic (it trusts a count that
// the driver may raise between two calls) and reports whether it did not.
func (r *reading) contained(call func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			r.settings.log.Warn("the NVML binding panicked; this reading is left out", "device", r.out.UUID, "call", r.current(), "panic", p)
		}
	}()
	call()
	return true
}

// profileName is the name of the instance's profile: as the MIG device's name
// says it, as the profile itself does, or made up from its sizes. The tools
// disagree about these names, so nothing is computed from one.
func (r *reading) profileName(i instance) string {
	if r.begin(symName) {
		name, ret := i.devices[0].handle.GetName()
		r.gone(ret)
		if _, after, found := strings.Cut(name, " MIG "); r.ok(ret) && found {
			if p, err := gpu.ParseProfile(after); err == nil {
				p.Compute = p.Slices
				return p.String()
			}
		}
	}
	for _, p := range r.past.layout.profiles {
		if p.info.Id == i.profileID && i.placement.Size != 0 {
			return p.name
		}
	}
	return ""
}

// spelling is the name given, or one put together from slices and memory.
func (r *reading) spelling(name string, info binding.GpuInstanceProfileInfo) string {
	if name = strings.TrimPrefix(name, "MIG "); name != "" {
		return name
	}
	total := uint64(0)
	if r.out.Memory != nil {
		total = r.out.Memory.Total
	}
	return fmt.Sprintf("%dg.%dgb", info.SliceCount, nominalGB(info.MemorySizeMB*gpu.MiB, total))
}

// nominalGB is the size in a profile's name: its share of the device, rounded
// up to eighths, of the device's GiB (as go-nvlib does it). The bytes alone
// would name 1g.18gb of an H200 "16gb".
func nominalGB(bytes, total uint64) uint64 {
	const gib = 1 << 30
	if total == 0 || bytes > total {
		return (bytes + gib - 1) / gib
	}
	eighths := (8*bytes + total - 1) / total
	return (eighths*((total+gib-1)/gib) + 4) / 8
}

// text is a C string in a fixed array.
func text(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

func placements(profiles []profile) []gpu.ProfilePlacements {
	out := make([]gpu.ProfilePlacements, 0, len(profiles))
	for _, p := range profiles {
		out = append(out, gpu.ProfilePlacements{ProfileID: p.info.Id, Name: p.name, Placements: p.placements,
			Bytes: p.info.MemorySizeMB * gpu.MiB, SMs: p.info.MultiprocessorCount, ComputeSlices: p.info.SliceCount})
	}
	return out
}
