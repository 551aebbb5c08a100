// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/pricing"
)

// windowDays is how long is looked at: twice what servers and notebooks must have
// been seen, so that a workload can earn the highest confidence.
const windowDays = 28

// Service answers what is advised.
type Service struct {
	store Store
	rules func(ctx context.Context, hour time.Time) (RuleSet, error)
	log   *slog.Logger
	now   func() time.Time

	mu sync.Mutex
	// known are recommendations that were answered, by id: of the last day that was
	// asked for.
	known map[string]advice.Recommendation
	day   int64

	summary   Summary
	summaryOf summaryOf
}

// RuleSet is what hours are priced and divided by.
type RuleSet struct {
	// Books are the price books, the strongest first.
	Books  []*pricing.Book
	Policy allocation.Policy
}

// ServiceConfig is what the service stands on beside a store.
type ServiceConfig struct {
	// Rules are those in force in an hour; nil: no other machine is proposed, and
	// charges are by the default policy.
	Rules func(ctx context.Context, hour time.Time) (RuleSet, error)
	Log   *slog.Logger
	Now   func() time.Time
}

// NewService answers from a store.
func NewService(store Store, cfg ServiceConfig) *Service {
	log, now := cfg.Log, cfg.Now
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, rules: cfg.Rules, log: log, now: now, known: map[string]advice.Recommendation{}}
}

// Advice tries every kind of change on the workloads that are asked for.
func (s *Service) Advice(ctx context.Context, q inquiry.AdviceQuery) (inquiry.Advice, error) {
	if q.AtMS == 0 {
		q.AtMS = s.now().UnixMilli()
	}
	to := dayOf(q.AtMS)
	from := to.AddDate(0, 0, -windowDays)
	out := inquiry.Advice{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	due, err := s.store.ActivityDue(ctx, from, Rules, 10_000)
	if err != nil {
		return out, err
	}
	out.Behind = len(due)
	fleet, err := s.fleet(ctx, from, to)
	if err != nil {
		return out, err
	}
	said, err := s.said(ctx)
	if err != nil {
		return out, err
	}
	var cases []*advisor.Case
	err = s.eachWorkload(ctx, &q, from, to, func(hours []*activity.Hour) error {
		for _, c := range advisor.Cases(hours, out.FromMS, out.ToMS) {
			if q.Node != "" && !c.On(q.Node) {
				continue
			}
			if q.Share {
				cases = append(cases, c)
			}
			list, err := c.Advise(&fleet.Fleet)
			if err != nil {
				s.log.Error("no advice for a workload; others go on", "error", err)
				continue
			}
			if !fleet.plain {
				uncharged(list)
			}
			out.Workloads = append(out.Workloads, said.join(workloadOf(c, list), q.AtMS))
		}
		return nil
	})
	if err == nil && q.Share {
		out.Shared, err = s.shares(ctx, cases, &fleet.Fleet)
		if !fleet.plain {
			uncharged(out.Shared)
		}
		for i := range out.Shared {
			said.mark(&out.Shared[i], q.AtMS)
		}
	}
	s.remember(&out)
	return out, err
}

func workloadOf(c *advisor.Case, list []advice.Recommendation) inquiry.AdvisedWorkload {
	pods, partitions := c.Size()
	return inquiry.AdvisedWorkload{Target: c.Target, Work: c.Work, Model: c.Device.Model, Profile: c.Profile, Pods: pods, Partitions: partitions,
		Classes: c.Classes, Recommendations: list}
}

// eachWorkload hands out the hours of one workload after the other. A node that is
// asked for narrows nothing here: what its workloads need, their other pods tell, too.
func (s *Service) eachWorkload(ctx context.Context, q *inquiry.AdviceQuery, from, to time.Time, f func([]*activity.Hour) error) error {
	want := activity.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli(), Cluster: q.Cluster, Namespace: q.Namespace, OwnerKind: q.OwnerKind, OwnerName: q.OwnerName}
	if q.OwnerKind == "Pod" {
		want.OwnerKind, want.OwnerName, want.PodName = "", "", q.OwnerName
	}
	var hours []*activity.Hour
	for h, err := range s.store.Activity(ctx, want) {
		if err != nil {
			return fmt.Errorf("advice: %w", err)
		}
		if len(hours) > 0 && !sameWorkload(hours[0], h) {
			if err := f(hours); err != nil {
				return err
			}
			hours = nil
		}
		hours = append(hours, h)
	}
	if len(hours) == 0 {
		return nil
	}
	return f(hours)
}

// mostHours is how many hours are told at a time: a year of one pod, a month of ten.
const mostHours = 10_000

