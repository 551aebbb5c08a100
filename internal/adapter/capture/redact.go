// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// platformNamespaces keep their names: who is infrastructure is told by them.
var platformNamespaces = []string{
	"kube-system", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin", "nvidia-dra-driver-gpu", "nvidia",
	"gke-managed-system", "gputally", "kai-scheduler", "kai-resource-reservation", "runai-reservation", "hami-system",
}

// Redactor replaces names in samples by pseudonyms: the same name by the same
// pseudonym in every sample it sees, so that what was equal stays equal, and
// attribution comes to the same sizes and the same kinds of finding.
//
// Replaced are the names of nodes, namespaces, pods, containers, owners,
// claims and host units, users and their numbers, process names, images, label
// values, serial numbers and all identifiers (UIDs, container ids, GPU and MIG
// UUIDs), wherever they stand. Kept are sizes and times, resource, driver and
// device names, the structure of cgroup paths, the labels and annotations by
// which GPU schedulers speak, and the names of platform namespaces and what
// runs in them. Other annotations, addresses of pods and the texts of errors are dropped.
//
// It is not safe for concurrent use.
type Redactor struct {
	keep  map[string]bool
	names map[string]map[string]string // pseudonyms by kind of name
	ids   map[string]int
}

// NewRedactor returns a Redactor. platform are further namespaces whose names
// are kept, such as those of an operator's own list of GPU infrastructure.
func NewRedactor(platform ...string) *Redactor {
	r := &Redactor{keep: map[string]bool{}, names: map[string]map[string]string{}, ids: map[string]int{}}
	for _, ns := range append(slices.Clone(platformNamespaces), platform...) {
		r.keep[ns] = true
	}
	return r
}

// Redact returns the sample without its names. The argument is not changed.
func (r *Redactor) Redact(s sample.Sample) sample.Sample {
	out := s
	out.Node = r.node(s.Node)
	out.NVML.Error = hide(s.NVML.Error)
	out.Objects = r.objects(s.Objects)
	out.Grants.Pods = each(s.Grants.Pods, r.podResources)
	out.Grants.Allocatable = each(s.Grants.Allocatable, r.resourceDevices)
	out.Devices = each(s.Devices, r.device)
	out.Processes = map[int]sample.Process{}
	for _, pid := range sortedPIDs(s.Processes) {
		out.Processes[pid] = r.process(s.Processes[pid])
	}
	out.Reach = each(s.Reach, func(v sample.Reach) sample.Reach {
		v.PodUID, v.ContainerID = r.identifiers(v.PodUID), r.identifiers(v.ContainerID)
		return v
	})
	out.Usage = each(s.Usage, func(v sample.PodUsage) sample.PodUsage {
		v.PodUID = r.identifiers(v.PodUID)
		return v
	})
	out.Engines = each(s.Engines, func(v sample.Engine) sample.Engine {
		v.PodUID, v.Container = r.identifiers(v.PodUID), r.name("container", v.Container)
		v.Reading.Model = r.name("model", v.Reading.Model)
		return v
	})
	out.Sources = map[string]sample.SourceStatus{}
	for name, status := range s.Sources {
		status.Error = hide(status.Error)
		out.Sources[name] = status
	}
	return out
}

// hide keeps only that there was a text.
func hide(text string) string {
	if text == "" {
		return ""
	}
	return "redacted"
}

// each maps a list; nil stays nil.
func each[T any](list []T, f func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func (r *Redactor) device(d sample.Device) sample.Device {
	// "node/index" is the name of a GPU without UUID.
	if node, index, ok := strings.Cut(string(d.UUID), "/"); ok {
		d.UUID = gpu.UUID(r.node(node) + "/" + index)
	} else {
		d.UUID = r.uuid(d.UUID)
	}
	d.Reason = r.identifiers(d.Reason)
	d.Serial = r.name("serial", d.Serial)
	d.Events = each(d.Events, func(e sample.Event) sample.Event {
		e.Detail = r.identifiers(e.Detail)
		return e
	})
	d.Instances = each(d.Instances, func(i sample.Instance) sample.Instance {
		i.Compute = each(i.Compute, func(c sample.ComputeInstance) sample.ComputeInstance {
			c.UUID = r.uuid(c.UUID)
			return c
		})
		return i
	})
	return d
}

func (r *Redactor) uuid(u gpu.UUID) gpu.UUID { return gpu.UUID(r.identifiers(string(u))) }

func (r *Redactor) podResources(p workload.PodResources) workload.PodResources {
	p.Name, p.Namespace = r.pod(p.Namespace, p.Name), r.namespace(p.Namespace)
	p.Containers = each(p.Containers, func(c workload.ContainerResources) workload.ContainerResources {
		c.Name = r.name("container", c.Name)
		c.Devices = each(c.Devices, r.resourceDevices)
		c.Dynamic = each(c.Dynamic, func(d workload.ClaimDevices) workload.ClaimDevices {
			d.Name, d.Namespace = r.claimName(d.Namespace, d.Name), r.namespace(d.Namespace)
			d.Devices = each(d.Devices, func(v workload.ClaimDevice) workload.ClaimDevice {
				v.Pool, v.ShareID = r.node(v.Pool), r.identifiers(v.ShareID)
				return v
			})
			return d
		})
		return c
	})
	return p
}

func (r *Redactor) resourceDevices(d workload.ResourceDevices) workload.ResourceDevices {
	d.IDs = each(d.IDs, r.identifiers)
	return d
}
