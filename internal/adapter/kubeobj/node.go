// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// Node keeps of a node what gputally needs. Allocatable and Capacity hold cpu
// in thousandths of a core, everything else in its own unit.
func Node(n *corev1.Node) workload.Node {
	return workload.Node{
		Name:          n.Name,
		Labels:        maps.Clone(n.Labels),
		ProviderID:    n.Spec.ProviderID,
		Allocatable:   amounts(n.Status.Allocatable),
		Capacity:      amounts(n.Status.Capacity),
		Taints:        taints(n),
		Unschedulable: unschedulable(n),
		CreatedMS:     createdMS(n),
	}
}

// unschedulable says that the node is cordoned: by its own field, or by the taint
// that the node lifecycle controller makes of it.
func unschedulable(n *corev1.Node) bool {
	return n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnschedulable
	})
}

func createdMS(n *corev1.Node) int64 {
	if n.CreationTimestamp.IsZero() {
		return 0
	}
	return n.CreationTimestamp.UnixMilli()
}
