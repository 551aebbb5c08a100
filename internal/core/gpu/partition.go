// SPDX-License-Identifier: Apache-2.0

package gpu

import "fmt"

// PartitionID names what can be granted: a whole device, or one GPU instance
// of it. A GPU instance id is reused after the instance is destroyed, so an
// instance is told from its successors by when it was first seen.
type PartitionID struct {
	// Device is the UUID of the physical GPU. Where the platform has none
	// (Jetson), it is "node/index", and no UUID is invented.
	Device UUID `json:"device"`
	// Instance is the GPU instance id, or WholeDevice.
	Instance uint32 `json:"instance"`
	// SinceMS is when the instance was first seen, in Unix milliseconds; 0
	// for a whole device.
	SinceMS int64 `json:"since_ms,omitempty"`
}

// Whole returns the partition that is all of device.
func Whole(device UUID) PartitionID { return PartitionID{Device: device, Instance: WholeDevice} }

// IsInstance reports whether the partition is a MIG GPU instance.
func (p PartitionID) IsInstance() bool { return p.Instance != WholeDevice }

// String is the partition as a stable text key: "GPU-…" or "GPU-…/gi7@ms".
func (p PartitionID) String() string {
	if !p.IsInstance() {
		return string(p.Device)
	}
	return fmt.Sprintf("%s/gi%d@%d", p.Device, p.Instance, p.SinceMS)
}

// Compare orders partitions by device, instance and time, whole device first.
func (p PartitionID) Compare(q PartitionID) int {
	switch {
	case p.Device != q.Device:
		return order(p.Device < q.Device)
	case p.Instance != q.Instance:
		// The whole device's id is the largest number: +1 wraps it to 0.
		return order(p.Instance+1 < q.Instance+1)
	case p.SinceMS != q.SinceMS:
		return order(p.SinceMS < q.SinceMS)
	}
	return 0
}

func order(less bool) int {
	if less {
		return -1
	}
	return 1
}

// Placement is a run of memory slices: [Start, Start+Size).
type Placement struct {
	Start uint32 `json:"start"`
	Size  uint32 `json:"size"`
}

// ProfilePlacements lists where instances of one GPU instance profile may lie,
// as nvmlDeviceGetGpuInstancePossiblePlacements answers.
type ProfilePlacements struct {
	ProfileID  uint32      `json:"profile_id"`
	Name       string      `json:"name,omitempty"`
	Placements []Placement `json:"placements"`
	// Bytes, SMs and ComputeSlices are what an instance of it has, 0 where the driver
	// does not say. Bytes is to the MiB, which is NVML's unit for it.
	Bytes         uint64 `json:"bytes,omitempty"`
	SMs           uint32 `json:"sms,omitempty"`
	ComputeSlices uint32 `json:"compute_slices,omitempty"`
}
