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
		{"it is gone", func(_, a *Period) { a.SeenMS = 0 }, NotComparable, "0.00", "not there"},
		{"it was not there", func(b, _ *Period) { b.SeenMS = 0 }, NotComparable, "0.00", "not there"},
		{"two currencies", func(_, a *Period) { a.Currency = "EUR" }, Verified, "", "USD and EUR"},
		{"no price", func(b, _ *Period) { b.Nodes = nil }, Verified, "", "not known of both"},
		{"requests wait", func(b, a *Period) {
			b.Waited, b.Looks, a.Waited, a.Looks = p(int64(1)), p(int64(1000)), p(int64(50)), p(int64(1000))
		}, Regressed, "0.00", "going back"},
		{"preempted", func(b, a *Period) { b.Preempted, a.Preempted = p(uint64(10)), p(uint64(12)) }, Regressed, "0.00", "going back"},
		{"as many as before", func(b, a *Period) { b.Preempted, a.Preempted = p(uint64(10)), p(uint64(11)) }, Verified, "0.00", "neither"},
		{"it restarts", func(_, a *Period) { a.Pods = 9 }, Regressed, "0.00", "going back"},
		{"each pod once anew", func(_, a *Period) { a.Pods = 2 }, Verified, "0.00", "neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := week(100, 1000), week(100, 1000)
			c.set(&before, &after)
			v := Compare(KindMIG, before, after)
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
	if v := Compare(KindReclaim, week(100, 1000), after); v.State != Verified {
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
