// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// TestPolicy: by how much a charge falls under each policy. The workload holds 6.4 GiB of a
// card of 80, one of 8 at 3.00 an hour, and would have an eighth of a card with 9.62 GiB. A
// neighbour has a card, six are idle but for the driver's half GiB. What it frees does not
// depend on the policy.
//
//	held, reserved     730 × (3.00 − 0.375)
//	memory             730 × (3.00 × 6.4/80 − 0.375 × 6.4/9.62): it pays for what it holds
//	                   either way, of a smaller whole that has a little less for an eighth
//	idle in proportion the six idle cards come to 6 × 3.00 × 79.5/80 = 17.8875:
//	                   730 × (3 + 17.8875 × 3/6 − 0.375 − 20.5125 × 0.375/3.375)
//	the whole cluster  on another node a third has a card, and seven are idle: 20.86875 more
//	                   730 × (3 + 38.75625 × 3/9 − 0.375 − 41.38125 × 0.375/6.375)
func TestPolicy(t *testing.T) {
	pass := allocation.Distribution{Account: "idle", How: allocation.Proportional}
	for _, c := range []struct {
		name   string
		policy allocation.Policy
		fell   string
		apart  money.Nano // billionths: sums of an hour are rounded
		again  bool
	}{
		{"what is held", allocation.Policy{Basis: allocation.Held}, "1916.25", 0, false},
		{"what is reserved", allocation.Policy{Basis: allocation.Reserved}, "1916.25", 0, false},
		{"memory alone", allocation.Policy{Basis: allocation.Memory}, "-6.920582121", 2 * 730, true},
		{"idle GPUs on the tenants", allocation.Policy{Distribute: []allocation.Distribution{pass}}, "6781.395833333", 16 * 730, true},
		{"of the whole cluster", allocation.Policy{Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{pass}}, "9569.977941176", 16 * 730, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldUnder(t, c.policy)
			nodes := []*node{eight("a", 1)}
			if c.policy.Scope == allocation.ScopeGiven {
				nodes = append(nodes, eight("b", 0))
			}
			w.deliver(end.AddDate(0, 0, -16), end, nodes...)
			w.settle()
			a := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
			r := of(t, &a, "emb/Deployment/bge-a0", advice.KindMIG)
			if r.Money == nil || r.Money.ChargeDelta == nil || r.Money.FreedIdle+r.Money.FreedStranded != 1916_250_000_000 {
				t.Fatalf("%+v, %v", r.Money, r.Refusals)
			}
			if apart := *r.Money.ChargeDelta - amount(t, c.fell); apart < -c.apart || apart > c.apart {
				t.Errorf("it falls by %s, want %s", r.Money.ChargeDelta, c.fell)
			}
			if again := strings.HasPrefix(r.Money.ChargeNote, "24 recorded hours from 2026-11-23"); again != c.again {
				t.Errorf("note %q", r.Money.ChargeNote)
			}
		})
	}
}

func amount(t *testing.T, text string) money.Nano {
	t.Helper()
	sign := money.Nano(1)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = -1, rest
	}
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sign * n
}

// TestDividedAgain: what prices tell, dividing the hours again tells to the billionth. The
// policy passes on an account with nothing in it: nothing is charged otherwise, and yet it has
// to be divided.
func TestDividedAgain(t *testing.T) {
	w := worldUnder(t, allocation.Policy{Distribute: []allocation.Distribution{{Account: allocation.Host, How: allocation.Owner, Shares: []allocation.Share{{To: "platform", Weight: 1}}}}})
	w.deliver(begin, end, big(), small(), own())
	w.settle()
	a := w.advice(inquiry.AdviceQuery{Share: true})
	carol := of(t, &a, "nb/Notebook/carol", advice.KindReclaim)
	stopped := carol.Options[2].StoppedMS
	parts, err := money.ApportionInts(money.Nano(584)*money.Unit, stopped, carol.Window.ToMS-carol.Window.FromMS-stopped)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workload string
		kind     advice.Kind
		fell     string
	}{
		{"emb/Deployment/bge", advice.KindMIG, "1916.25"},
		{"ml/Deployment/pair", advice.KindFewer, "2190.00"},
		{"llm/Deployment/small", advice.KindShape, "1292.10"},
		{"llm/StatefulSet/vllm", advice.KindPool, "0.00"},
		{"nb/Notebook/carol", advice.KindReclaim, parts[0].String()},
	} {
		r := of(t, &a, c.workload, c.kind)
		if r.Money == nil || r.Money.ChargeDelta == nil || r.Money.ChargeDelta.String() != c.fell || !strings.Contains(r.Money.ChargeNote, "recorded hours from") {
			t.Errorf("%s of %s: %+v, want %s", c.kind, c.workload, r.Money, c.fell)
		}
	}
}

