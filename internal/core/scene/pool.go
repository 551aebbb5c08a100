// SPDX-License-Identifier: Apache-2.0

package scene

import "github.com/gputally/gputally/internal/core/usage"

// NodeName names a node.
type NodeName struct {
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
}

// poolLabels name a node's pool, the one that counts first: a provider's own, then
// Karpenter's, then what people write themselves.
var poolLabels = []string{
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name", "kubernetes.azure.com/agentpool", "agentpool",
	"karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "alibabacloud.com/nodepool-id", "oke.oraclecloud.com/pool.name", "node-pool", "nodepool",
}

// Shaped sets what a node's shape says of it; nil says nothing.
func (n *FleetNode) Shaped(s *usage.NodeShape) {
	if s == nil {
		return
	}
	n.Instance, n.Pool = s.Labels["node.kubernetes.io/instance-type"], ""
	for _, label := range poolLabels {
		if pool := s.Labels[label]; pool != "" {
			n.Pool = pool
			return
		}
	}
}
