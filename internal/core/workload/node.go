// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strconv"
	"strings"
)

// The labels that GPU feature discovery and GKE put on nodes.
const (
	LabelSharingStrategy = "nvidia.com/gpu.sharing-strategy"
	LabelMIGStrategy     = "nvidia.com/mig.strategy"
	LabelGKESharing      = "cloud.google.com/gke-gpu-sharing-strategy"
	LabelGKEClients      = "cloud.google.com/gke-max-shared-clients-per-gpu"
)

// Replicas is how many replicas each GPU of the node is offered as: 1 where
// GPUs are not shared. It is false where no label says it, which includes the 0
// that GPU feature discovery writes when its sharing labels are off. It is the
// second choice, after counting "::n" ids (accounting.md §4).
func (n Node) Replicas() (replicas int64, ok bool) { return n.ReplicasOf(ResourceGPU) }

// ReplicasOf is Replicas for one resource: MIG profiles under the mixed
// strategy have a label of their own (nvidia.com/mig-1g.10gb.replicas).
func (n Node) ReplicasOf(resource string) (replicas int64, ok bool) {
	label := strings.TrimSuffix(resource, ".shared") + ".replicas"
	if r, ok := positive(n.Labels[label]); ok {
		return r, true
	}
	return positive(n.Labels[LabelGKEClients])
}

func positive(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0
}

// SharingStrategy is none, time-slicing or mps, and "" where no label says it.
// GKE calls time-slicing time-sharing.
func (n Node) SharingStrategy() string {
	strategy := n.Labels[LabelSharingStrategy]
	if strategy == "" {
		strategy = n.Labels[LabelGKESharing]
	}
	if strategy == "time-sharing" {
		return "time-slicing"
	}
	return strategy
}

// MIGStrategy is none, single or mixed, and "" where no label says it.
func (n Node) MIGStrategy() string { return n.Labels[LabelMIGStrategy] }

// GPUResources is the allocatable count of each GPU resource of the node,
// zeroes among them. The counts of different resources must not be added up:
// after a change of layout the kubelet can list the same cards under several
// names (k8s-device-plugin#240).
func (n Node) GPUResources(extra ...string) map[string]int64 {
	counts := map[string]int64{}
	for resource, count := range n.Allocatable {
		if IsGPUResource(resource, extra...) {
			counts[resource] = count
		}
	}
	return counts
}