// TestNotKnown: where the records of the sample are gone, the charge is not known, and why is
// said.
func TestNotKnown(t *testing.T) {
	w := worldUnder(t, allocation.Policy{Basis: allocation.Memory})
	w.deliver(end.AddDate(0, 0, -16), end, eight("a", 1))
	w.settle()
	if _, err := w.store.Drop(t.Context(), end.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	a := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
	r := of(t, &a, "emb/Deployment/bge-a0", advice.KindMIG)
	if r.Money == nil || r.Money.ChargeDelta != nil || !strings.Contains(r.Money.ChargeNote, "no records are left") {
		t.Errorf("%+v", r.Money)
	}
}

// TestChargedForCPU: where CPU and memory have a part of the price, a notebook that stands
// still is charged for less of them, too, and a server on another machine for another part of
// them: not all of what the machine costs less.
//
//	the notebook   0.80 an hour: 0.60 for the card, 0.12 × 4 of 96 CPUs, 0.08 × 4 of 1024 GiB
//	the server     3.67 an hour: 2.7525 + 0.5505 × 4/96 + 0.367 × 4/1024 = 2.776871094, and
//	               1.90 with 12 CPUs and 64 GiB: 1.425 + 0.285 × 4/12 + 0.19 × 4/64 = 1.531875
func TestChargedForCPU(t *testing.T) {
	w := worldBy(t, allocation.Policy{}, pricing.RuleFixed)
	w.deliver(begin, end, small(), own())
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	carol := of(t, &a, "nb/Notebook/carol", advice.KindReclaim)
	stopped := carol.Options[2].StoppedMS
	parts, err := money.ApportionInts(605_312_500*730, stopped, carol.Window.ToMS-carol.Window.FromMS-stopped)
	if err != nil {
		t.Fatal(err)
	}
	if m := carol.Money; m.ChargeDelta == nil || *m.ChargeDelta != parts[0] {
		t.Errorf("the notebook: %+v, want %s", m, parts[0])
	}
	server := of(t, &a, "llm/Deployment/small", advice.KindShape)
	if m := server.Money; m == nil || m.ChargeDelta == nil || *m.ChargeDelta != 1_244_996_094*730 || m.CashMean.String() != "1292.10" {
		t.Errorf("the server: %+v", m)
	}
}

// counting counts how often records are read.
type counting struct {
	advising.Store
	reads int
}

func (c *counting) Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[rating.Windows, error] {
	c.reads++
	return c.Store.Touching(ctx, from, to, node)
}

// TestAskedTwice: hours that were divided again are not divided a third time for whoever asks
// next, until their price is another one.
func TestAskedTwice(t *testing.T) {
	w := worldUnder(t, allocation.Policy{Basis: allocation.Memory})
	w.deliver(end.AddDate(0, 0, -16), end, eight("a", 1))
	w.settle()
	store := &counting{Store: w.store}
	service := advising.NewService(store, advising.ServiceConfig{Now: func() time.Time { return w.now }, Rules: w.rules})
	ask := func() (*advice.Money, int) {
		t.Helper()
		before := store.reads
		a, err := service.Advice(t.Context(), inquiry.AdviceQuery{Namespace: "emb"})
		if err != nil {
			t.Fatal(err)
		}
		r := of(t, &a, "emb/Deployment/bge-a0", advice.KindMIG)
		return r.Money, store.reads - before
	}
	first, reads := ask()
	if reads != 24 {
		t.Errorf("%d hours were read", reads)
	}
	if again, reads := ask(); reads != 0 || mustJSON(again) != mustJSON(first) {
		t.Errorf("asked again: %d hours were read, %s, not %s", reads, mustJSON(again), mustJSON(first))
	}
	w.book["n8a"] = 48 * money.Unit
	w.settle()
	twice, reads := ask()
	if reads != 24 || *twice.ChargeDelta < *first.ChargeDelta*2-2*730 || *twice.ChargeDelta > *first.ChargeDelta*2+2*730 {
		t.Errorf("at twice the price: %d hours were read, %s after %s", reads, twice.ChargeDelta, first.ChargeDelta)
	}
}
