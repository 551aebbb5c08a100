// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

// Advice is what is advised for workloads, and what is refused.
type Advice struct {
	From      time.Time         `json:"from" doc:"The time looked at: whole days of UTC."`
	To        time.Time         `json:"to"`
	Rules     string            `json:"rules" doc:"The version of the rules: the same records under the same rules give the same advice."`
	Behind    int               `json:"hours_behind" doc:"Hours of nodes that are rated and not yet looked at."`
	Workloads []AdvisedWorkload `json:"workloads"`
	Shared    []Recommendation  `json:"shared" doc:"Workloads that could share a GPU; empty where that was not asked for."`
	Cash      []CurrencyAmount  `json:"cash" doc:"By how much invoices of a month would fall by all single changes that are advised: those whose node goes with them. Never the sum of charges."`
}

// CurrencyAmount is an amount of one currency.
type CurrencyAmount struct {
	Currency string    `json:"currency"`
	Amount   money.Sum `json:"amount"`
}

// AdvisedWorkload is a workload on one kind of partition.
type AdvisedWorkload struct {
	Target          AdviceTarget     `json:"target"`
	Work            string           `json:"work" doc:"What it is taken for: serving, notebook or training. It decides how long must have been seen."`
	Model           string           `json:"model"`
	Profile         string           `json:"profile,omitempty"`
	Pods            int              `json:"pods" doc:"In its last hour."`
	Partitions      int              `json:"partitions"`
	Classes         []ClassTime      `json:"classes" doc:"How long it was of each class."`
	Recommendations []Recommendation `json:"recommendations" doc:"What is advised stands first."`
}

// AdviceTarget is what a recommendation is about.
type AdviceTarget struct {
	Cluster    string   `json:"cluster,omitempty"`
	Node       string   `json:"node,omitempty" doc:"Left out where it is on several."`
	Namespace  string   `json:"namespace,omitempty"`
	Owner      string   `json:"owner,omitempty" example:"Deployment/bge"`
	Partitions []string `json:"partitions,omitempty" doc:"Those of its last hour."`
}

// ClassTime is how long something was of a class.
type ClassTime struct {
	Class string `json:"class"`
	MS    int64  `json:"ms"`
}

// Recommendation is one proposal, or the refusal of one.
type Recommendation struct {
	ID            string           `json:"id" doc:"Of what is proposed, the time looked at and the rules: another day has other ids."`
	Kind          string           `json:"kind" enum:"mig-profile,share,shape,fewer-gpus,smaller-pool,idle-reclaim,cpu-request,repack"`
	State         string           `json:"state" doc:"advised, refused, accepted, dismissed, applied."`
	MeasuredShare float64          `json:"measured_share" doc:"Of the granted time."`
	Class         string           `json:"class,omitempty" doc:"Of most of the time."`
	Evidence      []AdviceEvidence `json:"evidence"`
	Tests         []AdviceTest     `json:"tests" doc:"Inequalities with their numbers: value must not exceed limit."`
	Current       AdviceChange     `json:"current"`
	Proposed      *AdviceChange    `json:"proposed"`
	Need          AdviceNeed       `json:"need"`
	Money         *AdviceMoney     `json:"money" doc:"In a month of 730 hours; null: not known, or nothing is proposed."`
	Risk          AdviceRisk       `json:"risk"`
	Confidence    string           `json:"confidence,omitempty" enum:"high,medium,low"`
	Refusals      []AdviceRefusal  `json:"refusals" doc:"Why there is no advice, or what limits it."`
	Options       []AdviceOption   `json:"options,omitempty"`
	Apply         []string         `json:"apply,omitempty" doc:"What to change, for people to read: nothing is changed by gputally."`
	Verify        []string         `json:"verify,omitempty" doc:"What to compare afterwards."`
	Expires       time.Time        `json:"expires,omitzero"`
	Decision      *AdviceDecision  `json:"decision,omitempty" doc:"What was said to it, on whatever day."`
}

// AdviceEvidence is a figure that a recommendation rests on.
type AdviceEvidence struct {
	Metric    string  `json:"metric"`
	Statistic string  `json:"statistic"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit,omitempty"`
	Grade     string  `json:"grade"`
}

// AdviceTest is an inequality.
type AdviceTest struct {
	Of    string  `json:"of" doc:"The thing tried, such as a profile."`
	Name  string  `json:"name"`
	Sum   string  `json:"sum" doc:"How the value came about."`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
	Holds bool    `json:"holds"`
}

