// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// TestVerify: a notebook stops at night from one day on, and its node with it. The
// ledger tells what that came to.
func TestVerify(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	at := begin.AddDate(0, 0, 22) // a Monday: the day of the change
	w.now = at.Add(time.Hour)
	w.deliver(begin, at, small())
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	r := of(t, &a, "nb/Notebook/carol", advice.KindReclaim)
	if r.State != advice.Advised {
		t.Fatalf("%s, %v", r.State, r.Refusals)
	}
	var missing *inquiry.NotFound
	if _, err := w.service.Verify(ctx, r.ID, 0); !errors.As(err, &missing) {
		t.Errorf("nobody accepted it: %v", err)
	}
	if _, err := w.service.Decide(ctx, inquiry.Decision{ID: r.ID, State: advice.Accepted, Reason: "agreed"}); err != nil {
		t.Fatal(err)
	}
	var refused *inquiry.Refused
	if _, err := w.service.Verify(ctx, r.ID, 0); !errors.As(err, &refused) {
		t.Errorf("nobody said when: %v", err)
	}
	if _, err := w.service.Decide(ctx, inquiry.Decision{ID: r.ID, State: advice.Accepted, AppliedMS: at.UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	if v, err := w.service.Verify(ctx, r.ID, 0); err != nil || v.State != advice.TooEarly || v.Decision.Reason != "agreed" {
		t.Errorf("an hour later: %+v, %v", v, err)
	}

	for day := range 7 { // each morning a new machine
		from := at.AddDate(0, 0, day)
		if from.Weekday() == time.Saturday || from.Weekday() == time.Sunday {
			continue
		}
		n := small()
		n.name = fmt.Sprintf("n1-%d", day)
		n.pods[0].name = fmt.Sprintf("carol-%d", day)
		w.deliver(from.Add(9*time.Hour), from.Add(17*time.Hour), n)
	}
	w.now = at.AddDate(0, 0, 2)
	w.settle()
	// Monday and Tuesday are compared with a Monday and a Tuesday.
	if v, err := w.service.Verify(ctx, r.ID, 0); err != nil || v.State != advice.TooEarly || v.Before.FromMS != at.AddDate(0, 0, -7).UnixMilli() || v.Before.ToMS != at.AddDate(0, 0, -5).UnixMilli() {
		t.Errorf("two days later: %+v, %v", v, err)
	}
	w.now = at.AddDate(0, 0, 8)
	w.settle()
	v, err := w.service.Verify(ctx, r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 168 hours at 0.80 before, five days of eight hours after. Each machine is paid for
	// one interval of five seconds longer than its pod was seen.
	if v.State != advice.Verified || v.Cash == nil || v.Cash.String() != "102.393333334" || v.Charge.String() != "102.40" || v.Before.Nodes.String() != "134.40" {
		t.Errorf("%s: cash %v, charge %v, %+v", v.State, v.Cash, v.Charge, v.Verification)
	}
	price := []advice.MachinePrice{{Machine: "n1x", Currency: "USD", Split: "all-gpu", Hour: 800_000_000}}
	for _, p := range []advice.Period{v.Before, v.After} {
		if !slices.Equal(p.Prices, price) || !slices.Equal(p.Policies, []string{"held"}) {
			t.Errorf("%v, %v", p.Prices, p.Policies)
		}
	}
	if *v.Before.ActiveMS != *v.After.ActiveMS || !strings.Contains(strings.Join(v.Notes, " "), "cost less") {
		t.Errorf("%+v", v.Verification)
	}
}

// TestVerifyUndone: a slice that nobody made is not verified.
func TestVerifyUndone(t *testing.T) {
	w := newWorld(t)
	w.deliver(end.AddDate(0, 0, -15), end, server("n8a", "7d4b9c6f5", 0))
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	r := of(t, &a, "emb/Deployment/bge", advice.KindMIG)
	if _, err := w.service.Decide(t.Context(), inquiry.Decision{ID: r.ID, State: advice.Accepted, AppliedMS: end.UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	w.deliver(end, end.AddDate(0, 0, 7), server("n8a", "7d4b9c6f5", 0))
	w.now = end.AddDate(0, 0, 8)
	w.settle()
	v, err := w.service.Verify(t.Context(), r.ID, 0)
	if err != nil || v.State != advice.NotRealised || !strings.Contains(strings.Join(v.Notes, " "), "a whole NVIDIA A100-SXM4-80GB, not 1g.10gb") || v.Back != nil {
		t.Errorf("%s, %v, %v", v.State, v.Notes, err)
	}
}
