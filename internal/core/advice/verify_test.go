// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// week is a time of a workload that costs so much on a cluster that costs so much.
func week(charge, nodes int64) Period {
	c, n, i := money.Nano(charge), money.Nano(nodes), money.Nano(nodes-charge)
	return Period{SeenMS: 1, Currency: "USD", Charge: &c, Nodes: &n, Idle: &i, ActiveMS: p(int64(1000)), Pods: 1, PodsAtOnce: 1}
}

// TestCompare: what the two times say, and when they say nothing.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(b, a *Period)
		state State
		cash  string // "": not known
		note  string
	}{
		{"capacity, not cash", func(_, a *Period) { *a = week(20, 1000) }, Verified, "0.00", "capacity, not cash"},
		{"a node went", func(_, a *Period) { *a = week(20, 600) }, Verified, "0.0000004", "cost less"},
		{"nothing came of it", func(_, a *Period) { *a = week(100, 1000) }, Verified, "0.00", "neither"},
		{"more nodes than before", func(_, a *Period) { *a = week(20, 1200) }, Verified, "-0.0000002", "capacity, not cash"},
		{"traffic fell", func(_, a *Period) { a.ActiveMS = p(int64(799)) }, NotComparable, "0.00", "traffic moved"},
		{"traffic rose", func(_, a *Period) { a.ActiveMS = p(int64(1201)) }, NotComparable, "0.00", "traffic moved"},
		{"a fifth is borne", func(_, a *Period) { a.ActiveMS = p(int64(1200)) }, Verified, "0.00", "neither"},
		{"more tokens in as much time", func(b, a *Period) { b.Generated, a.Generated = p(uint64(100)), p(uint64(130)) }, NotComparable, "0.00", "1.30 times as many tokens"},
		{"as many tokens in half the time", func(b, a *Period) {
			b.Generated, a.Generated, a.ActiveMS = p(uint64(100)), p(uint64(110)), p(int64(500))
		}, Verified, "0.00", "neither"},
		{"a price of its work", func(b, a *Period) {
			b.Generated, a.Generated, a.Charge = p(uint64(2_000_000)), p(uint64(2_000_000)), p(money.Nano(80))
		}, Verified, "0.00", "was charged 0.00000005 before and is 0.00000004 now"},
		{"too few for a price", func(b, a *Period) { b.Generated, a.Generated = p(uint64(999_999)), p(uint64(999_999)) }, Verified, "0.00", "neither"},
		{"it is gone", func(_, a *Period) { a.SeenMS = 0 }, NotComparable, "0.00", "not there"},
		{"it was not there", func(b, _ *Period) { b.SeenMS = 0 }, NotComparable, "0.00", "not there"},
		{"two currencies", func(_, a *Period) { a.Currency = "EUR" }, Verified, "", "USD and EUR"},
		{"no price", func(b, _ *Period) { b.Nodes = nil }, Verified, "", "not known of both"},
		{"requests wait", func(b, a *Period) {
			b.Waited, b.Looks, a.Waited, a.Looks = p(int64(1)), p(int64(1000)), p(int64(50)), p(int64(1000))
		}, Regressed, "0.00", "the way back"},
		{"preempted", func(b, a *Period) { b.Preempted, a.Preempted = p(uint64(10)), p(uint64(12)) }, Regressed, "0.00", "the way back"},
		{"as many as before", func(b, a *Period) { b.Preempted, a.Preempted = p(uint64(10)), p(uint64(11)) }, Verified, "0.00", "neither"},
		{"it hangs", func(_, a *Period) { a.StalledMS = 120_000 }, Regressed, "0.00", "the way back"},
		{"it hung before, too", func(b, a *Period) { b.StalledMS, a.StalledMS = 60_000, 120_000 }, Verified, "0.00", "neither"},
		{"another policy", func(b, a *Period) { b.Policies, a.Policies = []string{"held"}, []string{"memory"} }, NotComparable, "0.00", "under held, memory"},
		{"the policy changed meanwhile", func(b, _ *Period) { b.Policies = []string{"held", "memory"} }, NotComparable, "0.00", "policy changed"},
		{"another price", func(b, a *Period) {
			b.Prices, a.Prices = []MachinePrice{{"n8a", "USD", "residual", 24}}, []MachinePrice{{"n8a", "USD", "residual", 23}}
		}, NotComparable, "0.00", "the price of n8a changed: 0.000000023 USD"},
		{"another split", func(b, a *Period) {
			b.Prices, a.Prices = []MachinePrice{{"n8a", "USD", "residual", 24}}, []MachinePrice{{"n8a", "USD", "opencost", 24}}
		}, NotComparable, "0.00", "split by opencost"},
		{"another machine", func(b, a *Period) {
			b.Prices, a.Prices = []MachinePrice{{"n8a", "USD", "residual", 24}}, []MachinePrice{{"n1l", "USD", "residual", 2}}
		}, Verified, "0.00", "neither"},
		{"three days before", func(b, _ *Period) { b.FirstMS = 4 * dayMS }, NotComparable, "0.00", "seen first 4 days into"},
		{"from Monday on", func(b, _ *Period) { b.FirstMS = 2 * dayMS }, Verified, "0.00", "neither"},
		{"it restarts", func(_, a *Period) { a.Pods = 9 }, Regressed, "0.00", "the way back"},
		{"each pod once anew", func(_, a *Period) { a.Pods = 2 }, Verified, "0.00", "neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := week(100, 1000), week(100, 1000)
			c.set(&before, &after)
			v := Compare(&Recommendation{Kind: KindMIG}, before, after)
			cash := ""
			if v.Cash != nil {
				cash = v.Cash.String()
			}
			if v.State != c.state || cash != c.cash || !strings.Contains(strings.Join(v.Notes, "\n"), c.note) {
				t.Errorf("%s, cash %q, %v", v.State, cash, v.Notes)
			}
			if (len(v.Guards) > 0) != (c.state == Regressed) {
				t.Errorf("guards %v", v.Guards)
			}
		})
	}
}