// AdviceChange is what is asked for, now or then.
type AdviceChange struct {
	_             struct{} `nullable:"true"`
	Resource      string   `json:"resource,omitempty"`
	Profile       string   `json:"profile,omitempty"`
	Model         string   `json:"model,omitempty"`
	Count         int      `json:"count,omitempty"`
	Fraction      string   `json:"fraction,omitempty"`
	CPUMilli      int64    `json:"cpu_milli,omitempty"`
	With          []string `json:"with,omitempty"`
	StopAfterIdle string   `json:"stop_after_idle,omitempty"`
}

// AdviceNeed is what the workload needs, as far as known.
type AdviceNeed struct {
	HardBytes *uint64  `json:"hard_bytes" nullable:"true" doc:"With the margin."`
	SoftBytes *uint64  `json:"soft_bytes" nullable:"true" doc:"May shrink at the price of latency."`
	SM        *float64 `json:"sm" nullable:"true" doc:"Share of the SMs that it has now."`
	DRAM      *float64 `json:"dram" nullable:"true" doc:"Share of the bandwidth that it has now."`
}

// AdviceMoney is what a change does in a month, in figures that are never added.
type AdviceMoney struct {
	_             struct{}    `nullable:"true"`
	Currency      string      `json:"currency"`
	Class         string      `json:"class" doc:"cash and avoidable make an invoice smaller; capacity can be handed out again; an enabler saves nothing alone." enum:"cash,avoidable,capacity,enabler,none"`
	ChargeDelta   *money.Nano `json:"charge_delta" nullable:"true" doc:"By how much the workload's charge falls; null: only dividing the hours again can tell."`
	FreedIdle     money.Nano  `json:"freed_idle"`
	FreedStranded money.Nano  `json:"freed_stranded"`
	CashLow       money.Nano  `json:"cash_low"`
	CashMean      money.Nano  `json:"cash_mean"`
	Avoidable     money.Nano  `json:"avoidable"`
	Price         string      `json:"price,omitempty"`
	Grade         string      `json:"grade,omitempty"`
}

// AdviceRisk is what can go wrong.
type AdviceRisk struct {
	SlowdownBound float64  `json:"slowdown_bound,omitempty" doc:"How many times as long a kernel may take that used all of what it has now."`
	Restart       bool     `json:"restart"`
	Isolation     string   `json:"isolation,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

// AdviceRefusal is why there is no advice, or what limits it.
type AdviceRefusal struct {
	Code     string `json:"code"`
	Blocks   bool   `json:"blocks" doc:"There is no advice because of it."`
	Missing  string `json:"missing"`
	HowToGet string `json:"how_to_get"`
}

// AdviceOption is one way of a proposal, with what it would have done.
type AdviceOption struct {
	StopAfterMS int64       `json:"stop_after_ms"`
	StoppedMS   int64       `json:"stopped_ms"`
	Stops       int         `json:"stops"`
	ColdStarts  int         `json:"cold_starts"`
	CashLow     *money.Nano `json:"cash_low" nullable:"true"`
	CashMean    *money.Nano `json:"cash_mean" nullable:"true"`
}

// AdviceDecision is what somebody said to a recommendation.
type AdviceDecision struct {
	ID      string    `json:"id" doc:"Of the recommendation that was answered."`
	State   string    `json:"state" doc:"accepted, applied, dismissed, expired."`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero" doc:"When a dismissal ends."`
	Applied time.Time `json:"applied,omitzero" doc:"When the change was made."`
	// Kind and Target are those of the recommendation.
	Kind   string       `json:"kind"`
	Target AdviceTarget `json:"target"`
}

// AdviceDecisions are all that was said.
type AdviceDecisions struct {
	Decisions []AdviceDecision `json:"decisions" doc:"The newest first."`
}

// DecideAdvice says something to a recommendation.
type DecideAdvice struct {
	_       struct{}  `additionalProperties:"false"`
	State   string    `json:"state" enum:"accepted,dismissed"`
	Reason  string    `json:"reason,omitempty" maxLength:"1000" doc:"Required of a dismissal."`
	By      string    `json:"by,omitempty" maxLength:"200"`
	Until   time.Time `json:"until,omitzero" doc:"When a dismissal ends; left out: never."`
	Applied time.Time `json:"applied,omitzero" doc:"When the change was made."`
}

