// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// remember keeps what was answered, for who says something to it.
func (s *Service) remember(a *inquiry.Advice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ToMS != s.day {
		s.known, s.day = map[string]*advice.Recommendation{}, a.ToMS
	}
	for i := range a.Workloads {
		of := a.Workloads[i].Recommendations
		for j := range of {
			s.known[of[j].ID] = &of[j]
		}
	}
	for i := range a.Shared {
		s.known[a.Shared[i].ID] = &a.Shared[i]
	}
}

// find is a recommendation by its id, of those that hold today.
func (s *Service) find(ctx context.Context, id string) (advice.Recommendation, error) {
	look := func() (advice.Recommendation, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r, ok := s.known[id]
		if !ok {
			return advice.Recommendation{}, false
		}
		return *r, true
	}
	if r, ok := look(); ok {
		return r, nil
	}
	if _, err := s.Advice(ctx, inquiry.AdviceQuery{Share: true}); err != nil {
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

// join sets what was said to a workload's recommendations, on a copy of them. A dismissal
// ends on its day; what was accepted and never made ends with the recommendation.
func (d decisions) join(w inquiry.AdvisedWorkload, nowMS int64) inquiry.AdvisedWorkload {
	if slices.ContainsFunc(w.Recommendations, func(r advice.Recommendation) bool { return d.has(&r) }) {
		w.Recommendations = slices.Clone(w.Recommendations)
	}
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

// has says that something was said to one.
func (d decisions) has(r *advice.Recommendation) bool {
	_, there := d[keyOf(r)]
	return there
}

// mark sets what was said to one.
func (d decisions) mark(r *advice.Recommendation, nowMS int64) (inquiry.Decision, bool) {
	said, there := d[keyOf(r)]
	if !there {
		return said, false
	}
	state, _ := stateAt(&said, nowMS, r.Stood)
	if state == advice.Expired {
		return said, false
	}
	if r.State == advice.Advised {
		r.State = state
	}
	return said, true
}

// stateAt is how a decision stands, and why it is expired. now is what the workload is like,
// nil where that is not known. What was dismissed for good stays so, and what was made is
// made.
func stateAt(d *inquiry.Decision, nowMS int64, now *advice.Standing) (state advice.State, why []string) {
	day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }
	switch changed := d.Recommendation.Stood.Changed(now); {
	case d.State == advice.Accepted && d.AppliedMS > 0:
		return advice.Applied, nil
	case d.State == advice.Dismissed && d.UntilMS == 0:
		return d.State, nil
	case d.State == advice.Dismissed && d.UntilMS <= nowMS:
		return advice.Expired, []string{advice.Say("expired_dismissed", day(d.UntilMS))}
	case d.State == advice.Accepted && d.Recommendation.ExpiresMS > 0 && d.Recommendation.ExpiresMS <= nowMS:
		return advice.Expired, []string{advice.Say("expired_held", day(d.Recommendation.ExpiresMS))}
	case len(changed) > 0:
		return advice.Expired, changed
	}
	return d.State, nil
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
		d = again(d, &all[i])
	} else if d.Recommendation, err = s.find(ctx, d.ID); err != nil {
		return d, err
	}
	if d.State == advice.Accepted && d.Recommendation.State == advice.Refused {
		return d, &inquiry.Refused{Code: "refused_advice", Why: "recommendation " + d.ID + " was refused: there is nothing to accept", Hint: "its refusals say what is missing"}
	}
	d.AtMS = s.now().UnixMilli()
	return d, s.store.KeepDecision(ctx, d)
}

// again adds to what was said before: saying when an accepted change was made takes
// nothing of why it was accepted away.
func again(d inquiry.Decision, before *inquiry.Decision) inquiry.Decision {
	d.Recommendation = before.Recommendation
	if d.State == before.State {
		d.Reason = cmp.Or(d.Reason, before.Reason)
		d.AppliedMS = cmp.Or(d.AppliedMS, before.AppliedMS)
	}
	return d
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
	if err != nil {
		return nil, err
	}
	look, now := looker{service: s}, s.now()
	for i := range all {
		d := &all[i]
		state, why := stateAt(d, now.UnixMilli(), nil)
		if state == d.State && d.Recommendation.Stood != nil { // still open: look at the workload
			stood, err := look.at(ctx, &d.Recommendation, dayOf(now.UnixMilli()))
			if err != nil {
				return nil, err
			}
			state, why = stateAt(d, now.UnixMilli(), stood)
		}
		d.State, d.Why = state, why
	}
	return all, nil
}
