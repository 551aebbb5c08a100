// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// Slice keeps of a ResourceSlice what gputally needs.
func Slice(s *resourcev1.ResourceSlice) workload.Slice {
	out := workload.Slice{
		Name:       s.Name,
		Driver:     s.Spec.Driver,
		Pool:       s.Spec.Pool.Name,
		Generation: s.Spec.Pool.Generation,
		Node:       deref(s.Spec.NodeName),
	}
	for _, d := range s.Spec.Devices {
		out.Devices = append(out.Devices, sliceDevice(d, s.Spec.Driver))
	}
	return out
}

func sliceDevice(d resourcev1.Device, driver string) workload.SliceDevice {
	text := func(name string) string {
		a, _ := qualified(d.Attributes, driver, name)
		return deref(a.StringValue)
	}
	out := workload.SliceDevice{
		Name:       d.Name,
		Type:       text("type"),
		UUID:       text("uuid"),
		ParentUUID: text("parentUUID"),
		Profile:    text("profile"),
		Product:    text("productName"),
		Multiple:   deref(d.AllowMultipleAllocations),
	}
	if c, ok := qualified(d.Capacity, driver, "memory"); ok {
		out.MemoryBytes = bytesOf(c.Value)
	}
	return out
}

// qualified looks a name up as the driver may write it: bare, which means the
// driver's own domain, or with that domain before it.
func qualified[V any](m map[resourcev1.QualifiedName]V, driver, name string) (V, bool) {
	if v, ok := m[resourcev1.QualifiedName(name)]; ok {
		return v, true
	}
	v, ok := m[resourcev1.QualifiedName(driver+"/"+name)]
	return v, ok
}
