// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// Status is how the ledger stands.
type Status struct {
	Version    string        `json:"version" doc:"Of the server."`
	Now        time.Time     `json:"now"`
	Started    time.Time     `json:"started"`
	Records    RecordsStatus `json:"records"`
	Rating     RatingStatus  `json:"rating"`
	Prices     []PriceBook   `json:"prices" doc:"The books in force, the strongest first."`
	Policy     Policy        `json:"policy"`
	Split      string        `json:"split" doc:"The rule by which a node's one price is split into GPUs, CPU and memory."`
	Closed     []Month       `json:"closed" doc:"The last closed month of each set of clusters and currency."`
	Labels     []string      `json:"labels" doc:"The keys of labels that reports know."`
	StoreBytes int64         `json:"store_bytes"`
	Troubles   []Trouble     `json:"troubles" doc:"What went wrong last, the newest first."`
}

// RecordsStatus is what the agents delivered.
type RecordsStatus struct {
	Nodes   int          `json:"nodes"`
	Batches int64        `json:"batches"`
	First   time.Time    `json:"first,omitzero" doc:"The oldest record that is kept."`
	Last    time.Time    `json:"last,omitzero" doc:"The end of the newest."`
	Arrived time.Time    `json:"arrived,omitzero" doc:"The last delivery."`
	Silent  []SilentNode `json:"silent" doc:"Nodes of which nothing came for long."`
}

// SilentNode is a node that is not heard of any more.
type SilentNode struct {
	Cluster string    `json:"cluster,omitempty"`
	Node    string    `json:"node"`
	Last    time.Time `json:"last"`
}

// RatingStatus is how far the hours are rated.
type RatingStatus struct {
	DueHours  int       `json:"due_hours" doc:"Hours of nodes that wait to be rated."`
	OldestDue *NodeHour `json:"oldest_due,omitempty"`
	RatedTo   time.Time `json:"rated_to,omitzero" doc:"Every hour before is rated as far as records came."`
	Hours     uint64    `json:"rated_hours" doc:"Rated since the start."`
	Last      time.Time `json:"last,omitzero" doc:"When the last was rated."`
}

// NodeHour is an hour of a node.
type NodeHour struct {
	Cluster string    `json:"cluster,omitempty"`
	Node    string    `json:"node"`
	Hour    time.Time `json:"hour"`
}

// PriceBook is a price book in force.
type PriceBook struct {
	Name     string `json:"name"`
	Revision string `json:"revision,omitempty"`
	Grade    string `json:"grade" enum:"listed,billed"`
	Rows     int    `json:"rows"`
}

// Trouble is something that failed.
type Trouble struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail"`
	Hint   string    `json:"hint,omitempty"`
}

// Policy is how cost is divided among workloads and platform accounts.
type Policy struct {
	_            struct{}       `additionalProperties:"false"`
	ID           string         `json:"id,omitempty" doc:"Its name; left out: a text made from its rules."`
	Basis        string         `json:"basis,omitempty" enum:"held,memory,reserved" doc:"The rule by which a partition is divided among its holders (held)."`
	TurnsReserve bool           `json:"turns_reserve,omitempty" doc:"A replica under time-slicing keeps its part of the card from others."`
	Distribute   []Distribution `json:"distribute,omitempty" doc:"Platform accounts that are passed on; the others stay apart."`
	Scope        string         `json:"scope,omitempty" enum:"node,given" doc:"To whose workloads an account is passed on: those of the node, or of the hour."`
}

// Distribution passes one platform account on.
type Distribution struct {
	_       struct{} `additionalProperties:"false"`
	Account string   `json:"account" enum:"idle,stranded,overhead,unattributed,host,unavailable,unmeasured"`
	How     string   `json:"how" enum:"proportional,even,fixed,owner"`
	Shares  []Share  `json:"shares,omitempty" doc:"For fixed and owner: to whom."`
}

// Share is a named owner's part.
type Share struct {
	To     string `json:"to"`
	Weight uint64 `json:"weight" doc:"Of the sum of all weights."`
}

// PolicyOf makes the shape of a policy. Name is written out.
func PolicyOf(p *allocation.Policy) Policy {
	return Policy{
		ID: p.Name(), Basis: string(p.Basis), TurnsReserve: p.TurnsReserve, Scope: string(p.Scope),
		Distribute: list(p.Distribute, func(d *allocation.Distribution) Distribution {
			return Distribution{Account: d.Account, How: string(d.How), Shares: list(d.Shares, func(s *allocation.Share) Share { return Share(*s) })}
		}),
	}
}

// Core is the policy as core has it.
func (p *Policy) Core() allocation.Policy {
	out := allocation.Policy{ID: p.ID, Basis: allocation.Basis(p.Basis), TurnsReserve: p.TurnsReserve, Scope: allocation.Scope(p.Scope)}
	for _, d := range p.Distribute {
		to := allocation.Distribution{Account: d.Account, How: allocation.How(d.How)}
		for _, s := range d.Shares {
			to.Shares = append(to.Shares, allocation.Share(s))
		}
		out.Distribute = append(out.Distribute, to)
	}
	return out
}

// StatusOf makes the shape of a status.
func StatusOf(s *inquiry.Status) Status {
	return Status{
		Version: s.Version, Now: start(s.NowMS), Started: start(s.StartedMS),
		Records: RecordsStatus{
			Nodes: s.Records.Nodes, Batches: s.Records.Batches, First: at(s.Records.FirstMS), Last: at(s.Records.LastMS), Arrived: at(s.Records.ArrivedMS),
			Silent: list(s.Records.Silent, func(n *inquiry.SilentNode) SilentNode { return SilentNode{n.Cluster, n.Node, start(n.LastMS)} }),
		},
		Rating: RatingStatus{
			DueHours: s.Rating.DueHours, OldestDue: nodeHourOf(s.Rating.OldestDue), RatedTo: at(s.Rating.RatedToMS),
			Hours: s.Rating.Hours, Last: at(s.Rating.LastMS),
		},
		Prices: list(s.Books, func(b *inquiry.BookStatus) PriceBook { return PriceBook{b.Name, b.Revision, string(b.Grade), b.Rows} }),
		Policy: PolicyOf(&s.Policy), Split: string(s.Split), Labels: orEmpty(s.Labels), StoreBytes: s.StoreBytes,
		Closed:   list(s.Closed, func(c *ledger.Closed) Month { return closedOf(c) }),
		Troubles: list(s.Troubles, func(t *inquiry.Trouble) Trouble { return Trouble{start(t.AtMS), t.What, t.Detail, t.Hint} }),
	}
}

func nodeHourOf(h *ledger.NodeHour) *NodeHour {
	if h == nil {
		return nil
	}
	return &NodeHour{Cluster: h.Cluster, Node: h.Node, Hour: start(h.HourMS)}
}

// Dimensions are what rows of a report can be told apart by.
type Dimensions struct {
	Dimensions []string `json:"dimensions"`
	Labels     []string `json:"labels" doc:"Keys of labels; the dimension is label:KEY."`
}

// DimensionsOf makes the shape of the dimensions there are.
func DimensionsOf(labels []string) Dimensions {
	return Dimensions{
		Dimensions: list(report.Dimensions(), func(d *report.Dimension) string { return string(*d) }), Labels: orEmpty(labels),
	}
}
