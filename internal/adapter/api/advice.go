// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// Adviser says what is advised, and keeps what people say to it.
type Adviser interface {
	Advice(ctx context.Context, q inquiry.AdviceQuery) (inquiry.Advice, error)
	// Hours are what a workload's pods did, in order of time.
	Hours(ctx context.Context, q inquiry.HoursQuery) ([]activity.Hour, error)
	// Plans looks for nodes that clusters could give back.
	Plans(ctx context.Context, q inquiry.AdviceQuery) (inquiry.Plans, error)
	// Decide fails with an *inquiry.NotFound where today has no recommendation of the
	// id and nothing was said to it before.
	Decide(ctx context.Context, d inquiry.Decision) (inquiry.Decision, error)
	Decisions(ctx context.Context) ([]inquiry.Decision, error)
	// Verify compares before and after appliedMS; 0 is when it was said to be applied.
	Verify(ctx context.Context, id string, appliedMS int64) (inquiry.Verdict, error)
}

func (h *handler) routeAdvice() {
	get(h, operation(http.MethodGet, "/advice", "getAdvice", "What is advised",
		"For the workloads of the day before: what each needs, which changes would serve it, what these do to its charge, to capacity and to the invoice, and what cannot be said and why. The time looked at is the 28 days before the day of UTC that holds the moment.", heavy), h.advice)
	get(h, operation(http.MethodGet, "/advice/hours", "getActivityHours", "What a workload did, hour by hour",
		"The class of each hour of each of its pods, with the rule that gave it and what the rule looked at. At most 10,000 hours of pods.", heavy), h.activityHours)
	get(h, operation(http.MethodGet, "/advice/plans", "getAdvicePlans", "Which nodes could go",
		"For each cluster: the nodes that its pods leave room to give back, step by step, with what a month costs less; as the pods are, or with the profiles that are advised for them.", heavy), h.plans)
	get(h, operation(http.MethodGet, "/advice/decisions", "listAdviceDecisions", "What was said to advice", ""), h.decisions)
	get(h, operation(http.MethodPost, "/advice/{id}/decision", "decideAdvice", "Accept or dismiss advice",
		"Nothing is changed by it but what is shown: an accepted change can be verified, a dismissed one is not shown as advice until its day. Saying something else replaces it; saying when an accepted change was made keeps why it was accepted.", writes), h.decide)
	get(h, operation(http.MethodGet, "/advice/{id}/verification", "verifyAdvice", "What a change came to",
		"Compares up to seven days before and after the change: what the nodes cost, what the workload was charged, what is idle, and what got worse.", heavy), h.verifyAdvice)
}

type adviceQuery struct {
	At        string `query:"at" doc:"A moment; left out: now." example:"2026-11-03"`
	Cluster   string `query:"cluster"`
	Node      string `query:"node" doc:"Workloads that have GPUs of this node."`
	Namespace string `query:"namespace"`
	Share     bool   `query:"share" doc:"Look for workloads that could share a GPU, too. It reads minutes: it takes longer."`
	Workload  string `query:"workload" doc:"KIND/NAME, with namespace." example:"Deployment/bge"`
}

func (h *handler) advice(ctx context.Context, q *adviceQuery) (v1.Advice, error) {
	ask := inquiry.AdviceQuery{Cluster: q.Cluster, Node: q.Node, Namespace: q.Namespace, Share: q.Share}
	var err error
	if ask.AtMS, err = h.moment(q.At); err != nil {
		return v1.Advice{}, err
	}
	if q.Workload != "" {
		if ask.OwnerKind, ask.OwnerName, err = workloadOf(q.Namespace, q.Workload); err != nil {
			return v1.Advice{}, err
		}
	}
	a, err := h.Adviser.Advice(ctx, ask)
	if err != nil {
		return v1.Advice{}, err
	}
	return v1.AdviceOf(&a), nil
}

type hoursQuery struct {
	Span
	Cluster   string `query:"cluster"`
	Namespace string `query:"namespace" required:"true"`
	Workload  string `query:"workload" required:"true" doc:"KIND/NAME; a pod without an owner is Pod/NAME." example:"Deployment/bge"`
}

