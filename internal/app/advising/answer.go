// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// asked is a question about all workloads.
type asked struct {
	basis
	share bool
}

// worked is what was worked out, before what people said to it. It is shared: nobody changes
// it.
type worked struct {
	workloads []inquiry.AdvisedWorkload
	// nodes are those that each of them has GPUs of.
	nodes  [][]string
	shared []advice.Recommendation
}

// Advice tries every kind of change on the workloads that are asked for. What it answers is
// kept and shared: it is to be read only.
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
	w, err := s.workedOut(ctx, &q, to)
	if err != nil {
		return out, err
	}
	said, err := s.said(ctx) // last, so that it is what was said until now
	if err != nil {
		return out, err
	}
	for i := range w.workloads {
		out.Workloads = append(out.Workloads, said.join(w.workloads[i], q.AtMS))
	}
	out.Shared = slices.Clone(w.shared)
	for i := range out.Shared {
		said.mark(&out.Shared[i], q.AtMS)
	}
	s.remember(&out)
	return out, nil
}

// workedOut is what is kept, or is worked out now.
func (s *Service) workedOut(ctx context.Context, q *inquiry.AdviceQuery, to time.Time) (*worked, error) {
	basis, rules, known, err := s.basisOf(ctx, to)
	if err != nil {
		return nil, err
	}
	if !known {
		w, _, err := s.work(ctx, q, to, rules)
		return w, err
	}
	if narrow(q) {
		if w, ok := s.kept(basis, false); ok && sameNarrowed(q) {
			return w.of(q), nil
		}
		w, _, err := s.work(ctx, q, to, rules)
		return w, err
	}
	if w, ok := s.kept(basis, q.Share); ok {
		return w, nil
	}
	return s.fleets.ask(ctx, asked{basis, q.Share}, func(ctx context.Context) (*worked, bool, error) {
		return s.work(ctx, &inquiry.AdviceQuery{Share: q.Share}, to, rules)
	})
}

// kept is the answer for all workloads, where it is there.
func (s *Service) kept(b basis, share bool) (*worked, bool) {
	if w, ok := s.fleets.have(asked{b, share}); ok || share {
		return w, ok
	}
	w, ok := s.fleets.have(asked{b, true})
	if !ok {
		return nil, false
	}
	return &worked{workloads: w.workloads, nodes: w.nodes}, true
}

// narrow questions are about some workloads.
func narrow(q *inquiry.AdviceQuery) bool {
	return q.Cluster != "" || q.Node != "" || q.Namespace != "" || q.OwnerKind != "" || q.OwnerName != ""
}

// sameNarrowed says that the answer to a narrow question is a part of that for all workloads.
// Who could share depends on who is asked for, and a pod that is asked for may be one of
// several of a workload.
func sameNarrowed(q *inquiry.AdviceQuery) bool {
	return !q.Share && q.OwnerKind != "Pod" && (q.OwnerKind == "") == (q.OwnerName == "")
}

// of is the part that a narrow question is about.
func (w *worked) of(q *inquiry.AdviceQuery) *worked {
	out := &worked{}
	for i := range w.workloads {
		t := &w.workloads[i].Target
		if (q.Cluster == "" || q.Cluster == t.Cluster) && (q.Namespace == "" || q.Namespace == t.Namespace) &&
			(q.OwnerKind == "" || q.OwnerKind+"/"+q.OwnerName == t.Owner) && (q.Node == "" || slices.Contains(w.nodes[i], q.Node)) {
			out.workloads = append(out.workloads, w.workloads[i])
			out.nodes = append(out.nodes, w.nodes[i])
		}
	}
	return out
}

// work works an answer out. clean says that nothing failed that may not fail the next time.
func (s *Service) work(ctx context.Context, q *inquiry.AdviceQuery, to time.Time, rules RuleSet) (out *worked, clean bool, err error) {
	fleet, err := s.fleet(ctx, to, rules)
	if err != nil {
		return nil, false, err
	}
	out = &worked{}
	var cases []*advisor.Case
	var trials []*trial
	from := to.AddDate(0, 0, -windowDays)
	err = s.eachWorkload(ctx, q, from, to, func(hours []*activity.Hour) error {
		for _, c := range advisor.Cases(hours, from.UnixMilli(), to.UnixMilli()) {
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
			trials = append(trials, fleet.trials(c, list)...)
			out.workloads = append(out.workloads, workloadOf(c, list))
			out.nodes = append(out.nodes, c.Nodes())
		}
		return nil
	})
	if err == nil && q.Share {
		var more []*trial
		out.shared, more, err = s.shares(ctx, cases, fleet)
		trials = append(trials, more...)
	}
	if err != nil {
		return nil, false, err
	}
	clean, err = s.divideAgain(ctx, trials, *fleet.policy())
	return out, clean, err
}
