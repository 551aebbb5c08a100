// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// Node keeps of a node what gputally needs. Allocatable and Capacity hold cpu
// in thousandths of a core, everything else in its own unit.
func Node(n *corev1.Node) workload.Node {
	return workload.Node{
		Name:        n.Name,
		Labels:      maps.Clone(n.Labels),
		ProviderID:  n.Spec.ProviderID,
		Allocatable: amounts(n.Status.Allocatable),
		Capacity:    amounts(n.Status.Capacity),
	}
}