// Hours are what a workload's pods did, hour by hour, in order of time.
func (s *Service) Hours(ctx context.Context, q inquiry.HoursQuery) (out []activity.Hour, err error) {
	ask := inquiry.AdviceQuery{Cluster: q.Cluster, Namespace: q.Namespace, OwnerKind: q.OwnerKind, OwnerName: q.OwnerName}
	err = s.eachWorkload(ctx, &ask, time.UnixMilli(q.FromMS), time.UnixMilli(q.ToMS), func(hours []*activity.Hour) error {
		if len(out)+len(hours) > mostHours {
			return &inquiry.Wrong{Field: "from", Value: time.UnixMilli(q.FromMS).UTC().Format(time.RFC3339), Why: fmt.Sprintf("the time has more than %d hours of pods: ask for less", mostHours)}
		}
		for _, h := range hours {
			out = append(out, *h)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b activity.Hour) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), a.Holder.Compare(b.Holder), a.Partition.Compare(b.Partition))
	})
	return out, err
}

func sameWorkload(a, b *activity.Hour) bool {
	if a.Cluster != b.Cluster || a.Holder.Namespace != b.Holder.Namespace {
		return false
	}
	if a.Owner.Name == "" || b.Owner.Name == "" {
		return a.Owner.Name == b.Owner.Name && a.Holder.PodKey() == b.Holder.PodKey()
	}
	return a.Owner.Kind == b.Owner.Kind && a.Owner.Name == b.Owner.Name
}

// fleet is what is known of nodes and of what people said.
func (s *Service) fleet(ctx context.Context, from, to time.Time) (*knownFleet, error) {
	prices := map[[2]string]*advice.Price{}
	for c, err := range s.store.Costs(ctx, to.Add(-48*time.Hour), to) {
		if err != nil {
			return nil, fmt.Errorf("advice: %w", err)
		}
		if p := priceOf(c); p != nil {
			prices[[2]string{c.Cluster, c.Node}] = p
		}
	}
	holders, err := s.store.Holders(ctx, to.Add(-48*time.Hour), to)
	if err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	market, err := s.marketAt(ctx, to)
	if err != nil {
		return nil, err
	}
	on := map[[2]string][]string{}
	for _, h := range holders {
		k := [2]string{h.Cluster, h.Node}
		on[k] = append(on[k], nameOf(&h))
	}
	return &knownFleet{plain: plain(&market.rules.Policy), Fleet: advisor.Fleet{
		Price: func(cluster, node string) *advice.Price { return prices[[2]string{cluster, node}] },
		Alone: func(cluster, node, namespace, owner string) bool {
			of := on[[2]string{cluster, node}]
			return len(of) == 1 && of[0] == namespace+"/"+owner
		},
		Shapes: market.shapes,
	}}, nil
}

// knownFleet is what is known of nodes. plain: a workload with a partition of its own is
// charged the price of its slices, so that what a change does to its charge is known.
type knownFleet struct {
	advisor.Fleet
	plain bool
}

// plain: what a grant keeps from others is charged for, and nothing is passed on. By
// memory alone, or with idle GPUs on the tenants, only dividing the hours again tells.
func plain(p *allocation.Policy) bool {
	return p.Basis != allocation.Memory && len(p.Distribute) == 0
}

// uncharged takes back what the policy in force does not bear out.
func uncharged(list []advice.Recommendation) {
	for i := range list {
		if m := list[i].Money; m != nil && m.Class != advice.Enabler {
			out := *m
			out.ChargeDelta = nil
			list[i].Money = &out
		}
	}
}

func nameOf(h *activity.NodeHolder) string {
	if h.OwnerName == "" {
		return h.Namespace + "/Pod/" + h.Pod
	}
	return h.Namespace + "/" + h.OwnerKind + "/" + h.OwnerName
}

// remember keeps what was answered, for who says something to it.
func (s *Service) remember(a *inquiry.Advice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ToMS != s.day {
		s.known, s.day = map[string]advice.Recommendation{}, a.ToMS
	}
	for i := range a.Workloads {
		for _, r := range a.Workloads[i].Recommendations {
			s.known[r.ID] = r
		}
	}
	for _, r := range a.Shared {
		s.known[r.ID] = r
	}
}

