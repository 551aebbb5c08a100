// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/test/memstore"
)

// TestAdvice: ask, dismiss, read again, verify; through the client, as the command does.
func TestAdvice(t *testing.T) {
	l := ledgerOfItsOwn(t)
	_, c := serve(t, l, nil)
	const day = "2026-11-04T08:00:00Z"
	a, err := c.Advice(t.Context(), client.AdviceQuery{At: day, Share: true})
	if err != nil || len(a.Workloads) == 0 || a.To.Format("2006-01-02") != "2026-11-04" {
		t.Fatalf("%+v, %v", a, err)
	}
	// Six hours are never enough.
	for _, w := range a.Workloads {
		for _, r := range w.Recommendations {
			if r.State != "refused" || len(r.Refusals) == 0 || r.Proposed != nil || r.Money != nil {
				t.Errorf("%s %s: %+v", w.Target.Owner, r.Kind, r)
			}
		}
	}
	first := a.Workloads[0]
	one, err := c.Advice(t.Context(), client.AdviceQuery{At: day, Namespace: first.Target.Namespace, Workload: first.Target.Owner})
	if err != nil || len(one.Workloads) != 1 {
		t.Fatalf("%+v, %v", one, err)
	}
	id := first.Recommendations[0].ID
	said, err := c.DecideAdvice(t.Context(), id, v1.DecideAdvice{State: "dismissed", Reason: "later", By: "ada"})
	if err != nil || said.State != "dismissed" || said.Target.Owner != first.Target.Owner {
		t.Fatalf("%+v, %v", said, err)
	}
	all, err := c.AdviceDecisions(t.Context())
	if err != nil || len(all.Decisions) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	v, err := c.VerifyAdvice(t.Context(), id, "2026-11-03T03:00:00Z")
	if err != nil || v.State == "" {
		t.Fatalf("%+v, %v", v, err)
	}
	hours, err := c.ActivityHours(t.Context(), client.Span{From: "2026-11-03", To: "2026-11-04"}, "", first.Target.Namespace, first.Target.Owner)
	if err != nil || len(hours.Hours) == 0 || len(hours.Hours[0].Inputs) == 0 {
		t.Fatalf("%+v, %v", hours, err)
	}
	plans, err := c.AdvicePlans(t.Context(), "2026-11-03T04:00:00Z", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{reportview.Advice(&a, false), reportview.Advice(&a, true), reportview.AdviceDetails(&one), reportview.AdviceDecisions(&all), reportview.AdviceVerdict(&v), reportview.AdvicePlans(&plans), reportview.ActivityHours(&hours)} {
		if strings.Contains(text, "%!") || strings.TrimSpace(text) == "" {
			t.Errorf("badly printed:\n%s", text)
		}
	}
	if text := reportview.Advice(&a, false); !strings.Contains(text, "not_enough_history") || !strings.Contains(text, first.Target.Owner) {
		t.Errorf("the table lacks why:\n%s", text)
	}
}

// TestAdviceAskedWrongly: what cannot be, with the field and what to write.
func TestAdviceAskedWrongly(t *testing.T) {
	_, c := serve(t, readOnly(t), nil)
	for _, ask := range []struct {
		f     func() error
		field string
		code  int
	}{
		{func() error {
			_, err := c.Advice(t.Context(), client.AdviceQuery{Workload: "bge", Namespace: "ml"})
			return err
		}, "workload", http.StatusUnprocessableEntity},
		{func() error { _, err := c.Advice(t.Context(), client.AdviceQuery{Workload: "Job/x"}); return err }, "workload", http.StatusUnprocessableEntity},
		{func() error { _, err := c.ActivityHours(t.Context(), month, "", "ml", "train"); return err }, "workload", http.StatusUnprocessableEntity},
		{func() error { _, err := c.Advice(t.Context(), client.AdviceQuery{At: "yesterday"}); return err }, "at", http.StatusUnprocessableEntity},
		{func() error {
			_, err := c.DecideAdvice(t.Context(), "x", v1.DecideAdvice{State: "dismissed"})
			return err
		}, "reason", http.StatusUnprocessableEntity},
		{func() error {
			_, err := c.DecideAdvice(t.Context(), "x", v1.DecideAdvice{State: "dismissed", Reason: "r", Until: memstore.Start})
			return err
		}, "until", http.StatusUnprocessableEntity},
		{func() error {
			_, err := c.DecideAdvice(t.Context(), "x", v1.DecideAdvice{State: "accepted", Applied: now.AddDate(0, 0, 1)})
			return err
		}, "applied", http.StatusUnprocessableEntity},
		{func() error {
			_, err := c.DecideAdvice(t.Context(), "nothing", v1.DecideAdvice{State: "accepted"})
			return err
		}, "", http.StatusNotFound},
		{func() error { _, err := c.VerifyAdvice(t.Context(), "nothing", ""); return err }, "", http.StatusNotFound},
	} {
		err := ask.f()
		var p *v1.Problem
		if !errors.As(err, &p) || p.Status != ask.code || ask.field != "" && !strings.Contains(err.Error(), ask.field) {
			t.Errorf("%s: %v", ask.field, err)
		}
	}
}
