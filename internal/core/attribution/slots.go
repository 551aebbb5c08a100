// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// maxSlots bounds what a node may claim to have: virtual nodes offer numbers
// that are no hardware.
const maxSlots = 64

// slotDevices stand in for the GPUs of a node that NVML cannot see at all
// (passthrough to VMs, Jetson): a device is then a slot of the resource
// (accounting.md §4.2). A slot whose ids carry a GPU's UUID has that UUID;
// any other is named node/index, and no UUID is invented. The map leads from
// the kubelet's ids to slots.
func slotDevices(s sample.Sample, extra []string) ([]sample.Device, map[string]int) {
	if s.NVML.OK || len(s.Devices) > 0 || s.Standalone {
		return s.Devices, nil
	}
	ids := map[string]int{}
	var names []gpu.UUID
	for _, id := range offeredIDs(s, extra) {
		name := slotName(id)
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names = append(names, name)
		}
		ids[id] = i
	}
	for len(names) < offeredUnits(s.Objects.Node, extra) {
		names = append(names, "")
	}
	return slots(s, names), ids
}

func slots(s sample.Sample, names []gpu.UUID) []sample.Device {
	var out []sample.Device
	for i, name := range names {
		if i == maxSlots {
			break
		}
		if !strings.HasPrefix(string(name), "GPU-") {
			name = gpu.UUID(fmt.Sprintf("%s/%d", s.Node, i))
		}
		out = append(out, sample.Device{
			UUID: name, Index: i, Minor: i, State: gpu.StateNotSupported, Reason: s.NVML.Error, MemorySlices: 8,
		})
	}
	return out
}

// slotName is what ids of one device have in common: its UUID, else the id.
func slotName(id string) gpu.UUID {
	if p := workload.ParseDeviceID(id); p.Form == workload.FormUUID {
		return p.UUID
	}
	return gpu.UUID(id)
}

// offeredIDs are the ids of GPU resources that the kubelet offers or granted.
func offeredIDs(s sample.Sample, extra []string) []string {
	seen := map[string]bool{}
	add := func(devices []workload.ResourceDevices) {
		for _, rd := range devices {
			if workload.IsGPUResource(rd.Resource, extra...) {
				for _, id := range rd.IDs {
					seen[id] = true
				}
			}
		}
	}
	add(s.Grants.Allocatable)
	for _, pr := range s.Grants.Pods {
		for _, c := range pr.Containers {
			add(c.Devices)
		}
	}
	out := make([]string, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// offeredUnits is how many devices the node's object offers, replicas of one
// device counted once.
func offeredUnits(n *workload.Node, extra []string) int {
	if n == nil {
		return 0
	}
	total := int64(0)
	for _, count := range n.GPUResources(extra...) {
		total += count
	}
	if r, ok := n.Replicas(); ok && r > 1 {
		total /= r
	}
	return int(min(total, maxSlots))
}
