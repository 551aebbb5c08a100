// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
)

// The schedulers whose annotations give shares.
const (
	SourceHAMi        = "hami"
	SourceKoordinator = "koordinator"
	SourceAliyun      = "aliyun"
	SourceVolcano     = "volcano"
)

// Share is what an annotation scheduler gave one container of one device. Under
// these schedulers the kubelet's device list is not the truth; the annotation is.
type Share struct {
	// Source is one of the Source constants.
	Source string `json:"source"`
	// Container is the position among the pod's app containers, -1 when not
	// known or not one of them; ContainerName is then the only name it has.
	Container     int    `json:"container"`
	ContainerName string `json:"container_name,omitempty"`
	// One of UUID, Minor (/dev/nvidia<n>) and Index names the device.
	UUID  gpu.UUID `json:"uuid,omitempty"`
	Minor *int     `json:"minor,omitempty"`
	Index *int     `json:"index,omitempty"`
	// Bytes is the memory granted, nil when only a fraction is.
	Bytes *uint64 `json:"bytes,omitempty"`
	// Fraction is the part of the device's memory granted, zero when Bytes
	// says it. A share with neither names a device and no amount.
	Fraction gpu.Ratio `json:"fraction,omitzero"`
	// Cores is the percentage of compute granted, nil when none is named.
	Cores *int64 `json:"cores,omitempty"`
}

// ShareSources are the schedulers that SharesBy reads, in the order in which
// they are asked. KAI is read by KAIShare.
func ShareSources() []string {
	return []string{SourceHAMi, SourceVolcano, SourceKoordinator, SourceAliyun}
}

// SharesBy reads the shares that one scheduler's annotation on the pod names.
// No such annotation: no shares and no error. Whether the scheduler wrote it,
// no annotation can tell: whoever creates a pod can write any.
func SharesBy(source string, p Pod) ([]Share, error) {
	switch source {
	case SourceHAMi:
		return HAMiShares(p)
	case SourceVolcano:
		return VolcanoShares(p)
	case SourceKoordinator:
		return KoordinatorShares(p)
	case SourceAliyun:
		return AliyunShares(p)
	}
	return nil, nil
}

// badAnnotation names what cannot be read, and why.
func badAnnotation(key, value string, why error) error {
	return fmt.Errorf("read annotation %s=%q: %w", key, value, why)
}

// appContainers are the pod's app containers, in the order of its spec.
func (p Pod) appContainers() []Container {
	var out []Container
	for _, c := range p.Containers {
		if c.Kind == ContainerApp || c.Kind == "" {
			out = append(out, c)
		}
	}
	return out
}

// initContainers are the pod's init containers, sidecars among them.
func (p Pod) initContainers() []Container {
	var out []Container
	for _, c := range p.Containers {
		if c.Kind == ContainerInit || c.Kind == ContainerSidecar {
			out = append(out, c)
		}
	}
	return out
}

// requesting are the positions of the app containers that have a limit of one
// of the resources.
func (p Pod) requesting(resources ...string) []int {
	var out []int
	for i, c := range p.appContainers() {
		for _, r := range resources {
			if c.Limits[r] > 0 {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// at names the app container at a position, where there is one.
func (s Share) at(p Pod, position int) Share {
	apps := p.appContainers()
	if position < 0 || position >= len(apps) {
		s.Container = -1
		return s
	}
	s.Container, s.ContainerName = position, apps[position].Name
	return s
}