// AdviceVerdict compares before and after.
type AdviceVerdict struct {
	State    string         `json:"state" doc:"verified, regressed, not-comparable, too-early."`
	Decision AdviceDecision `json:"decision"`
	Before   AdvicePeriod   `json:"before"`
	After    AdvicePeriod   `json:"after"`
	Cash     *money.Nano    `json:"cash" nullable:"true" doc:"By how much the cluster's nodes cost less than before."`
	Charge   *money.Nano    `json:"charge" nullable:"true" doc:"By how much the workload is charged less."`
	Idle     *money.Nano    `json:"idle_and_stranded" nullable:"true" doc:"By how much idle and stranded GPUs cost less."`
	Guards   []string       `json:"guards" doc:"What got worse."`
	Notes    []string       `json:"notes"`
}

// AdvicePeriod is what a workload and its cluster were like in a time.
type AdvicePeriod struct {
	From       time.Time   `json:"from"`
	To         time.Time   `json:"to"`
	SeenMS     int64       `json:"seen_ms"`
	Currency   string      `json:"currency,omitempty"`
	Charge     *money.Nano `json:"charge" nullable:"true"`
	Nodes      *money.Nano `json:"nodes" nullable:"true"`
	Idle       *money.Nano `json:"idle_and_stranded" nullable:"true"`
	ActiveMS   *int64      `json:"active_ms" nullable:"true"`
	Waited     *int64      `json:"waited,omitempty"`
	Looks      *int64      `json:"looks,omitempty"`
	Preempted  *uint64     `json:"preempted,omitempty"`
	Pods       int         `json:"pods"`
	PodsAtOnce int         `json:"pods_at_once"`
}

// AdviceOf makes the shape of advice.
func AdviceOf(a *inquiry.Advice) Advice {
	out := Advice{From: start(a.FromMS), To: start(a.ToMS), Rules: advice.RulesVersion, Behind: a.Behind, Workloads: list(a.Workloads, advisedOf), Shared: list(a.Shared, recommendationOf), Cash: []CurrencyAmount{}}
	at := map[string]int{}
	for i := range a.Workloads {
		for _, r := range a.Workloads[i].Recommendations {
			if r.State != advice.Advised || r.Money == nil || r.Money.CashMean == 0 {
				continue
			}
			n, there := at[r.Money.Currency]
			if !there {
				n = len(out.Cash)
				at[r.Money.Currency] = n
				out.Cash = append(out.Cash, CurrencyAmount{Currency: r.Money.Currency})
			}
			out.Cash[n].Amount.Add(r.Money.CashMean)
			break // one change of a workload, the first: two of them are no two savings
		}
	}
	return out
}

func advisedOf(w *inquiry.AdvisedWorkload) AdvisedWorkload {
	out := AdvisedWorkload{Target: targetOf(&w.Target), Work: string(w.Work), Model: w.Model, Profile: w.Profile, Pods: w.Pods, Partitions: w.Partitions,
		Classes:         list(w.Classes, func(c *advice.ClassTime) ClassTime { return ClassTime{string(c.Class), c.MS} }),
		Recommendations: list(w.Recommendations, recommendationOf)}
	for i := range out.Recommendations {
		r := &out.Recommendations[i]
		if d, there := w.Said[advice.Kind(r.Kind)]; there {
			said := AdviceDecisionOf(&d)
			r.Decision = &said
		}
	}
	return out
}

func targetOf(t *advice.Target) AdviceTarget {
	return AdviceTarget{t.Cluster, t.Node, t.Namespace, t.Owner, t.Partitions}
}

func recommendationOf(r *advice.Recommendation) Recommendation {
	out := Recommendation{
		ID: r.ID, Kind: string(r.Kind), State: string(r.State), MeasuredShare: r.Window.MeasuredShare, Class: string(r.Class),
		Evidence: list(r.Evidence, func(e *advice.Evidence) AdviceEvidence {
			return AdviceEvidence{e.Metric, e.Statistic, e.Value, e.Unit, string(e.Grade)}
		}),
		Tests: list(r.Tests, func(t *advice.Test) AdviceTest {
			return AdviceTest{t.Of, t.Name, t.Sum, t.Value, t.Limit, t.Unit, t.Holds}
		}),
		Current: changeOf(&r.Current), Need: AdviceNeed{r.Need.HardBytes, r.Need.SoftBytes, r.Need.SM, r.Need.DRAM},
		Risk:       AdviceRisk{r.Risk.SlowdownBound, r.Risk.Restart, r.Risk.Isolation, r.Risk.Notes},
		Confidence: string(r.Confidence),
		Refusals: list(r.Refusals, func(f *advice.Refusal) AdviceRefusal {
			return AdviceRefusal{string(f.Code), f.Blocks(), f.Missing, f.HowToGet}
		}),
		Options: list(r.Options, func(o *advice.Option) AdviceOption {
			return AdviceOption{o.StopAfterMS, o.StoppedMS, o.Stops, o.ColdStarts, o.CashLow, o.CashMean}
		}),
		Apply: advice.Apply(r), Expires: at(r.ExpiresMS),
	}
	if r.Proposed != nil {
		c := changeOf(r.Proposed)
		out.Proposed = &c
	}
	if m := r.Money; m != nil {
		out.Money = &AdviceMoney{Currency: m.Currency, Class: string(m.Class), ChargeDelta: m.ChargeDelta, FreedIdle: m.FreedIdle, FreedStranded: m.FreedStranded,
			CashLow: m.CashLow, CashMean: m.CashMean, Avoidable: m.Avoidable, Price: m.PriceRef, Grade: m.Grade}
	}
	if r.Verify != nil {
		out.Verify = r.Verify.Metrics
	}
	return out
}

