// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"github.com/gputally/gputally/internal/core/packing"
)

// Scope is what a repacking is asked for: a cluster, the time in which its pods
// and their needs were seen, and the prices that its nodes have.
type Scope struct {
	Cluster      string
	FromMS, ToMS int64
	Currency     string
	PriceRef     string // the state of the price books
	Grade        string // listed or billed
}

// Repacking is a recommendation for a fleet with its plan, and the steps that
// lead there.
type Repacking struct {
	Recommendation
	// Currency is that of the packing's costs.
	Currency string        `json:"currency,omitempty"`
	Plan     *Plan         `json:"plan,omitempty"`
	Packing  *packing.Plan `json:"packing"`
}

// Repack looks for nodes that a fleet could give back, and what that saves. The
// members are the recommendations that the pods' needs in the fleet rest on; they
// come back as parts of the plan, without cash of their own. Where no node can go
// the answer is a refusal, with the figures that say why.
func Repack(f packing.Fleet, s Scope, members []Recommendation) (Repacking, []Recommendation, error) {
	found, err := packing.Solve(f, 0)
	if err != nil {
		return Repacking{}, nil, err
	}
	out := Repacking{Packing: &found, Recommendation: s.begin(&found), Currency: s.Currency}
	if len(found.Returns) == 0 {
		out.Recommendation = out.refuse(lack(NoFit, Say("node_room"), Say("see_fleet")))
		return out, members, nil
	}
	plan, inside, err := MakePlan(members, returned(&found), nil, s.Currency, f.NowMS)
	if err != nil {
		return out, nil, err
	}
	out.Plan = &plan
	out.settle(s, &found, &plan, len(f.Pods))
	return out, inside, nil
}

// begin is the recommendation before it is known whether a node goes.
func (s *Scope) begin(found *packing.Plan) Recommendation {
	t := Target{Cluster: s.Cluster}
	r := Recommendation{Kind: KindRepack, Target: t, Rules: RulesVersion, Window: Window{FromMS: s.FromMS, ToMS: s.ToMS, MeasuredShare: 1}}
	r.ID = identity(KindRepack, t, s.FromMS, s.ToMS)
	r.Tests = []Test{
		test(Say("fleet"), Say("node_cost"), found.After.Float(), found.Before.Float(), Say("cheapest_bound", found.Bound)),
		test(Say("fleet"), Say("stranded_gpus"), float64(found.StrandedAfter)/1000, float64(found.StrandedBefore)/1000, Say("stranded_causes")),
	}
	return r
}

// settle adds money and what the plan does to pods.
func (r *Repacking) settle(s Scope, found *packing.Plan, plan *Plan, pods int) {
	r.State, r.PlanID, r.Refusals = Advised, plan.ID, plan.Refusals
	r.Proposed = &Change{Resource: "nodes that go", Count: len(plan.Returns), With: plan.Returns}
	r.Money = &Money{Currency: s.Currency, CashLow: plan.Cash, CashMean: plan.Cash, FreedIdle: -plan.Cash, Class: plan.Class, PriceRef: s.PriceRef, Grade: s.Grade}
	if !anyPriced(found) {
		r.Money = nil
	}
	r.Risk = Risk{Restart: len(found.Restarts) > 0}
	if len(found.Restarts) > 0 {
		r.Risk.Notes = []string{Say("pods_restart", len(found.Restarts), pods), Say("shrink")}
	}
	r.Confidence = Medium
	if found.Cut {
		r.Risk.Notes = append(r.Risk.Notes, Say("ended_by_limit"))
	}
	r.ExpiresMS = s.ToMS + (s.ToMS-s.FromMS)/2
	r.Verify = &Verify{Metrics: []string{"node_cost", "restarts", "pending_pods", "charge", "idle_and_stranded"}, Days: 7}
}

func anyPriced(found *packing.Plan) bool { return found.Unpriced < len(found.Returns) }

// returned is the nodes that go, as a plan's money has them.
func returned(found *packing.Plan) (out []Node) {
	for _, n := range found.Returns {
		node := Node{Name: n.Node, CommittedUntilMS: n.CommittedUntilMS, Unpriced: n.Hour == nil}
		if n.Hour != nil {
			node.Hour = *n.Hour
		}
		out = append(out, node)
	}
	return out
}
