// SPDX-License-Identifier: Apache-2.0

package workload

import "github.com/gputally/gputally/internal/core/gpu"

// AnnotationHAMiAllocated holds what HAMi's scheduler gave the pod's containers.
const AnnotationHAMiAllocated = "hami.io/vgpu-devices-allocated"

// HAMiShares reads hami.io/vgpu-devices-allocated (HAMi pkg/device/devices.go).
//
// HAMi lists init containers before app containers since it schedules them,
// and before that only app containers: the number of entries tells. A plain
// init container runs before the app containers and a pod never holds both at
// once, so HAMi counts the larger of the two on each device; here the shares
// of one pod likewise always add up to what it keeps from others: of a plain
// init container only what goes beyond the app containers on that device is
// left, and nothing once it has finished.
func HAMiShares(p Pod) ([]Share, error) {
	value := p.Annotations[AnnotationHAMiAllocated]
	if value == "" {
		return nil, nil
	}
	entries, err := parseVGPUs(value)
	if err != nil {
		return nil, badAnnotation(AnnotationHAMiAllocated, value, err)
	}
	inits := p.initContainers()
	if len(entries) != len(inits)+len(p.appContainers()) {
		inits = nil
	}
	var shares []Share
	kept := map[gpu.UUID]uint64{}
	for i, devices := range entries[len(inits):] {
		for _, d := range devices {
			kept[d.uuid] += d.bytes
			shares = append(shares, d.share(SourceHAMi).at(p, i))
		}
	}
	for i, c := range inits {
		if c.Kind == ContainerSidecar {
			for _, d := range entries[i] {
				kept[d.uuid] += d.bytes
				shares = append(shares, d.initShare(c))
			}
		}
	}
	return append(shares, initShares(inits, entries, kept)...), nil
}

// initShares are what plain init containers that have not finished hold beyond
// kept. They run one after the other, so on each device the largest counts.
func initShares(inits []Container, entries [][]vgpu, kept map[gpu.UUID]uint64) []Share {
	var shares []Share
	at := map[gpu.UUID]int{}
	for i, c := range inits {
		if c.Kind == ContainerSidecar || (c.FinishedAt != nil && !c.Running) {
			continue
		}
		for _, d := range perDevice(entries[i]) {
			if d.bytes <= kept[d.uuid] {
				continue
			}
			d.bytes -= kept[d.uuid]
			j, seen := at[d.uuid]
			switch {
			case !seen:
				at[d.uuid] = len(shares)
				shares = append(shares, d.initShare(c))
			case d.bytes > *shares[j].Bytes:
				shares[j] = d.initShare(c)
			}
		}
	}
	return shares
}

// perDevice adds up what one container has of each device.
func perDevice(devices []vgpu) []vgpu {
	var out []vgpu
	at := map[gpu.UUID]int{}
	for _, d := range devices {
		if i, seen := at[d.uuid]; seen {
			out[i].bytes += d.bytes
			out[i].cores += d.cores
			continue
		}
		at[d.uuid] = len(out)
		out = append(out, d)
	}
	return out
}

// initShare is the device as a share of an init container.
func (d vgpu) initShare(c Container) Share {
	s := d.share(SourceHAMi)
	s.ContainerName = c.Name
	return s
}
