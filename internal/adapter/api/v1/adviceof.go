// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
)

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
	out.Said = Said{}.recommendations(out.Shared)
	for i := range out.Workloads {
		out.Said.recommendations(out.Workloads[i].Recommendations)
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
			return AdviceRefusal{string(f.Code), f.Blocks(), f.Missing, f.HowToGet, f.Of}
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
		out.Money = &AdviceMoney{Currency: m.Currency, Class: string(m.Class), ChargeDelta: m.ChargeDelta, ChargeNote: m.ChargeNote, FreedIdle: m.FreedIdle, FreedStranded: m.FreedStranded,
			CashLow: m.CashLow, CashMean: m.CashMean, Avoidable: m.Avoidable, Price: m.PriceRef, Grade: m.Grade}
	}
	if r.Verify != nil {
		out.Verify = r.Verify.Metrics
	}
	return out
}

func changeOf(c *advice.Change) AdviceChange {
	return AdviceChange{Resource: c.Resource, Profile: c.Profile, Model: c.Model, Count: c.Count, Fraction: c.Fraction, CPUMilli: c.CPUMilli, HostBytes: c.HostBytes, With: c.With, StopAfterIdle: c.Idle}
}

// AdviceDecisionOf makes the shape of what was said.
func AdviceDecisionOf(d *inquiry.Decision) AdviceDecision {
	return AdviceDecision{ID: d.ID, State: string(d.State), Expired: d.Why, Reason: d.Reason, By: d.By, At: start(d.AtMS), Until: at(d.UntilMS), Applied: at(d.AppliedMS),
		Kind: string(d.Recommendation.Kind), Target: targetOf(&d.Recommendation.Target)}
}

// AdviceDecisionsOf makes the shape of all that was said.
func AdviceDecisionsOf(all []inquiry.Decision) AdviceDecisions {
	out := AdviceDecisions{list(all, AdviceDecisionOf), Said{}}
	for i := range out.Decisions {
		out.Said.add(out.Decisions[i].Expired...)
	}
	return out
}

// AdviceVerdictOf makes the shape of a comparison.
func AdviceVerdictOf(v *inquiry.Verdict) AdviceVerdict {
	out := AdviceVerdict{State: string(v.State), Decision: AdviceDecisionOf(&v.Decision), Before: periodOf(&v.Before), After: periodOf(&v.After),
		Cash: v.Cash, Charge: v.Charge, Idle: v.Idle, Guards: orEmpty(v.Guards), Back: v.Back, Notes: orEmpty(v.Notes), Said: Said{}}
	out.Said.add(out.Guards...)
	out.Said.add(out.Notes...)
	out.Said.add(out.Decision.Expired...)
	out.Said.comments(out.Back)
	return out
}

func periodOf(p *advice.Period) AdvicePeriod {
	return AdvicePeriod{start(p.FromMS), start(p.ToMS), p.SeenMS, p.Currency, p.Charge, p.Nodes, p.Idle, p.ActiveMS, p.Waited, p.Looks, p.Preempted, p.Generated, p.MillionTokens, p.Pods, p.PodsAtOnce, p.StalledMS, orEmpty(p.Policies),
		list(p.Prices, func(m *advice.MachinePrice) string { return m.Machine + ": " + m.Text() })}
}
