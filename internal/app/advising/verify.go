// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/signal"
)

// verifyDays is how long is compared before and after: whole weeks have the same
// days of the week.
const verifyDays = 7

// Verify compares the time before a change with the time after it. appliedMS says
// when it was made; where it is 0, what was said to the recommendation says it.
func (s *Service) Verify(ctx context.Context, id string, appliedMS int64) (inquiry.Verdict, error) {
	d, err := s.decision(ctx, id)
	if err != nil {
		return inquiry.Verdict{}, err
	}
	if appliedMS == 0 {
		appliedMS = d.AppliedMS
	}
	if appliedMS == 0 {
		return inquiry.Verdict{}, &inquiry.Refused{Code: "not_applied", Why: "nobody said when recommendation " + id + " was applied", Hint: "gputally advise accept " + id + " --applied 2026-11-20"}
	}
	at := time.UnixMilli(appliedMS).UTC().Truncate(time.Hour)
	now := s.now().UTC().Truncate(time.Hour)
	days := min(int(now.Sub(at)/(24*time.Hour)), verifyDays)
	out := inquiry.Verdict{Decision: d}
	out.Decision.AppliedMS = appliedMS
	if days < 1 {
		out.State, out.Notes = advice.TooEarly, []string{advice.Say("too_early", at.Format(time.RFC3339))}
		return out, nil
	}
	before, err := s.period(ctx, &d.Recommendation.Target, at.AddDate(0, 0, -verifyDays), at.AddDate(0, 0, days-verifyDays))
	if err != nil {
		return out, err
	}
	after, err := s.period(ctx, &d.Recommendation.Target, at, at.AddDate(0, 0, days))
	if err != nil {
		return out, err
	}
	out.Verification = advice.Compare(&d.Recommendation, before, after)
	if out.State == advice.Regressed {
		out.Back = advice.Back(&d.Recommendation)
	}
	if days < verifyDays {
		out.State = advice.TooEarly
		out.Notes = append(out.Notes, advice.Say("on_the_way", days, verifyDays))
	}
	return out, nil
}

func (s *Service) decision(ctx context.Context, id string) (inquiry.Decision, error) {
	all, err := s.store.Decisions(ctx)
	if err != nil {
		return inquiry.Decision{}, err
	}
	for _, d := range all {
		if d.ID == id {
			return d, nil
		}
	}
	return inquiry.Decision{}, &inquiry.NotFound{What: "accepted recommendation", Name: id, Hint: "gputally advise decisions lists what was said to recommendations"}
}

// period is what a workload and its cluster were like in a time.
func (s *Service) period(ctx context.Context, t *advice.Target, from, to time.Time) (advice.Period, error) {
	p := advice.Period{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	nodes, err := s.worked(ctx, t, &p)
	if err != nil {
		return p, fmt.Errorf("verify: %w", err)
	}
	if err := s.terms(ctx, t.Cluster, nodes, &p); err != nil {
		return p, fmt.Errorf("verify: %w", err)
	}
	if err := s.cost(ctx, t, &p); err != nil {
		return p, fmt.Errorf("verify: %w", err)
	}
	return p, nil
}

// worked is what the workload did, and on which nodes.
func (s *Service) worked(ctx context.Context, t *advice.Target, p *advice.Period) (nodes []string, err error) {
	kind, name, _ := strings.Cut(t.Owner, "/")
	q := inquiry.AdviceQuery{Cluster: t.Cluster, Namespace: t.Namespace, OwnerKind: kind, OwnerName: name}
	var active int64
	read := false
	var engine demand.Evidence
	pods := map[string]bool{}
	at := map[int64]map[string]bool{}
	err = s.eachWorkload(ctx, &q, time.UnixMilli(p.FromMS), time.UnixMilli(p.ToMS), func(hours []*activity.Hour) error {
		p.Had = advisor.HadLast(hours)
		for _, h := range hours {
			nodes = append(nodes, h.Node)
			p.SeenMS += h.DurationMS
			if p.FirstMS == 0 || h.HourMS < p.FirstMS {
				p.FirstMS = h.HourMS
			}
			if h.Verdict.Class == signal.SuspectStall {
				p.StalledMS += h.DurationMS
			}
			for _, step := range h.Active.Steps {
				read = true
				active += step.MS * int64(step.Permille) / 1000
			}
			if h.Engine != nil {
				engine.Merge(*h.Engine)
			}
			pods[h.Holder.PodKey()] = true
			if at[h.HourMS] == nil {
				at[h.HourMS] = map[string]bool{}
			}
			at[h.HourMS][h.Holder.PodKey()] = true
		}
		return nil
	})
	if read {
		p.ActiveMS = &active
	}
	if engine.WaitingKnown > 0 {
		p.Waited, p.Looks = &engine.Waited, &engine.WaitingKnown
	}
	p.Preempted, p.Generated, p.Pods = engine.Preempted, engine.Generated, len(pods)
	for _, of := range at {
		p.PodsAtOnce = max(p.PodsAtOnce, len(of))
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), err
}

// cost is what the ledger has of it.
func (s *Service) cost(ctx context.Context, t *advice.Target, p *advice.Period) error {
	kind, name, _ := strings.Cut(t.Owner, "/")
	where := []report.Filter{{By: report.Cluster, In: []string{t.Cluster}}}
	fleet, err := s.store.Report(ctx, report.Spec{FromMS: p.FromMS, ToMS: p.ToMS, Where: where})
	if err != nil {
		return err
	}
	where = append(where, report.Filter{By: report.Namespace, In: []string{t.Namespace}})
	if kind == "Pod" {
		where = append(where, report.Filter{By: report.Pod, In: []string{t.Namespace + "/" + name}})
	} else {
		where = append(where, report.Filter{By: report.WorkloadKind, In: []string{kind}}, report.Filter{By: report.Workload, In: []string{name}})
	}
	// With what the policy passes on to it: so is it charged, and so was it advised.
	own, err := s.store.Report(ctx, report.Spec{FromMS: p.FromMS, ToMS: p.ToMS, Where: where, View: report.Distributed})
	if err != nil || len(fleet.Sections) != 1 || fleet.Sections[0].Total.Cost == nil {
		return err // several currencies, or no price: money is not compared
	}
	of := &fleet.Sections[0]
	p.Currency = string(of.Currency)
	if p.Nodes, err = nanoOf(of.Total.Cost.Total); err != nil {
		return err
	}
	var idle money.Sum
	for _, part := range of.Total.Cost.Platform {
		if part.Name == "idle" || part.Name == "stranded" {
			idle.AddSum(part.Amount)
		}
	}
	if p.Idle, err = nanoOf(idle); err != nil {
		return err
	}
	for i := range own.Sections {
		if o := &own.Sections[i]; o.Currency == of.Currency && o.Total.Cost != nil {
			p.Charge, err = nanoOf(o.Total.Cost.Total)
		}
	}
	return err
}

func nanoOf(s money.Sum) (*money.Nano, error) {
	n, err := s.Nano()
	return &n, err
}
