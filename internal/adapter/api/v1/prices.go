// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Nodes are nodes at a moment.
type Nodes struct {
	At    time.Time `json:"at"`
	Nodes []Node    `json:"nodes" doc:"By cluster and name."`
}

// Node is what prices are chosen by.
type Node struct {
	Cluster      string            `json:"cluster,omitempty"`
	Name         string            `json:"name"`
	ProviderID   string            `json:"provider_id,omitempty"`
	Provider     string            `json:"provider,omitempty"`
	InstanceType string            `json:"instance_type,omitempty"`
	Region       string            `json:"region,omitempty"`
	Zone         string            `json:"zone,omitempty"`
	Capacity     string            `json:"capacity,omitempty" enum:"on-demand,spot,reserved"`
	Labels       map[string]string `json:"labels,omitempty"`
	Slots        []Slot            `json:"slots" doc:"The places of GPUs."`
	CPUMilli     int64             `json:"cpu_milli" doc:"CPUs, in thousandths; 0: not known."`
	MemoryBytes  uint64            `json:"memory_bytes" doc:"0: not known."`
	First        time.Time         `json:"first,omitzero" doc:"Its first record."`
	Last         time.Time         `json:"last,omitzero" doc:"Its last record."`
	Cost         *NodeCost         `json:"cost,omitempty" doc:"What it costs in the hour."`
}

// Slot is the place of one GPU.
type Slot struct {
	Name  string `json:"name"`
	Model string `json:"model,omitempty"`
}

// NodeOf makes the shape of a node.
func NodeOf(n *pricing.Node) Node {
	provider := n.Provider
	if provider == "" {
		provider = pricing.ProviderOf(n.ProviderID)
	}
	capacity := n.Capacity
	if capacity == "" {
		capacity = pricing.CapacityOf(n.Labels)
	}
	return Node{
		Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID, Provider: provider, InstanceType: n.InstanceType, Region: n.Region,
		Zone: n.Zone, Capacity: string(capacity), Labels: n.Labels, CPUMilli: n.CPUMilli, MemoryBytes: n.MemoryBytes,
		Slots: list(n.Slots, func(s *pricing.Slot) Slot { return Slot(*s) }),
	}
}

// NodesOf makes the shape of nodes.
func NodesOf(atMS int64, nodes []inquiry.NodeAt) Nodes {
	return Nodes{At: start(atMS), Nodes: list(nodes, func(n *inquiry.NodeAt) Node {
		out, cost := NodeOf(&n.Node), NodeCostOf(&n.Cost)
		out.First, out.Last, out.Cost = at(n.FirstMS), at(n.LastMS), &cost
		return out
	})}
}

// NodePrice is what a node costs and why.
type NodePrice struct {
	At     time.Time    `json:"at"`
	Node   Node         `json:"node"`
	Pieces []NodeCost   `json:"pieces" doc:"What it costs in the hour; more than one where its price or shape changes within."`
	Asked  []BookAnswer `json:"asked" doc:"All books in their order, and what each had to say."`
}

// BookAnswer is what one book said to a node.
type BookAnswer struct {
	Book     string   `json:"book"`
	Revision string   `json:"revision,omitempty"`
	Grade    string   `json:"grade" enum:"listed,billed"`
	Used     bool     `json:"used" doc:"The price is of this book."`
	Rows     []string `json:"rows" doc:"Rows that choose the node."`
	Why      string   `json:"why"`
}

// NodePriceOf makes the shape of a price.
func NodePriceOf(p *inquiry.NodePrice) NodePrice {
	return NodePrice{
		At: start(p.AtMS), Node: NodeOf(&p.Node), Pieces: list(p.Pieces, NodeCostOf),
		Asked: list(p.Asked, func(a *inquiry.BookAnswer) BookAnswer {
			return BookAnswer{a.Book, a.Revision, string(a.Grade), a.Used, orEmpty(a.Rows), a.Why}
		}),
	}
}

