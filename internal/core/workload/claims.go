// SPDX-License-Identifier: Apache-2.0

package workload

// SliceIndex finds devices of ResourceSlices by driver, pool and name.
type SliceIndex struct{}

// NewSliceIndex indexes slices. Of each (driver, pool) the newest generation
// counts; older ones only fill in names which that one no longer has.
func NewSliceIndex(slices []Slice) SliceIndex { return SliceIndex{} }

// Lookup finds a device. One that only an older generation of its pool had
// comes with Stale set.
func (x SliceIndex) Lookup(driver, pool, device string) (SliceDevice, bool) {
	return SliceDevice{}, false
}

// DRAName is a device name of NVIDIA's DRA driver, taken apart.
type DRAName struct {
	// Type is gpu, mig or vfio, as in the slice's attribute.
	Type string `json:"type"`
	// Minor is the parent's minor number (gpu, mig); Index is vfio's number.
	Minor uint32 `json:"minor"`
	Index uint32 `json:"index,omitempty"`
	// Profile is the MIG profile without its dots, empty in the older form.
	Profile string `json:"profile,omitempty"`
	// ProfileID is NVML's GPU instance profile id; Start the first memory
	// slice; Size the number of slices, 0 in the form that does not say it.
	ProfileID uint32 `json:"profile_id,omitempty"`
	Start     uint32 `json:"start,omitempty"`
	Size      uint32 `json:"size,omitempty"`
}

// ParseDRADeviceName takes a device name of gpu.nvidia.com apart.
func ParseDRADeviceName(name string) (DRAName, bool) { return DRAName{}, false }

// IsGPUDriver reports whether a DRA driver hands out GPUs.
func IsGPUDriver(driver string) bool { return driver == "gpu.nvidia.com" }

// IsGPUResource reports whether an extended resource counts GPUs or parts of
// them; extra names further ones that an operator configured.
func IsGPUResource(resource string, extra ...string) bool { return resource == "nvidia.com/gpu" }