func (h *handler) activityHours(ctx context.Context, q *hoursQuery) (v1.ActivityHours, error) {
	kind, name, err := workloadOf(q.Namespace, q.Workload)
	if err != nil {
		return v1.ActivityHours{}, err
	}
	ask := inquiry.HoursQuery{Cluster: q.Cluster, Namespace: q.Namespace, OwnerKind: kind, OwnerName: name}
	if ask.FromMS, ask.ToMS, err = q.hours(h.Now()); err != nil {
		return v1.ActivityHours{}, err
	}
	hours, err := h.Adviser.Hours(ctx, ask)
	if err != nil {
		return v1.ActivityHours{}, err
	}
	return v1.ActivityHoursOf(hours), nil
}

// workloadOf reads KIND/NAME.
func workloadOf(namespace, workload string) (kind, name string, err error) {
	kind, name, ok := strings.Cut(workload, "/")
	if !ok || kind == "" || name == "" || namespace == "" {
		return "", "", invalid(v1.FieldError{Field: "workload", Value: workload, Detail: "write KIND/NAME, such as Deployment/bge, and give the namespace, too"})
	}
	return kind, name, nil
}

type plansQuery struct {
	At      string `query:"at" doc:"A moment; left out: now." example:"2026-11-03"`
	Cluster string `query:"cluster"`
}

func (h *handler) plans(ctx context.Context, q *plansQuery) (v1.AdvicePlans, error) {
	ask := inquiry.AdviceQuery{Cluster: q.Cluster}
	var err error
	if ask.AtMS, err = h.moment(q.At); err != nil {
		return v1.AdvicePlans{}, err
	}
	p, err := h.Adviser.Plans(ctx, ask)
	if err != nil {
		return v1.AdvicePlans{}, err
	}
	return v1.AdvicePlansOf(&p), nil
}

func (h *handler) decisions(ctx context.Context, _ *struct{}) (v1.AdviceDecisions, error) {
	all, err := h.Adviser.Decisions(ctx)
	if err != nil {
		return v1.AdviceDecisions{}, err
	}
	return v1.AdviceDecisionsOf(all), nil
}

// AdvicePath is a recommendation in a path.
type AdvicePath struct {
	ID string `path:"id" maxLength:"200" example:"5d0c8e2f91ab37c4"`
}

type decideInput struct {
	AdvicePath
	Body v1.DecideAdvice
}

func (h *handler) decide(ctx context.Context, in *decideInput) (v1.AdviceDecision, error) {
	b := &in.Body
	d := inquiry.Decision{ID: in.ID, State: advice.State(b.State), Reason: strings.TrimSpace(b.Reason), By: signed(ctx, b.By), UntilMS: msOf(b.Until), AppliedMS: msOf(b.Applied)}
	if d.UntilMS > 0 && d.UntilMS <= h.Now().UnixMilli() {
		return v1.AdviceDecision{}, invalid(v1.FieldError{Field: "until", Value: b.Until.Format(time.RFC3339), Detail: "it is over already: give a time to come"})
	}
	if d.AppliedMS > h.Now().UnixMilli() {
		return v1.AdviceDecision{}, invalid(v1.FieldError{Field: "applied", Value: b.Applied.Format(time.RFC3339), Detail: "it has not come yet: say it when it is done"})
	}
	d, err := h.Adviser.Decide(ctx, d)
	if err != nil {
		return v1.AdviceDecision{}, err
	}
	return v1.AdviceDecisionOf(&d), nil
}

func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

type verifyQuery struct {
	AdvicePath
	Applied string `query:"applied" doc:"When the change was made; left out: as it was said with the decision." example:"2026-11-20"`
}

func (h *handler) verifyAdvice(ctx context.Context, q *verifyQuery) (v1.AdviceVerdict, error) {
	var at int64
	var err error
	if q.Applied != "" {
		if at, err = parseMoment("applied", q.Applied); err != nil {
			return v1.AdviceVerdict{}, err
		}
	}
	v, err := h.Adviser.Verify(ctx, q.ID, at)
	if err != nil {
		return v1.AdviceVerdict{}, err
	}
	return v1.AdviceVerdictOf(&v), nil
}
