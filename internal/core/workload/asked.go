// SPDX-License-Identifier: Apache-2.0

package workload

import "strings"

// Asked is how many units of the matching resources the pod's specification
// asks for at once. A plain init container hands its devices on to the
// containers after it (kubelet's device manager), so that the larger of the two
// phases counts.
func (p Pod) Asked(match func(resource string) bool) int64 {
	var apps, init int64
	for _, c := range p.Containers {
		if n := c.asked(match); c.Kind == ContainerInit {
			init = max(init, n)
		} else {
			apps += n
		}
	}
	return max(apps, init)
}

// AskedByInit is the same for the plain init containers that have not finished
// yet. The kubelet never lists what those were given.
func (p Pod) AskedByInit(match func(resource string) bool) int64 {
	var init int64
	for _, c := range p.Containers {
		if c.Kind == ContainerInit && (c.FinishedAt == nil || c.Running) {
			init = max(init, c.asked(match))
		}
	}
	return init
}

func (c Container) asked(match func(resource string) bool) int64 {
	var n int64
	for resource, count := range c.Limits {
		if count > 0 && match(resource) {
			n += count
		}
	}
	return n
}

// IsSharesResource reports whether a resource is one of an annotation
// scheduler's own, and of those one that counts a share of GPUs. HAMi has none:
// it takes over the names of NVIDIA's plugin.
func IsSharesResource(source, resource string) bool {
	domain, name, ok := strings.Cut(resource, "/")
	if !ok {
		return false
	}
	switch source {
	case SourceVolcano:
		return domain == "volcano.sh" && (strings.HasPrefix(name, "vgpu-") || strings.HasPrefix(name, "gpu-"))
	case SourceKoordinator:
		// The older releases' names are in Kubernetes' own domain.
		return (domain == "koordinator.sh" || domain == "kubernetes.io") && strings.HasPrefix(name, "gpu")
	case SourceAliyun:
		return domain == "aliyun.com" && strings.HasPrefix(name, "gpu-")
	}
	return false
}

// AskedDevices is on how many devices at most the pod's specification asks a
// scheduler for a share; 0 where it asks for none. The specification cannot be
// changed once the pod exists, as an annotation can.
func (p Pod) AskedDevices(source string, extra ...string) int64 {
	switch source {
	case SourceHAMi:
		return p.Asked(func(r string) bool { return IsGPUResource(r, extra...) })
	case SourceVolcano:
		return p.counted(source, 1, "vgpu-number", "gpu-number")
	case SourceAliyun:
		return p.counted(source, 1, "gpu-count")
	case SourceKoordinator:
		// In percent of a device; gpu.shared is a number of devices.
		return max(p.counted(source, 100, "gpu", "gpu-core", "gpu-memory-ratio"), p.counted(source, 1, "gpu.shared"))
	}
	return 0
}

// counted is the number of devices that the named resources stand for, rounded
// up, and 1 where the pod asks for another resource of the source alone.
func (p Pod) counted(source string, perDevice int64, names ...string) int64 {
	if p.Asked(func(r string) bool { return IsSharesResource(source, r) }) == 0 {
		return 0
	}
	most := int64(1)
	for _, name := range names {
		n := p.Asked(func(r string) bool { return IsSharesResource(source, r) && strings.HasSuffix(r, "/"+name) })
		most = max(most, n/perDevice+min(n%perDevice, 1))
	}
	return most
}
