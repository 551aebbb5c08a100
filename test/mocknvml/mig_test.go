// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"fmt"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/mocknvml"
)

// migGPU is an A100 cut into 3g.20gb with two compute instances, 2g.10gb and 1g.5gb.
func migGPU(s *mocknvml.State) *mocknvml.Line {
	g := s.GPU("a100-40gb", "mig=1")
	s.MIG(g, "1c.3g.20gb", 1, 0, "start=4")
	s.MIG(g, "2c.3g.20gb", 1, 1)
	s.MIG(g, "2g.10gb", 3, 0)
	s.MIG(g, "1g.5gb", 9, 0)
	s.Proc(g, 10, 2*gib, "gi=1", "ci=0")
	s.Proc(g, 11, 1*gib, "gi=1", "ci=1")
	s.Proc(g, 12, 3*gib, "gi=3", "ci=0")
	return g
}

// migDevices walks the MIG devices as NVIDIA's tools do.
func migDevices(t *testing.T, d nvml.Device) []nvml.Device {
	t.Helper()
	current, pending, ret := d.GetMigMode()
	want(t, ret, nvml.SUCCESS)
	if current != nvml.DEVICE_MIG_ENABLE || pending != nvml.DEVICE_MIG_ENABLE {
		t.Fatalf("MIG mode %d, pending %d", current, pending)
	}
	var all []nvml.Device
	for i := range must[int](t)(d.GetMaxMigDeviceCount()) {
		m, ret := d.GetMigDeviceHandleByIndex(i)
		if ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INVALID_ARGUMENT {
			continue
		}
		want(t, ret, nvml.SUCCESS)
		all = append(all, m)
	}
	return all
}

