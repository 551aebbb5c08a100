// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"os"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

// load starts the mock library with a state and stops it when the test ends.
// Tests here do not run in parallel: go-nvml has one library per process.
func load(t *testing.T, s *mocknvml.State) nvml.Interface {
	t.Helper()
	s.MustWrite(t)
	lib := nvml.New(nvml.WithLibraryPath(mocknvml.Build(t)))
	want(t, lib.Init(), nvml.SUCCESS)
	t.Cleanup(func() {
		if ret := lib.Shutdown(); ret != nvml.SUCCESS {
			t.Errorf("Shutdown: %v", ret)
		}
	})
	return lib
}

// device is the handle of a GPU by index.
func device(t *testing.T, lib nvml.Interface, index int) nvml.Device {
	t.Helper()
	d, ret := lib.DeviceGetHandleByIndex(index)
	want(t, ret, nvml.SUCCESS)
	return d
}

func want(t *testing.T, got, want nvml.Return) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v (%s), want %v (%s)", int32(got), nvml.ErrorString(got), int32(want), nvml.ErrorString(want))
	}
}

func TestEnumeration(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb", "util=97", "serial=42")
	s.GPU("t4", "minor=5")
	lib := load(t, s)

	count, ret := lib.DeviceGetCount()
	want(t, ret, nvml.SUCCESS)
	if count != 2 {
		t.Fatalf("count %d, want 2", count)
	}
	d := device(t, lib, 1)
	name, ret := d.GetName()
	want(t, ret, nvml.SUCCESS)
	uuid, ret := d.GetUUID()
	want(t, ret, nvml.SUCCESS)
	minor, ret := d.GetMinorNumber()
	want(t, ret, nvml.SUCCESS)
	if name != "Tesla T4" || uuid != mocknvml.UUID(1) || minor != 5 {
		t.Errorf("got %q %q minor %d", name, uuid, minor)
	}
	same, ret := lib.DeviceGetHandleByUUID(uuid)
	want(t, ret, nvml.SUCCESS)
	if same != d {
		t.Errorf("handle by UUID differs from handle by index")
	}
	pci, ret := d.GetPciInfo()
	want(t, ret, nvml.SUCCESS)
	if got := busID(pci); got != "00000000:0F:00.0" {
		t.Errorf("bus id %q", got)
	}
	byPCI, ret := lib.DeviceGetHandleByPciBusId("0000:0f:00.0")
	want(t, ret, nvml.SUCCESS)
	if byPCI != d {
		t.Errorf("handle by bus id differs")
	}
	_, ret = lib.DeviceGetHandleByIndex(2)
	want(t, ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = lib.DeviceGetHandleByUUID("GPU-none")
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

func busID(p nvml.PciInfo) string {
	var b []byte
	for _, c := range p.BusId {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

func TestMemory(t *testing.T) {
	const gib = uint64(1) << 30
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "reserved=600MiB", "extra=1GiB")
	s.Proc(g, os.Getpid(), 6*gib)
	s.Proc(g, 999999, 0).Set("mem", "unknown").Set("managed", "2GiB")
	lib := load(t, s)
	d := device(t, lib, 0)

	v2, ret := d.GetMemoryInfo_v2()
	want(t, ret, nvml.SUCCESS)
	if v2.Total != 40*gib || v2.Reserved != 600<<20 || v2.Used != 9*gib || v2.Total != v2.Used+v2.Free+v2.Reserved {
		t.Errorf("v2 %+v", v2)
	}
	v1, ret := d.GetMemoryInfo()
	want(t, ret, nvml.SUCCESS)
	if v1.Used != v2.Used+v2.Reserved || v1.Used+v1.Free != v1.Total {
		t.Errorf("v1 %+v, v2 %+v", v1, v2)
	}
	procs, ret := d.GetComputeRunningProcesses()
	want(t, ret, nvml.SUCCESS)
	if len(procs) != 2 {
		t.Fatalf("processes %+v", procs)
	}
	for _, p := range procs {
		if p.GpuInstanceId != 0xFFFFFFFF || p.ComputeInstanceId != 0xFFFFFFFF {
			t.Errorf("outside MIG the instance ids are not available, got %+v", p)
		}
		if p.Pid == 999999 && p.UsedGpuMemory != 0xFFFFFFFFFFFFFFFF {
			t.Errorf("unknown size is %x", p.UsedGpuMemory)
		}
	}
}
