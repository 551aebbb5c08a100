// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
)

// market is what can be had in the place of a node, by the books in force.
type market struct {
	nodes map[[2]string]*pricing.Node
	rules RuleSet
	atMS  int64
}

// marketAt reads what the nodes were in the last hours before a moment.
func (s *Service) marketAt(ctx context.Context, to time.Time) (*market, error) {
	m := &market{nodes: map[[2]string]*pricing.Node{}, atMS: to.UnixMilli() - 1}
	for h, err := range s.store.Rated(ctx, to.Add(-planAt), to, "") {
		if err != nil {
			return nil, fmt.Errorf("advice: %w", err)
		}
		if len(h.Nodes) > 0 {
			m.nodes[[2]string{h.Cluster, h.Node}] = &h.Nodes[len(h.Nodes)-1].Node
		}
	}
	if s.rules == nil {
		return m, nil
	}
	var err error
	m.rules, err = s.rules(ctx, to.Add(-time.Hour))
	return m, err
}

// shapes are machines with one GPU that the node's provider sells on demand where the
// node is. Each type counts once, by the strongest book that has it.
func (m *market) shapes(cluster, node string, need advisor.Host) (out []advice.Shape) {
	n := m.nodes[[2]string{cluster, node}]
	if n == nil {
		return nil
	}
	provider, region := providerOf(n), regionOf(n)
	seen := map[string]bool{}
	for _, b := range m.rules.Books {
		for i := range b.Rows {
			r := &b.Rows[i]
			if !m.sold(r, provider, region) || seen[r.InstanceType] || strings.EqualFold(r.InstanceType, n.InstanceType) {
				continue
			}
			card, known := gpu.CardOf(r.Shape.Model, uint64(r.Shape.GPUMemoryGiB)<<30)
			if !known {
				continue
			}
			seen[r.InstanceType] = true
			out = append(out, advice.Shape{Name: r.InstanceType, NodeHour: *r.Price.Node, PriceRef: b.Name + " " + r.ID,
				HostFits: r.Shape.CPUMilli >= need.CPUMilli && r.Shape.MemoryBytes >= need.MemoryBytes,
				Device: advice.Device{Model: r.Shape.Model, CapacityBytes: uint64(r.Shape.GPUMemoryGiB) << 30, ReserveBytes: driverBytes,
					SMs: card.SMs, Slices: card.Slices(), Bandwidth: card.Bandwidth, Tensor: card.Tensor, Capability: card.Capability}})
		}
	}
	return out
}

// driverBytes is taken off the size of a card that nobody has measured: a driver
// keeps about so much.
const driverBytes = 1 << 30

func (m *market) sold(r *pricing.Row, provider, region string) bool {
	return r.InstanceType != "" && r.Shape.GPUs == 1 && r.Price.Node != nil && (r.Capacity == "" || r.Capacity == pricing.OnDemand) &&
		strings.EqualFold(r.Provider, provider) && strings.EqualFold(r.Region, region) && r.From <= m.atMS && (r.To == 0 || m.atMS < r.To)
}

// providerOf is the cloud of a node, as its providerID says where nobody else does.
func providerOf(n *pricing.Node) string {
	if n.Provider != "" {
		return n.Provider
	}
	name, _, _ := strings.Cut(n.ProviderID, ":")
	switch name {
	case "gce":
		return "gcp"
	}
	return name
}

func regionOf(n *pricing.Node) string {
	if n.Region != "" {
		return n.Region
	}
	return n.Labels["topology.kubernetes.io/region"]
}