func TestMIGWalk(t *testing.T) {
	s := mocknvml.TestState(t)
	migGPU(s)
	d := device(t, load(t, s), 0)

	var got []string
	for _, m := range migDevices(t, d) {
		gi := must[int](t)(m.GetGpuInstanceId())
		ci := must[int](t)(m.GetComputeInstanceId())
		a := must[nvml.DeviceAttributes](t)(m.GetAttributes())
		instance := must[nvml.GpuInstance](t)(d.GetGpuInstanceById(gi))
		info := must[nvml.GpuInstanceInfo](t)(instance.GetInfo())
		if info.Device != d || info.Id != uint32(gi) {
			t.Errorf("gi %d: info %+v", gi, info)
		}
		if must[nvml.Device](t)(m.GetDeviceHandleFromMigDeviceHandle()) != d {
			t.Errorf("gi %d: parent differs", gi)
		}
		if uuid := must[string](t)(m.GetUUID()); uuid != mocknvml.MIGUUID(0, gi, ci) {
			t.Errorf("gi %d: UUID %s", gi, uuid)
		}
		got = append(got, fmt.Sprintf("gi %d ci %d: profile %d at %d:%d, slices %d/%d, SMs %d, %d MiB", gi, ci, info.ProfileId,
			info.Placement.Start, info.Placement.Size, a.ComputeInstanceSliceCount, a.GpuInstanceSliceCount,
			a.MultiprocessorCount, a.MemorySizeMB))
	}
	want := []string{
		"gi 1 ci 0: profile 9 at 4:4, slices 1/3, SMs 14, 19968 MiB",
		"gi 1 ci 1: profile 9 at 4:4, slices 2/3, SMs 28, 19968 MiB",
		"gi 3 ci 0: profile 14 at 0:2, slices 2/2, SMs 28, 9856 MiB",
		"gi 9 ci 0: profile 19 at 2:1, slices 1/1, SMs 14, 4864 MiB",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMIGHandles(t *testing.T) {
	s := mocknvml.TestState(t)
	migGPU(s)
	lib := load(t, s)
	d := device(t, lib, 0)
	m := migDevices(t, d)[2]
	if is := must[bool](t)(m.IsMigDeviceHandle()); !is {
		t.Error("a MIG device is none")
	}
	if is := must[bool](t)(d.IsMigDeviceHandle()); is {
		t.Error("a GPU is a MIG device")
	}
	for _, uuid := range []string{mocknvml.MIGUUID(0, 3, 0), "MIG-" + mocknvml.UUID(0) + "/3/0"} {
		if must[nvml.Device](t)(lib.DeviceGetHandleByUUID(uuid)) != m {
			t.Errorf("%s is another device", uuid)
		}
	}
	if name := must[string](t)(m.GetName()); name != "NVIDIA A100-SXM4-40GB MIG 2g.10gb" {
		t.Errorf("name %q", name)
	}
	if index := must[int](t)(m.GetIndex()); index != 2 {
		t.Errorf("index %d", index)
	}
	_, ret := d.GetAttributes()
	want(t, ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = d.GetMigDeviceHandleByIndex(7)
	want(t, ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = d.GetMigDeviceHandleByIndex(6)
	want(t, ret, nvml.ERROR_NOT_FOUND)
	_, ret = d.GetGpuInstanceById(2)
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

func TestMIGMemoryAndProcesses(t *testing.T) {
	s := mocknvml.TestState(t)
	migGPU(s)
	d := device(t, load(t, s), 0)
	pids := func(d nvml.Device) (all []uint32) {
		for _, p := range must[[]nvml.ProcessInfo](t)(d.GetComputeRunningProcesses()) {
			all = append(all, p.Pid)
		}
		return all
	}
	var got [][]uint32
	for _, m := range migDevices(t, d) {
		got = append(got, pids(m))
	}
	if d := cmp.Diff([][]uint32{{10}, {11}, {12}, nil}, got); d != "" {
		t.Errorf("a MIG device lists its own processes only:\n%s", d)
	}
	if d := cmp.Diff([]uint32{10, 11, 12}, pids(d)); d != "" {
		t.Errorf("the parent lists all:\n%s", d)
	}
	first := must[nvml.Memory_v2](t)(migDevices(t, d)[0].GetMemoryInfo_v2())
	if first.Total != 19968*mib || first.Used != 3*gib {
		t.Errorf("compute instances share the memory of their GPU instance, got %+v", first)
	}
	if used := must[nvml.Memory_v2](t)(d.GetMemoryInfo_v2()).Used; used != 6*gib {
		t.Errorf("the parent has the sum, got %d", used)
	}
}

func TestMIGHasNoUtilization(t *testing.T) {
	s := mocknvml.TestState(t)
	migGPU(s)
	d := device(t, load(t, s), 0)
	for _, d := range append(migDevices(t, d), d) {
		_, ret := d.GetUtilizationRates()
		want(t, ret, nvml.ERROR_NOT_SUPPORTED)
		_, ret = d.GetProcessUtilization(0)
		want(t, ret, nvml.ERROR_NOT_SUPPORTED)
	}
}

// The published table of the A100: how many instances, which placements.
func TestMIGProfiles(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb")
	d := device(t, load(t, s), 0)
	var got []string
	for p := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		info, ret := d.GetGpuInstanceProfileInfoV(p).V3()
		if ret == nvml.ERROR_NOT_SUPPORTED {
			continue
		}
		want(t, ret, nvml.SUCCESS)
		v1 := must[nvml.GpuInstanceProfileInfo](t)(d.GetGpuInstanceProfileInfo(p))
		v2 := must[nvml.GpuInstanceProfileInfo_v2](t)(d.GetGpuInstanceProfileInfoByIdV(int(info.Id)).V2())
		if v1.Id != info.Id || v2.Name != info.Name || v1.MemorySizeMB != info.MemorySizeMB {
			t.Errorf("profile %d: versions differ: %+v %+v %+v", p, v1, v2, info)
		}
		line := fmt.Sprintf("%s: id %d, %d slices, at most %d, %d MiB, %d SMs, at", text(info.Name[:]), info.Id, info.SliceCount,
			info.InstanceCount, info.MemorySizeMB, info.MultiprocessorCount)
		for _, at := range must[[]nvml.GpuInstancePlacement](t)(d.GetGpuInstancePossiblePlacements(&v1)) {
			line += fmt.Sprintf(" %d:%d", at.Start, at.Size)
		}
		got = append(got, line)
	}
	want := []string{
		"MIG 1g.5gb: id 19, 1 slices, at most 7, 4864 MiB, 14 SMs, at 0:1 1:1 2:1 3:1 4:1 5:1 6:1",
		"MIG 2g.10gb: id 14, 2 slices, at most 3, 9856 MiB, 28 SMs, at 0:2 2:2 4:2",
		"MIG 3g.20gb: id 9, 3 slices, at most 2, 19968 MiB, 42 SMs, at 0:4 4:4",
		"MIG 4g.20gb: id 5, 4 slices, at most 1, 19968 MiB, 56 SMs, at 0:4",
		"MIG 7g.40gb: id 0, 7 slices, at most 1, 40192 MiB, 98 SMs, at 0:8",
		"MIG 1g.5gb+me: id 20, 1 slices, at most 1, 4864 MiB, 14 SMs, at 0:1 1:1 2:1 3:1 4:1 5:1 6:1",
		"MIG 1g.10gb: id 15, 1 slices, at most 4, 9856 MiB, 14 SMs, at 0:2 2:2 4:2 6:2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestGpuInstancesAndTheirComputeInstances(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "mig=1")
	s.MIG(g, "1c.3g.20gb", 1, 0)
	s.MIG(g, "2c.3g.20gb", 1, 1)
	s.Add("gi", fmt.Sprint(g.Index()), "gi=12", "profile=1g.5gb") // no compute instance, so no MIG device
	d := device(t, load(t, s), 0)
	if n := len(migDevices(t, d)); n != 2 {
		t.Errorf("%d MIG devices, want 2", n)
	}
	small := must[nvml.GpuInstanceProfileInfo](t)(d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_1_SLICE))
	if n := len(must[[]nvml.GpuInstance](t)(d.GetGpuInstances(&small))); n != 1 {
		t.Errorf("%d GPU instances 1g.5gb, want 1", n)
	}
	if n := must[int](t)(d.GetGpuInstanceRemainingCapacity(&small)); n != 2 { // slices 5 and 6 of 0..6; 3g holds 0-3
		t.Errorf("room for %d more 1g.5gb, want 2", n)
	}
	instance := must[nvml.GpuInstance](t)(d.GetGpuInstanceById(1))
	two := must[nvml.ComputeInstanceProfileInfo](t)(instance.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0))
	cis := must[[]nvml.ComputeInstance](t)(instance.GetComputeInstances(&two))
	if len(cis) != 1 {
		t.Fatalf("%d compute instances of 2 slices, want 1", len(cis))
	}
	info := must[nvml.ComputeInstanceInfo](t)(cis[0].GetInfo())
	if info.Id != 1 || info.Placement != (nvml.ComputeInstancePlacement{Start: 1, Size: 2}) || info.GpuInstance != instance {
		t.Errorf("compute instance %+v", info)
	}
	name := must[nvml.ComputeInstanceProfileInfo_v2](t)(instance.GetComputeInstanceProfileInfoV(nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 0).V2())
	if got := text(name.Name[:]); got != "MIG 2c.3g.20gb" {
		t.Errorf("compute instance profile %q", got)
	}
}

// After a new layout a handle means whatever has its ids now, as the header warns.
func TestMIGReLayout(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "mig=1")
	first := s.MIG(g, "1g.5gb", 7, 0)
	d := device(t, load(t, s), 0)
	m := migDevices(t, d)[0]

	first.Remove()
	s.MIG(g, "2g.10gb", 7, 0, "uuid=MIG-second")
	s.MustWrite(t)
	if uuid := must[string](t)(m.GetUUID()); uuid != "MIG-second" {
		t.Errorf("the handle's UUID is %s", uuid)
	}
	s = mocknvml.NewState(s.Path())
	s.GPU("a100-40gb")
	s.MustWrite(t)
	_, ret := m.GetUUID()
	want(t, ret, nvml.ERROR_INVALID_ARGUMENT)
}