func changeOf(c *advice.Change) AdviceChange {
	return AdviceChange{Resource: c.Resource, Profile: c.Profile, Model: c.Model, Count: c.Count, Fraction: c.Fraction, CPUMilli: c.CPUMilli, With: c.With, StopAfterIdle: c.Idle}
}

// AdviceDecisionOf makes the shape of what was said.
func AdviceDecisionOf(d *inquiry.Decision) AdviceDecision {
	return AdviceDecision{ID: d.ID, State: string(d.State), Reason: d.Reason, By: d.By, At: start(d.AtMS), Until: at(d.UntilMS), Applied: at(d.AppliedMS),
		Kind: string(d.Recommendation.Kind), Target: targetOf(&d.Recommendation.Target)}
}

// AdviceVerdictOf makes the shape of a comparison.
func AdviceVerdictOf(v *inquiry.Verdict) AdviceVerdict {
	return AdviceVerdict{State: string(v.State), Decision: AdviceDecisionOf(&v.Decision), Before: periodOf(&v.Before), After: periodOf(&v.After),
		Cash: v.Cash, Charge: v.Charge, Idle: v.Idle, Guards: orEmpty(v.Guards), Notes: orEmpty(v.Notes)}
}

func periodOf(p *advice.Period) AdvicePeriod {
	return AdvicePeriod{start(p.FromMS), start(p.ToMS), p.SeenMS, p.Currency, p.Charge, p.Nodes, p.Idle, p.ActiveMS, p.Waited, p.Looks, p.Preempted, p.Pods, p.PodsAtOnce}
}

// AdvicePlans are what clusters could give back.
type AdvicePlans struct {
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to" doc:"Pods are where they were in the hour before."`
	Clusters []ClusterPlan `json:"clusters"`
}

// ClusterPlan is one cluster's plan, or the refusal of one.
type ClusterPlan struct {
	Cluster        string         `json:"cluster"`
	Nodes          int            `json:"nodes"`
	Kept           []string       `json:"kept" doc:"Nodes that stay whatever the plan, as NODE: why."`
	Recommendation Recommendation `json:"recommendation"`
	Returns        []ReturnedNode `json:"returns" doc:"Nodes that go."`
	Steps          []PlanStep     `json:"steps" doc:"Each can be done when those before it are."`
	Restarts       []string       `json:"restarts" doc:"Pods that stop and start, as CLUSTER/NAMESPACE/POD."`
	Members        []string       `json:"members" doc:"Ids of recommendations that must be followed for it."`
	Before         money.Nano     `json:"before" doc:"What the nodes whose price is known cost in an hour."`
	After          money.Nano     `json:"after"`
	Bound          money.Nano     `json:"bound" doc:"No packing of these pods costs less."`
	Cash           *money.Nano    `json:"cash" nullable:"true" doc:"What a month costs less; null: no plan."`
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
	return AdvicePlans{start(p.FromMS), start(p.ToMS), list(p.Clusters, clusterPlanOf)}
}

func clusterPlanOf(c *inquiry.ClusterPlan) ClusterPlan {
	out := ClusterPlan{Cluster: c.Cluster, Nodes: c.Nodes, Kept: orEmpty(c.Kept), Recommendation: recommendationOf(&c.Recommendation), Returns: []ReturnedNode{}, Steps: []PlanStep{}, Restarts: []string{}, Members: []string{}}
	if c.Plan != nil {
		out.Members, out.Cash = orEmpty(c.Plan.Members), &c.Plan.Cash
	}
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
