// SPDX-License-Identifier: Apache-2.0

package guard

import "slices"

// The words that the rules are made of, for whoever states the same rules in another
// language (admission policies): one list, two forms.

// VisibleDevices is the variable by which NVIDIA's container toolkit is asked for GPUs.
const VisibleDevices = visibleDevices

// GPUResources begin the names of resources that stand for GPUs.
func GPUResources() []string { return slices.Clone(gpuResources) }

// NotGPUs begin the names of resources that begin so and are no GPU.
func NotGPUs() []string { return slices.Clone(notGPUs) }

// DeviceDirectories are the paths of a node that hold GPU device files. The first
// stands for every name that begins with it, too.
func DeviceDirectories() []string { return append([]string{"/dev/nvidia"}, directories(deviceDir)...) }

// MPSDirectories are the paths of a node that hold the pipes of an MPS daemon.
func MPSDirectories() []string { return directories(mpsDir) }

// CDIDirectories are the paths of a node that hold specifications of CDI devices.
func CDIDirectories() []string { return directories(cdiDir) }

// DriverDirectories are the paths of a node that hold NVIDIA's driver, or parts of it.
func DriverDirectories() []string { return directories(driverDir) }

func directories(kind pathKind) []string {
	var out []string
	for _, p := range places {
		if p.kind == kind {
			out = append(out, p.path)
		}
	}
	return out
}

// DriverVariables are those that ask the toolkit for devices of the driver and are at
// least of medium severity. Always are those that do so in any container, the others
// where no GPU is asked for.
func DriverVariables() (always, others []string) {
	for _, f := range features {
		switch {
		case f.severity < Medium || f.value != "":
		case f.always:
			always = append(always, f.name)
		default:
			others = append(others, f.name)
		}
	}
	return always, others
}
