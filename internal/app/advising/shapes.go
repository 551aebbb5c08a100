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
func (s *Service) marketAt(ctx context.Context, to time.Time, rules RuleSet) (*market, error) {
	m := &market{nodes: map[[2]string]*pricing.Node{}, rules: rules, atMS: to.UnixMilli() - 1}
	for h, err := range s.store.Rated(ctx, to.Add(-planAt), to, "") {
		if err != nil {
			return nil, fmt.Errorf("advice: %w", err)
		}
		if len(h.Nodes) > 0 {
			m.nodes[[2]string{h.Cluster, h.Node}] = &h.Nodes[len(h.Nodes)-1].Node
		}
	}
	return m, nil
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

// reprice is what a machine of a type costs in the hour before the moment, as whole hours of
// other times are taken to have cost. It is nil where the books in force have no such row.
func (m *market) reprice(cluster, node, machine string) func(*pricing.NodeCost) (pricing.NodeCost, bool) {
	n := m.nodes[[2]string{cluster, node}]
	if n == nil || m.rules.Prices == nil {
		return nil
	}
	for _, b := range m.rules.Books {
		for i := range b.Rows {
			if r := &b.Rows[i]; r.InstanceType == machine && m.sold(r, providerOf(n), regionOf(n)) {
				return m.priceOf(n, b.Name, r)
			}
		}
	}
	return nil
}

// priceOf prices a machine of a row. Another row of the books that chooses it, too, is no
// answer.
func (m *market) priceOf(n *pricing.Node, book string, r *pricing.Row) func(*pricing.NodeCost) (pricing.NodeCost, bool) {
	slot := pricing.Slot{Name: "gpu0", Model: r.Shape.Model}
	if len(n.Slots) > 0 {
		slot.Name = n.Slots[0].Name
	}
	to := pricing.Node{Cluster: n.Cluster, Name: n.Name, Provider: providerOf(n), InstanceType: r.InstanceType, Region: regionOf(n), Zone: n.Zone, Capacity: pricing.OnDemand,
		Slots: []pricing.Slot{slot}, CPUMilli: r.Shape.CPUMilli, MemoryBytes: r.Shape.MemoryBytes}
	from := m.atMS - m.atMS%hourMS
	costs, err := m.rules.Prices.Cost(&to, from, from+hourMS)
	if err != nil || len(costs) != 1 || !costs[0].Priced || costs[0].Basis.Row != r.ID || costs[0].Basis.Source != book {
		return nil
	}
	return func(c *pricing.NodeCost) (pricing.NodeCost, bool) {
		out := costs[0]
		out.StartMS = c.StartMS
		return out, c.DurationMS == hourMS && c.Currency == out.Currency
	}
}

const hourMS = int64(3_600_000)

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
