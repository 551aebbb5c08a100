// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// TestShare: one works by day and one by night: they can share a card. Two that work at
// the same hours cannot, and a third of another namespace is not asked.
func TestShare(t *testing.T) {
	w := newWorld(t)
	day := func(at time.Time) bool { return at.Hour() >= 12 }
	night := func(at time.Time) bool { return at.Hour() < 12 }
	server := func(ns, owner string, gpu int, asleep func(time.Time) bool) pod {
		return pod{namespace: ns, kind: "Deployment", owner: owner, name: owner + "-5f7d8c9b6-aaaaa", gpus: []int{gpu}, held: 20 * gib, busy: 0.6, sm: 0.4, dram: 0.2, cpu: 0.5, asleep: asleep}
	}
	n := &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell, pods: []pod{
		server("web", "dawn", 0, day), server("web", "dusk", 1, night),
		server("ops", "one", 2, day), server("ops", "two", 3, day),
		server("alone", "x", 4, day),
	}}
	w.deliver(begin, end, n)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{Share: true})
	if len(a.Shared) != 2 {
		t.Fatalf("%d groups: %+v", len(a.Shared), a.Shared)
	}
	for _, r := range a.Shared {
		switch {
		case slices.Contains(r.Current.With, "web/Deployment/dawn"):
			// A card of 3.00 is given back; of the other, what neither holds is idle.
			if r.State != advice.Advised || r.Money.Class != advice.Capacity || r.Money.CashMean != 0 || r.Money.FreedIdle <= 2190_000_000_000 || !r.Risk.Restart || r.Risk.Isolation == "" {
				t.Errorf("by day and by night: %s, %v, %+v", r.State, r.Tests, r.Money)
			}
		case slices.Contains(r.Current.With, "ops/Deployment/one"):
			if r.State != advice.Refused || !slices.Contains(codes(&r), advice.NoFit) {
				t.Errorf("at the same hours: %s, %v", r.State, r.Tests)
			}
		default:
			t.Errorf("%v", r.Current.With)
		}
	}
	if none := w.advice(inquiry.AdviceQuery{}); len(none.Shared) != 0 {
		t.Error("minutes were read though nobody asked")
	}
}

// TestShareOfTurns: where turns keep their part, two on a card are charged for all of it:
// one card less. By what they hold they would be charged for half of it.
func TestShareOfTurns(t *testing.T) {
	w := worldUnder(t, allocation.Policy{TurnsReserve: true})
	server := func(owner string, gpu int, asleep func(time.Time) bool) pod {
		return pod{namespace: "web", kind: "Deployment", owner: owner, name: owner + "-5f7d8c9b6-aaaaa", gpus: []int{gpu}, held: 20 * gib, busy: 0.6, sm: 0.4, dram: 0.2, cpu: 0.5, asleep: asleep}
	}
	n := &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell, pods: []pod{
		server("dawn", 0, func(at time.Time) bool { return at.Hour() >= 12 }), server("dusk", 1, func(at time.Time) bool { return at.Hour() < 12 }),
	}}
	w.deliver(end.AddDate(0, 0, -15), end, n)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{Share: true})
	if len(a.Shared) != 1 || a.Shared[0].State != advice.Advised {
		t.Fatalf("%+v", a.Shared)
	}
	if m := a.Shared[0].Money; m == nil || m.ChargeDelta == nil || m.ChargeDelta.String() != "2190.00" || m.ChargeNote == "" {
		t.Errorf("%+v", m)
	}
}
