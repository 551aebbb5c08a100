// SPDX-License-Identifier: Apache-2.0

package workload

import "github.com/gputally/gputally/internal/core/gpu"

// Share is what an annotation scheduler gave one container of one device.
type Share struct {
	// Source is hami, koordinator, aliyun or volcano.
	Source string `json:"source"`
	// Container is the position in spec.containers, -1 when not known.
	Container int `json:"container"`
	// ContainerName is the name at that position, where both are known.
	ContainerName string `json:"container_name,omitempty"`
	// One of UUID, Minor (/dev/nvidia<n>) and Index names the device.
	UUID  gpu.UUID `json:"uuid,omitempty"`
	Minor *int     `json:"minor,omitempty"`
	Index *int     `json:"index,omitempty"`
	// Bytes is the memory granted, nil when only a fraction is.
	Bytes *uint64 `json:"bytes,omitempty"`
	// Fraction is the part of the device's memory granted, zero when Bytes
	// says it.
	Fraction gpu.Ratio `json:"fraction,omitzero"`
	// Cores is the percentage of compute granted, nil when none is named.
	Cores *int64 `json:"cores,omitempty"`
}

// SchedulerShares reads the shares that HAMi, Volcano, Koordinator or Aliyun
// gpushare wrote on the pod. No such annotation: no shares and no error.
func SchedulerShares(p Pod) ([]Share, error) { return nil, nil }

// HAMiShares reads hami.io/vgpu-devices-allocated.
func HAMiShares(p Pod) ([]Share, error) { return nil, nil }

// KoordinatorShares reads scheduling.koordinator.sh/device-allocated.
func KoordinatorShares(p Pod) ([]Share, error) { return nil, nil }

// AliyunShares reads ALIYUN_COM_GPU_MEM_IDX and its companions.
func AliyunShares(p Pod) ([]Share, error) { return nil, nil }

// VolcanoShares reads volcano.sh/gpu-index and Volcano's vGPU annotations.
func VolcanoShares(p Pod) ([]Share, error) { return nil, nil }
