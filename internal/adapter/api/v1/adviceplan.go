// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

// AdvicePlans are what clusters could give back.
type AdvicePlans struct {
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to" doc:"Pods are where they were in the hour before."`
	Clusters []ClusterPlan `json:"clusters"`
	Said     Said          `json:"said" doc:"What the sentences of this answer say, by their English: which sentence each is, and what stands in its gaps. For those who put them into another language."`
}

// ClusterPlan is one cluster's plan, or the refusal of one.
type ClusterPlan struct {
	Cluster        string         `json:"cluster"`
	Nodes          int            `json:"nodes"`
	Unpriced       int            `json:"unpriced_nodes" doc:"Nodes whose price is not known: they are in no amount."`
	Kept           []KeptNode     `json:"kept" doc:"Nodes that stay whatever the plan."`
	Recommendation Recommendation `json:"recommendation"`
	Returns        []ReturnedNode `json:"returns" doc:"Nodes that go."`
	Steps          []PlanStep     `json:"steps" doc:"Each can be done when those before it are."`
	Restarts       []string       `json:"restarts" doc:"Pods that stop and start, as CLUSTER/NAMESPACE/POD."`
	Members        []string       `json:"members" doc:"Ids of recommendations that must be followed for it."`
	Currency       string         `json:"currency,omitempty" doc:"Of what follows; left out: no node's price is known."`
	Before         money.Nano     `json:"before" doc:"What the nodes whose price is known cost in an hour."`
	After          money.Nano     `json:"after"`
	Bound          money.Nano     `json:"bound" doc:"No packing of these pods costs less."`
	Cash           *money.Nano    `json:"cash" nullable:"true" doc:"What a month costs less; null: no plan."`
}

// KeptNode is a node that stays whatever the plan.
type KeptNode struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// ReturnedNode is a node that goes.
type ReturnedNode struct {
	Node string      `json:"node"`
	Type string      `json:"type,omitempty"`
	Hour *money.Nano `json:"hour" nullable:"true" doc:"What it costs in an hour; null: not known."`
}

// PlanStep is one step.
type PlanStep struct {
	Action    string        `json:"action" enum:"cordon,layout,move,return"`
	Node      string        `json:"node,omitempty"`
	GPU       string        `json:"gpu,omitempty"`
	Instances []MIGInstance `json:"instances,omitempty" doc:"Those that the GPU gets."`
	Moves     []PodMove     `json:"moves,omitempty"`
}

// MIGInstance is an instance of a card.
type MIGInstance struct {
	Profile string `json:"profile"`
	Start   uint32 `json:"start" doc:"Its first memory slice."`
	Size    uint32 `json:"size" doc:"Memory slices."`
}

// PodMove is where a pod goes.
type PodMove struct {
	Pod      string       `json:"pod"`
	Node     string       `json:"node"`
	GPUs     []string     `json:"gpus,omitempty"`
	Instance *MIGInstance `json:"instance,omitempty"`
}

// AdvicePlansOf makes the shape of plans.
func AdvicePlansOf(p *inquiry.Plans) AdvicePlans {
	out := AdvicePlans{start(p.FromMS), start(p.ToMS), list(p.Clusters, clusterPlanOf), Said{}}
	for i := range out.Clusters {
		out.Said.plan(&out.Clusters[i])
	}
	return out
}

func clusterPlanOf(c *inquiry.ClusterPlan) ClusterPlan {
	out := ClusterPlan{Cluster: c.Cluster, Nodes: c.Nodes, Unpriced: c.Unpriced, Kept: list(c.Kept, func(k *advisor.Kept) KeptNode { return KeptNode(*k) }), Recommendation: recommendationOf(&c.Recommendation), Returns: []ReturnedNode{}, Steps: []PlanStep{}, Restarts: []string{}, Members: []string{}}
	if c.Plan != nil {
		out.Members, out.Cash = orEmpty(c.Plan.Members), &c.Plan.Cash
	}
	out.Currency = c.Currency
	p := c.Packing
	if p == nil {
		return out
	}
	out.Before, out.After, out.Bound, out.Restarts = p.Before, p.After, p.Bound, orEmpty(p.Restarts)
	out.Returns = list(p.Returns, func(r *packing.Returned) ReturnedNode { return ReturnedNode{r.Node, r.Type, r.Hour} })
	out.Steps = list(p.Steps, func(s *packing.Step) PlanStep {
		step := PlanStep{Action: string(s.Action), Node: s.Node, GPU: string(s.GPU)}
		for i := range s.Instances {
			step.Instances = append(step.Instances, *instanceOf(&s.Instances[i]))
		}
		for _, m := range s.Moves {
			move := PodMove{Pod: m.Pod, Node: m.To.Node, Instance: instanceOf(m.To.Instance)}
			for _, g := range m.To.GPUs {
				move.GPUs = append(move.GPUs, string(g))
			}
			step.Moves = append(step.Moves, move)
		}
		return step
	})
	return out
}

func instanceOf(i *packing.Instance) *MIGInstance {
	if i == nil {
		return nil
	}
	return &MIGInstance{i.Profile, i.Placement.Start, i.Placement.Size}
}
