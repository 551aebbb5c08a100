// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"os"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestEnumeration(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb", "util=97", "serial=42")
	s.GPU("t4", "minor=5")
	lib := load(t, s)

	if count := must[int](t)(lib.DeviceGetCount()); count != 2 {
		t.Fatalf("count %d, want 2", count)
	}
	d := device(t, lib, 1)
	name := must[string](t)(d.GetName())
	uuid := must[string](t)(d.GetUUID())
	minor := must[int](t)(d.GetMinorNumber())
	if name != "Tesla T4" || uuid != mocknvml.UUID(1) || minor != 5 {
		t.Errorf("got %q %q minor %d", name, uuid, minor)
	}
	if must[nvml.Device](t)(lib.DeviceGetHandleByUUID(uuid)) != d {
		t.Errorf("handle by UUID differs from handle by index")
	}
	if must[nvml.Device](t)(lib.DeviceGetHandleBySerial("42")) != device(t, lib, 0) {
		t.Errorf("handle by serial differs from handle by index")
	}
	_, ret := lib.DeviceGetHandleByIndex(2)
	want(t, ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = lib.DeviceGetHandleByUUID("GPU-none")
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

func TestPCI(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("t4")
	s.GPU("t4", "domain=1", "bus=0x4e", "device=2")
	lib := load(t, s)
	d := device(t, lib, 1)
	pci := must[nvml.PciInfo](t)(d.GetPciInfo())
	if got := text(pci.BusId[:]); got != "00000001:4E:02.0" {
		t.Errorf("bus id %q", got)
	}
	if got := text(pci.BusIdLegacy[:]); got != "0001:4E:02.0" {
		t.Errorf("legacy bus id %q", got)
	}
	for _, id := range []string{"00000001:4E:02.0", "0001:4e:02.0"} {
		if must[nvml.Device](t)(lib.DeviceGetHandleByPciBusId(id)) != d {
			t.Errorf("%s is another device", id)
		}
	}
}

func TestSystem(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Driver("575.51.03")
	s.Add("cuda", "12090")
	s.GPU("t4")
	lib := load(t, s)
	if v := must[string](t)(lib.SystemGetDriverVersion()); v != "575.51.03" {
		t.Errorf("driver %q", v)
	}
	if v := must[string](t)(lib.SystemGetNVMLVersion()); v != "12.575.51.03" {
		t.Errorf("NVML %q", v)
	}
	if v := must[int](t)(lib.SystemGetCudaDriverVersion()); v != 12090 {
		t.Errorf("CUDA %d", v)
	}
	if name := must[string](t)(lib.SystemGetProcessName(os.Getpid())); !strings.Contains(name, ".test") {
		t.Errorf("name of this process %q", name)
	}
	_, ret := lib.SystemGetProcessName(1 << 30)
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

// What the profiles say, as far as it differs in kind.
func TestProfiles(t *testing.T) {
	profiles := []struct {
		key, name string
		arch      nvml.DeviceArchitecture
		major     int
		total     uint64 // 0: memory is not readable
		mig, gpm  bool
	}{
		{"t4", "Tesla T4", nvml.DEVICE_ARCH_TURING, 7, 15360 * mib, false, false},
		{"a10g", "NVIDIA A10G", nvml.DEVICE_ARCH_AMPERE, 8, 23028 * mib, false, false},
		{"l40s", "NVIDIA L40S", nvml.DEVICE_ARCH_ADA, 8, 46068 * mib, false, false},
		{"a100-40gb", "NVIDIA A100-SXM4-40GB", nvml.DEVICE_ARCH_AMPERE, 8, 40 * gib, true, false},
		{"a100-80gb", "NVIDIA A100-SXM4-80GB", nvml.DEVICE_ARCH_AMPERE, 8, 80 * gib, true, false},
		{"a30", "NVIDIA A30", nvml.DEVICE_ARCH_AMPERE, 8, 24 * gib, true, false},
		{"h100", "NVIDIA H100 80GB HBM3", nvml.DEVICE_ARCH_HOPPER, 9, 81559 * mib, true, true},
		{"h100-pcie", "NVIDIA H100 PCIe", nvml.DEVICE_ARCH_HOPPER, 9, 81559 * mib, true, true},
		{"h200", "NVIDIA H200", nvml.DEVICE_ARCH_HOPPER, 9, 143771 * mib, true, true},
		{"b200", "NVIDIA B200", nvml.DEVICE_ARCH_BLACKWELL, 10, 183359 * mib, true, true},
		{"gb10", "NVIDIA GB10", nvml.DEVICE_ARCH_BLACKWELL, 12, 0, false, false},
		{"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", nvml.DEVICE_ARCH_BLACKWELL, 12, 97887 * mib, true, true},
	}
	s := mocknvml.TestState(t)
	for _, p := range profiles {
		s.GPU(p.key)
	}
	lib := load(t, s)
	for i, p := range profiles {
		d := device(t, lib, i)
		if name := must[string](t)(d.GetName()); name != p.name {
			t.Errorf("%s: name %q, want %q", p.key, name, p.name)
		}
		if arch := must[nvml.DeviceArchitecture](t)(d.GetArchitecture()); arch != p.arch {
			t.Errorf("%s: architecture %d, want %d", p.key, arch, p.arch)
		}
		if major, _, ret := d.GetCudaComputeCapability(); ret != nvml.SUCCESS || major != p.major {
			t.Errorf("%s: compute capability %d (%v), want %d", p.key, major, ret, p.major)
		}
		memory, ret := d.GetMemoryInfo_v2()
		if p.total == 0 && ret != nvml.ERROR_NOT_SUPPORTED || p.total != 0 && memory.Total != p.total {
			t.Errorf("%s: memory %+v (%v), want %d", p.key, memory, ret, p.total)
		}
		if _, _, ret := d.GetMigMode(); (ret == nvml.SUCCESS) != p.mig {
			t.Errorf("%s: MIG mode: %v", p.key, ret)
		}
		if gpm := must[nvml.GpmSupport](t)(d.GpmQueryDeviceSupport()); (gpm.IsSupportedDevice == 1) != p.gpm {
			t.Errorf("%s: GPM support %+v", p.key, gpm)
		}
	}
}

func TestModes(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb", "compute_mode=exclusive_process", "persistence=0", "addressing=hmm", "virtualization=passthrough",
		"ecc_corrected=3", "ecc_uncorrected=1", "name=NVIDIA_A100-PCIE-40GB", "numa=2")
	lib := load(t, s)
	d := device(t, lib, 0)
	if mode := must[nvml.ComputeMode](t)(d.GetComputeMode()); mode != nvml.COMPUTEMODE_EXCLUSIVE_PROCESS {
		t.Errorf("compute mode %d", mode)
	}
	if mode := must[nvml.EnableState](t)(d.GetPersistenceMode()); mode != nvml.FEATURE_DISABLED {
		t.Errorf("persistence mode %d", mode)
	}
	if mode := must[nvml.DeviceAddressingMode](t)(d.GetAddressingMode()); mode.Value != uint32(nvml.DEVICE_ADDRESSING_MODE_HMM) {
		t.Errorf("addressing mode %+v", mode)
	}
	if mode := must[nvml.GpuVirtualizationMode](t)(d.GetVirtualizationMode()); mode != nvml.GPU_VIRTUALIZATION_MODE_PASSTHROUGH {
		t.Errorf("virtualization mode %d", mode)
	}
	if n := must[uint64](t)(d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)); n != 3 {
		t.Errorf("corrected errors %d", n)
	}
	if name := must[string](t)(d.GetName()); name != "NVIDIA A100-PCIE-40GB" {
		t.Errorf("an underscore in a name is a blank, got %q", name)
	}
}
