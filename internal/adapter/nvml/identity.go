// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// identify checks that the handle still names the device and fills in what
// does not change while the driver is loaded, which is read once.
func (r *reading) identify() {
	if r.checkUUID(); r.failed() {
		return
	}
	if r.past.facts == nil {
		facts := r.facts()
		if r.failed() || r.quit.Load() {
			return
		}
		r.past.facts = &facts
	}
	f := r.past.facts
	r.out.Minor, r.out.Name, r.out.PCIBusID, r.out.Serial = f.Minor, f.Name, f.PCIBusID, f.Serial
	r.out.Architecture, r.out.Virtualization = f.Architecture, f.Virtualization
}

func (r *reading) checkUUID() {
	if r.nameless || !r.begin(symUUID) {
		return
	}
	uuid, ret := r.handle.GetUUID()
	if !r.must(ret) {
		return
	}
	if gpu.UUID(uuid) != r.out.UUID {
		r.renamed = true
		r.out.State = gpu.StateUnreadable
		r.out.Reason = fmt.Sprintf("the handle of this device now names %s", uuid)
	}
}

func (r *reading) facts() (f sample.Device) {
	f.Minor = -1
	if r.begin(symMinor) {
		if minor, ret := r.handle.GetMinorNumber(); r.ok(ret) {
			f.Minor = minor
		}
	}
	if r.begin(symName) {
		if name, ret := r.handle.GetName(); r.ok(ret) {
			f.Name = name
		}
	}
	if r.begin(symPCI) {
		if pci, ret := r.handle.GetPciInfo(); r.ok(ret) {
			f.PCIBusID = fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device)
		}
	}
	if r.begin(symSerial) {
		if serial, ret := r.handle.GetSerial(); r.ok(ret) {
			f.Serial = serial
		}
	}
	if r.begin(symArchitecture) {
		if arch, ret := r.handle.GetArchitecture(); r.ok(ret) {
			f.Architecture = architectures[arch]
		}
	}
	if r.begin(symVirtualization) {
		if mode, ret := r.handle.GetVirtualizationMode(); r.ok(ret) {
			f.Virtualization = virtualizationModes[mode]
		}
	}
	return f
}

// architectures are NVML's names (NVML_DEVICE_ARCH_*) in lower case.
var architectures = map[binding.DeviceArchitecture]string{
	binding.DEVICE_ARCH_KEPLER:    "kepler",
	binding.DEVICE_ARCH_MAXWELL:   "maxwell",
	binding.DEVICE_ARCH_PASCAL:    "pascal",
	binding.DEVICE_ARCH_VOLTA:     "volta",
	binding.DEVICE_ARCH_TURING:    "turing",
	binding.DEVICE_ARCH_AMPERE:    "ampere",
	binding.DEVICE_ARCH_ADA:       "ada",
	binding.DEVICE_ARCH_HOPPER:    "hopper",
	binding.DEVICE_ARCH_BLACKWELL: "blackwell",
	binding.DEVICE_ARCH_RUBIN:     "rubin",
}

// virtualizationModes are NVML's modes (NVML_GPU_VIRTUALIZATION_MODE_*); the
// one it calls VGPU is that of a guest.
var virtualizationModes = map[binding.GpuVirtualizationMode]string{
	binding.GPU_VIRTUALIZATION_MODE_NONE:        "none",
	binding.GPU_VIRTUALIZATION_MODE_PASSTHROUGH: "passthrough",
	binding.GPU_VIRTUALIZATION_MODE_VGPU:        "vgpu_guest",
	binding.GPU_VIRTUALIZATION_MODE_HOST_VGPU:   "vgpu_host",
	binding.GPU_VIRTUALIZATION_MODE_HOST_VSGA:   "vsga_host",
}

var computeModes = map[binding.ComputeMode]string{
	binding.COMPUTEMODE_DEFAULT:           "default",
	binding.COMPUTEMODE_EXCLUSIVE_THREAD:  "exclusive_thread",
	binding.COMPUTEMODE_PROHIBITED:        "prohibited",
	binding.COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive_process",
}

// computeMode is read every time: the MPS daemon changes it.
func (r *reading) computeMode() {
	if r.begin(symComputeMode) {
		if mode, ret := r.handle.GetComputeMode(); r.ok(ret) {
			r.out.ComputeMode = computeModes[mode]
		}
	}
}

// register asks for the device's events, once.
func (r *reading) register() {
	if r.past.registered || r.lib.events.set == nil || !r.begin(symEventTypes) {
		return
	}
	supported, ret := r.handle.GetSupportedEventTypes()
	if !r.ok(ret) || supported&eventTypes == 0 {
		r.past.registered = ret == binding.SUCCESS || absent(ret)
		return
	}
	if r.begin(symRegisterEvents) {
		ret := r.handle.RegisterEvents(supported&eventTypes, r.lib.events.set)
		r.past.registered = r.ok(ret) || absent(ret)
	}
}