// PriceComparison is the price of a node under every rule of splitting it.
type PriceComparison struct {
	At       time.Time   `json:"at"`
	Node     Node        `json:"node"`
	Hourly   money.Nano  `json:"hourly"`
	Currency string      `json:"currency"`
	Basis    *Basis      `json:"basis"`
	Rules    []RuleParts `json:"rules"`
}

// RuleParts are the parts of an hour's price under one rule.
type RuleParts struct {
	Rule   string     `json:"rule"`
	GPUs   money.Nano `json:"gpus"`
	CPU    money.Nano `json:"cpu"`
	Memory money.Nano `json:"memory"`
	Used   string     `json:"used" doc:"The rule that was used in the end, where this one cannot split the price."`
	InUse  bool       `json:"in_use" doc:"The rule that is in force."`
	Notes  []string   `json:"notes"`
}

// PriceComparisonOf makes the shape of a comparison.
func PriceComparisonOf(c *inquiry.PriceComparison) PriceComparison {
	return PriceComparison{
		At: start(c.AtMS), Node: NodeOf(&c.Node), Hourly: c.Hourly, Currency: string(c.Currency), Basis: BasisOf(&c.Basis),
		Rules: list(c.Rules, func(r *pricing.Comparison) RuleParts {
			return RuleParts{string(r.Rule), r.Parts.GPUs, r.Parts.CPU, r.Parts.Memory, string(r.Used), string(r.Rule) == c.Basis.Split, orEmpty(r.Notes)}
		}),
	}
}

// PriceCheck is what is missing or doubtful about prices.
type PriceCheck struct {
	From     time.Time   `json:"from"`
	To       time.Time   `json:"to"`
	Nodes    int         `json:"nodes" doc:"How many nodes were looked at."`
	Hours    int         `json:"hours" doc:"How many hours of nodes, as last rated."`
	Unpriced []PriceGap  `json:"unpriced" doc:"Hours without a price."`
	Fallback []PriceGap  `json:"fallback" doc:"Hours priced by something less exact than a row of their own, or by a guess."`
	Doubts   []BookDoubt `json:"doubts" doc:"Doubtful rows of the books."`
}

// PriceGap is hours of a node without a price of its own, for one reason.
type PriceGap struct {
	Cluster      string    `json:"cluster,omitempty"`
	Node         string    `json:"node"`
	InstanceType string    `json:"instance_type,omitempty"`
	Hours        int       `json:"hours"`
	First        time.Time `json:"first"`
	Last         time.Time `json:"last" doc:"The last of these hours."`
	Reason       string    `json:"reason"`
	Book         string    `json:"book,omitempty"`
	Row          string    `json:"row,omitempty"`
}

// BookDoubt is a doubtful row of a book.
type BookDoubt struct {
	Book  string `json:"book"`
	Row   string `json:"row"`
	Doubt string `json:"doubt"`
	Says  string `json:"says"`
	Hours int    `json:"hours" doc:"How many of the hours it prices; 0: it is in no use here."`
}

// PriceCheckOf makes the shape of a check.
func PriceCheckOf(c *inquiry.PriceCheck) PriceCheck {
	return PriceCheck{
		From: start(c.FromMS), To: start(c.ToMS), Nodes: c.Nodes, Hours: c.Hours, Unpriced: list(c.Unpriced, gapOf), Fallback: list(c.Fallback, gapOf),
		Doubts: list(c.Doubts, func(d *inquiry.BookDoubt) BookDoubt {
			return BookDoubt{d.Book, d.Row, string(d.Doubt), d.Says, d.Hours}
		}),
	}
}

func gapOf(g *inquiry.PriceGap) PriceGap {
	return PriceGap{g.Cluster, g.Node, g.InstanceType, g.Hours, start(g.FirstMS), start(g.LastMS), g.Reason, g.Book, g.Row}
}
