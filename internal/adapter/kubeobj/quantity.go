// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// request is what a container requests of a resource. Where it names only a
// limit, that is its request too (the API server's own defaulting).
func request(r corev1.ResourceRequirements, name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := r.Requests[name]; ok {
		return q, true
	}
	q, ok := r.Limits[name]
	return q, ok
}

// extended are the limits on extended resources (those with a domain in their
// name). A request without a limit counts too: Kubernetes wants them equal.
func extended(r corev1.ResourceRequirements) map[string]int64 {
	var kept map[string]int64
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name, q := range list {
			if !strings.Contains(string(name), "/") {
				continue
			}
			if kept == nil {
				kept = map[string]int64{}
			}
			kept[string(name)] = q.Value()
		}
	}
	return kept
}

// amounts are a node's resources: cpu in thousandths of a core, everything
// else in its own unit (bytes, or a count).
func amounts(list corev1.ResourceList) map[string]int64 {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]int64, len(list))
	for name, q := range list {
		if name == corev1.ResourceCPU {
			out[string(name)] = q.MilliValue()
			continue
		}
		out[string(name)] = q.Value()
	}
	return out
}

// bytesOf is a quantity as a number of bytes, nil below zero.
func bytesOf(q resource.Quantity) *uint64 {
	v := q.Value()
	if v < 0 {
		return nil
	}
	u := uint64(v)
	return &u
}