// TestCompareReclaim: whoever stops idle pods has other pods afterwards.
func TestCompareReclaim(t *testing.T) {
	after := week(20, 600)
	after.Pods = 9
	if v := Compare(&Recommendation{Kind: KindReclaim}, week(100, 1000), after); v.State != Verified {
		t.Errorf("%s, %v", v.State, v.Guards)
	}
}

// TestMoneyTogether: sums of changes are exact, and never of two currencies.
func TestMoneyTogether(t *testing.T) {
	one := &Money{Currency: "USD", ChargeDelta: p(money.Nano(3)), FreedIdle: 1, FreedStranded: 2, CashMean: 5, CashLow: 4, Avoidable: 6}
	three, err := one.Times(3)
	if err != nil || *three.ChargeDelta != 9 || three.FreedIdle != 3 || three.FreedStranded != 6 || three.CashMean != 15 || three.CashLow != 12 || three.Avoidable != 18 {
		t.Errorf("%+v, %v", three, err)
	}
	if *one.ChargeDelta != 3 {
		t.Error("the one changed with the three")
	}
	if sum, err := one.Plus(&Money{Currency: "USD"}); err != nil || sum.ChargeDelta != nil {
		t.Errorf("a charge that is not known: %+v, %v", sum, err)
	}
	if _, err := one.Plus(&Money{Currency: "EUR"}); err == nil {
		t.Error("two currencies were added")
	}
}

// TestNotRealised: a change that is not there, or was undone, is not verified.
func TestNotRealised(t *testing.T) {
	mig := &Recommendation{Kind: KindMIG, Current: Change{Resource: "nvidia.com/gpu", Count: 1}, Proposed: &Change{Profile: "1g.10gb"}}
	fewer := &Recommendation{Kind: KindFewer, Current: Change{Resource: "nvidia.com/gpu", Count: 2}, Proposed: &Change{With: []string{"GPU-1"}}}
	pool := &Recommendation{Kind: KindPool, Current: Change{Fraction: "0.92", Engine: "vllm"}, Proposed: &Change{Fraction: "0.42"}}
	for _, c := range []struct {
		name string
		r    *Recommendation
		had  Had
		want State
	}{
		{"a slice", mig, Had{Model: "A100", Profile: "1g.10gb+me", PerPod: 1}, Verified},
		{"the whole card", mig, Had{Model: "A100", PerPod: 1}, NotRealised},
		{"another slice", mig, Had{Model: "A100", Profile: "3g.40gb", PerPod: 1}, NotRealised},
		{"nobody tells", mig, Had{}, Verified},
		{"one less", fewer, Had{Model: "A100", PerPod: 1}, Verified},
		{"as many", fewer, Had{Model: "A100", PerPod: 2}, NotRealised},
		{"lower", pool, Had{Model: "A100", Fraction: "0.42"}, Verified},
		{"as high", pool, Had{Model: "A100", Fraction: "0.92"}, NotRealised},
		{"no engine tells", pool, Had{Model: "A100"}, Verified},
	} {
		after := week(20, 1000)
		after.Had = c.had
		if v := Compare(c.r, week(100, 1000), after); v.State != c.want {
			t.Errorf("%s: %s, %v", c.name, v.State, v.Notes)
		}
	}
}

// TestBack: the way back is printed of all that can be applied.
func TestBack(t *testing.T) {
	for _, c := range []struct {
		r    Recommendation
		want string
	}{
		{Recommendation{Kind: KindMIG, Current: Change{Resource: "nvidia.com/gpu", Count: 1}}, "nvidia.com/gpu: 1"},
		{Recommendation{Kind: KindFewer, Current: Change{Resource: "nvidia.com/gpu", Count: 8}}, "nvidia.com/gpu: 8"},
		{Recommendation{Kind: KindPool, Current: Change{Fraction: "0.92", Engine: "vllm"}}, "--gpu-memory-utilization 0.92"},
		{Recommendation{Kind: KindPool, Current: Change{Fraction: "0.9", Engine: "sglang"}}, "--mem-fraction-static 0.9"},
		{Recommendation{Kind: KindHostDemand, Current: Change{CPUMilli: 24_000}}, "cpu: \"24\""},
		{Recommendation{Kind: KindReclaim}, "stop it no more"},
		{Recommendation{Kind: KindShape, Current: Change{Model: "NVIDIA L4"}}, "NVIDIA L4"},
		{Recommendation{Kind: KindShare}, "a card of its own"},
	} {
		if Back(&c.r) != nil {
			t.Errorf("%s: nothing was proposed", c.r.Kind)
		}
		c.r.Proposed = &Change{}
		if got := strings.Join(Back(&c.r), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.r.Kind, got, c.want)
		}
	}
}
