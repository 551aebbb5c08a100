// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// Explain traces the entries of a subject, those that cost most first.
func (s *Service) Explain(ctx context.Context, sub inquiry.Subject) (inquiry.Explanation, error) {
	charges, err := s.charges(ctx, sub)
	if err != nil {
		return inquiry.Explanation{}, err
	}
	out := inquiry.Explanation{Entries: len(charges)}
	if sub.Limit > 0 {
		charges = charges[:min(sub.Limit, len(charges))]
	}
	// Each hour is read once, whatever number of its entries is traced.
	hours := map[ledger.NodeHour]report.Evidence{}
	for _, c := range charges {
		ev, known := hours[c.hour]
		if !known {
			if ev, err = s.evidence(ctx, c.hour); err != nil {
				return inquiry.Explanation{}, err
			}
			hours[c.hour] = ev
		}
		t, err := report.Explain(c.entry, ev)
		if err != nil {
			return inquiry.Explanation{}, err
		}
		out.Traces = append(out.Traces, t)
	}
	return out, nil
}

// charge is an entry, with what it comes to.
type charge struct {
	entry   string
	hour    ledger.NodeHour
	amount  money.Sum
	shareMS int64
}

// charges finds the entries of a subject, in the order in which they are told.
func (s *Service) charges(ctx context.Context, sub inquiry.Subject) ([]*charge, error) {
	q, keep, err := s.query(ctx, sub)
	if err != nil {
		return nil, err
	}
	of := map[string]*charge{}
	for l, err := range s.store.Lines(ctx, q) {
		if err != nil {
			return nil, err
		}
		if !keep(l) || l.IsDrift() && sub.Line == "" && sub.Entry == "" {
			continue
		}
		c := of[l.Entry]
		if c == nil {
			c = &charge{entry: l.Entry, hour: l.NodeHour}
			of[l.Entry] = c
		}
		if l.Amount != nil {
			c.amount.Add(*l.Amount)
		}
		c.shareMS += l.ShareMS
	}
	if len(of) == 0 {
		return nil, notCharged(sub)
	}
	var out []*charge
	for _, c := range of {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *charge) int {
		return cmp.Or(b.amount.Cmp(a.amount), cmp.Compare(b.shareMS, a.shareMS), strings.Compare(a.entry, b.entry))
	})
	return out, nil
}

// query is which lines a subject may have, and which of them it has.
func (s *Service) query(ctx context.Context, sub inquiry.Subject) (ledger.Query, func(*ledger.Line) bool, error) {
	from, to := span(sub.FromMS, sub.ToMS)
	q := ledger.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	all := func(*ledger.Line) bool { return true }
	switch {
	case sub.Line != "":
		return ledger.Query{ID: sub.Line}, all, nil
	case sub.Entry != "":
		return ledger.Query{Entry: sub.Entry}, all, nil
	case sub.PodUID != "":
		q.PodUID = sub.PodUID
		return q, all, nil
	case sub.Pod != "":
		q.Account = sub.Pod
		return q, all, nil
	}
	namespace, rest, _ := strings.Cut(sub.Workload, "/")
	kind, name, ok := strings.Cut(rest, "/")
	if !ok {
		return q, nil, &inquiry.Wrong{Field: "workload", Value: sub.Workload, Why: "write namespace/kind/name, such as ml/Job/train"}
	}
	pods, err := s.store.Pods(ctx, from, to)
	if err != nil {
		return q, nil, err
	}
	return q, func(l *ledger.Line) bool {
		if l.Holder.Namespace != namespace {
			return false
		}
		d, ok := pods(l.Holder.PodUID, l.HourMS)
		return ok && strings.EqualFold(d.Owner.Kind, kind) && d.Owner.Name == name
	}, nil
}

func notCharged(sub inquiry.Subject) error {
	for _, c := range []struct{ what, name, hint string }{
		{"line", sub.Line, "gputally ledger export shows the ids of lines"},
		{"entry", sub.Entry, "gputally ledger export shows the entries of lines"},
		{"charge of pod", sub.PodUID, "look at another time, or at gputally report --by pod"},
		{"charge of pod", sub.Pod, "look at another time, or at gputally report --by pod"},
		{"charge of workload", sub.Workload, "look at another time, or at gputally report --by workload_kind,workload"},
	} {
		if c.name != "" {
			return &inquiry.NotFound{What: c.what, Name: c.name, Hint: c.hint}
		}
	}
	return &inquiry.Wrong{Field: "subject", Why: "name a line, an entry, a pod or a workload"}
}

// evidence is what the charges of an hour are explained from.
func (s *Service) evidence(ctx context.Context, h ledger.NodeHour) (report.Evidence, error) {
	var ev report.Evidence
	at := time.UnixMilli(h.HourMS).UTC()
	for l, err := range s.store.Lines(ctx, hourQuery(h)) {
		if err != nil {
			return ev, err
		}
		if l.NodeHour == h {
			ev.Lines = append(ev.Lines, *l)
		}
	}
	rated, err := s.rated(ctx, h)
	if err != nil {
		return ev, err
	}
	batches, err := batchesOf(ctx, s.store, at, h)
	if err != nil {
		return ev, err
	}
	ev.Hour = rating.Hour(rated.Costs, batches)
	ev.Policy, err = s.policy(ctx, rated, at)
	return ev, err
}

func hourQuery(h ledger.NodeHour) ledger.Query {
	return ledger.Query{FromMS: h.HourMS, ToMS: h.HourMS + time.Hour.Milliseconds(), Cluster: h.Cluster, Node: h.Node}
}

// rated is the hour as last rated.
func (s *Service) rated(ctx context.Context, h ledger.NodeHour) (*rating.Rated, error) {
	at := time.UnixMilli(h.HourMS).UTC()
	for r, err := range s.store.Rated(ctx, at, at.Add(time.Hour), h.Node) {
		if err != nil {
			return nil, err
		}
		if r.NodeHour == h {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the %s has lines and was never rated: check the ledger", h)
}

// batchesOf are the records that touch an hour of a node.
func batchesOf(ctx context.Context, store Usage, at time.Time, h ledger.NodeHour) (out []usage.Batch, err error) {
	for w, err := range store.Touching(ctx, at, at.Add(time.Hour), h.Node) {
		if err != nil {
			return nil, err
		}
		if w.Cluster == h.Cluster {
			return w.Read()
		}
	}
	return nil, nil
}

// policyKey is where the text of a policy is kept.
func policyKey(name string) string { return "policy " + name }

// policy is the one that the hour was rated by.
func (s *Service) policy(ctx context.Context, rated *rating.Rated, at time.Time) (allocation.Policy, error) {
	name := rated.Revision.Policy
	rules, err := s.rules.Rules(ctx, at)
	if err != nil {
		return allocation.Policy{}, err
	}
	if rules.Policy.Name() == name {
		return rules.Policy, nil
	}
	text, err := s.store.Text(ctx, policyKey(name))
	if err != nil {
		return allocation.Policy{}, err
	}
	if text == nil {
		return allocation.Policy{}, &inquiry.NotFound{What: "policy", Name: name, Hint: "the hour was rated by a policy that is not kept"}
	}
	var p allocation.Policy
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("policy %q as it is kept: %w", name, err)
	}
	return p, nil
}