// find is a recommendation by its id, of those that hold today.
func (s *Service) find(ctx context.Context, id string) (advice.Recommendation, error) {
	look := func() (advice.Recommendation, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r, ok := s.known[id]
		return r, ok
	}
	if r, ok := look(); ok {
		return r, nil
	}
	if _, err := s.Advice(ctx, inquiry.AdviceQuery{}); err != nil {
		return advice.Recommendation{}, err
	}
	if r, ok := look(); ok {
		return r, nil
	}
	return advice.Recommendation{}, &inquiry.NotFound{What: "recommendation", Name: id, Hint: "ids change with each day that is looked at: see gputally advise for those of today"}
}

// decisions are what was said, by what it was said to.
type decisions map[string]inquiry.Decision

func (s *Service) said(ctx context.Context) (decisions, error) {
	all, err := s.store.Decisions(ctx)
	if err != nil {
		return nil, err
	}
	out := decisions{}
	for _, d := range slices.Backward(all) { // the newest counts
		out[keyOf(&d.Recommendation)] = d
	}
	return out, nil
}

// keyOf is what a recommendation is about, whatever day it is of.
func keyOf(r *advice.Recommendation) string {
	t := &r.Target
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s", r.Kind, t.Cluster, t.Namespace, t.Owner, r.Current.Model, r.Current.Profile, strings.Join(r.Current.With, "\x00"))
}

// join sets what was said to a workload's recommendations. A dismissal ends on its
// day; what was accepted and never made ends with the recommendation.
func (d decisions) join(w inquiry.AdvisedWorkload, nowMS int64) inquiry.AdvisedWorkload {
	for i := range w.Recommendations {
		r := &w.Recommendations[i]
		said, there := d.mark(r, nowMS)
		if !there {
			continue
		}
		if w.Said == nil {
			w.Said = map[advice.Kind]inquiry.Decision{}
		}
		w.Said[r.Kind] = said
	}
	return w
}

// mark sets what was said to one.
func (d decisions) mark(r *advice.Recommendation, nowMS int64) (inquiry.Decision, bool) {
	said, there := d[keyOf(r)]
	if !there {
		return said, false
	}
	state := stateAt(&said, nowMS)
	if state == advice.Expired {
		return said, false
	}
	if r.State == advice.Advised {
		r.State = state
	}
	return said, true
}

// stateAt is how a decision stands.
func stateAt(d *inquiry.Decision, nowMS int64) advice.State {
	switch {
	case d.State == advice.Dismissed && d.UntilMS > 0 && d.UntilMS <= nowMS:
		return advice.Expired
	case d.State == advice.Accepted && d.AppliedMS > 0:
		return advice.Applied
	case d.State == advice.Accepted && d.Recommendation.ExpiresMS > 0 && d.Recommendation.ExpiresMS <= nowMS:
		return advice.Expired
	}
	return d.State
}

// Decide keeps what somebody says to a recommendation of today, or adds to what was
// said to an earlier one.
func (s *Service) Decide(ctx context.Context, d inquiry.Decision) (inquiry.Decision, error) {
	if err := checkDecision(&d); err != nil {
		return d, err
	}
	all, err := s.store.Decisions(ctx)
	if err != nil {
		return d, err
	}
	i := slices.IndexFunc(all, func(o inquiry.Decision) bool { return o.ID == d.ID })
	if i >= 0 {
		d.Recommendation = all[i].Recommendation
	} else if d.Recommendation, err = s.find(ctx, d.ID); err != nil {
		return d, err
	}
	if d.State == advice.Accepted && d.Recommendation.State == advice.Refused {
		return d, &inquiry.Refused{Code: "refused_advice", Why: "recommendation " + d.ID + " was refused: there is nothing to accept", Hint: "its refusals say what is missing"}
	}
	d.AtMS = s.now().UnixMilli()
	return d, s.store.KeepDecision(ctx, d)
}

func checkDecision(d *inquiry.Decision) error {
	switch {
	case d.State != advice.Accepted && d.State != advice.Dismissed:
		return &inquiry.Wrong{Field: "state", Value: string(d.State), Why: "it can be accepted or dismissed", Allowed: []string{string(advice.Accepted), string(advice.Dismissed)}}
	case d.State == advice.Dismissed && d.Reason == "":
		return &inquiry.Wrong{Field: "reason", Why: "say why it is dismissed: whoever reads it next asks"}
	case d.State == advice.Dismissed && d.AppliedMS > 0:
		return &inquiry.Wrong{Field: "applied", Why: "what is dismissed is not applied"}
	}
	return nil
}

// Decisions are all that was said, the newest first, as they stand now.
func (s *Service) Decisions(ctx context.Context) ([]inquiry.Decision, error) {
	all, err := s.store.Decisions(ctx)
	now := s.now().UnixMilli()
	for i := range all {
		all[i].State = stateAt(&all[i], now)
	}
	return all, err
}
