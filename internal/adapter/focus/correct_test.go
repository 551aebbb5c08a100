// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

// The four scenarios of FOCUS for corrections of a closed billing period: the
// charge is of September, October is open.

// sums adds up what the rows say of each resource.
func sums(t testing.TB, rows []map[string]string) map[string]money.Nano {
	t.Helper()
	out := map[string]money.Nano{}
	for _, r := range rows {
		n, err := money.Parse(r["EffectiveCost"])
		if err != nil {
			t.Fatal(err)
		}
		out[r["AllocatedResourceId"]+r["x_PlatformAccount"]] += n
	}
	for k, n := range out {
		if n == 0 {
			delete(out, k)
		}
	}
	return out
}

func isCorrection(t testing.TB, rows []map[string]string) {
	t.Helper()
	for _, r := range rows {
		if r["ChargeClass"] != "Correction" || r["BillingPeriodStart"] != "2026-10-01T00:00:00Z" || r["ChargePeriodStart"] != "2026-09-01T10:00:00Z" || r["x_CorrectionReason"] == "" {
			t.Errorf("no correction in the open period of the original charge: %v", r)
		}
	}
}

// Scenario 1: part of what one pod was charged belongs to another.
func TestReallocation(t *testing.T) {
	was := Split{nodeHour(), []Row{pod("r-111", "a", "21.957642")}}
	is := Split{nodeHour(), []Row{pod("r-111", "a", "17.957642"), pod("r-222", "b", "4")}}
	for style, count := range map[Style]int{Delta: 2, Ledger: 3} {
		c, err := Correct(was, is, month(time.October), style, "the claim was r-222's")
		if err != nil {
			t.Fatal(err)
		}
		rows := written(t, c)
		isCorrection(t, rows)
		if len(rows) != count {
			t.Errorf("%s: %d rows", style, len(rows))
		}
		if diff := cmp.Diff(map[string]money.Nano{"r-111": nano("-4"), "r-222": nano("4")}, sums(t, rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", style, diff)
		}
		if diff := cmp.Diff(sums(t, written(t, is)), sums(t, append(written(t, was), rows...))); diff != "" {
			t.Errorf("%s: with the correction it is not what it should be:\n%s", style, diff)
		}
		if first := rows[0]; style == Ledger && (first["EffectiveCost"] != "-21.957642" || first["PricingQuantity"] != "-1.00" || first["ConsumedQuantity"] != "-1.00") {
			t.Errorf("the negation: %v", first)
		}
	}
}

// Scenario 2: usage that came too late.
func TestLateUsage(t *testing.T) {
	rows := written(t, Late(split(), month(time.October), "the node's records came on 5 October"))
	isCorrection(t, rows)
	if diff := cmp.Diff(sums(t, written(t, split())), sums(t, rows)); diff != "" {
		t.Error(diff)
	}
}

// Scenario 3: a drift of rounding, told per SKU price. Scenario 4: in bulk.
func TestDrift(t *testing.T) {
	cents := Costs{Billed: 1_000_000, Effective: 1_000_000, List: 1_000_000, Contracted: 1_000_000}
	other, bulk := nodeHour(), nodeHour()
	other.SkuID, other.SkuPriceID = "p5.48xlarge", "list/p5.48xlarge"
	bulk.SkuPriceID = ""
	rows := written(t, Drift(nodeHour(), "drift/1", cents, month(time.October), "rounding"), Drift(other, "drift/2", cents, month(time.October), "rounding"),
		Drift(bulk, "drift/3", cents, month(time.October), "rounding"))
	isCorrection(t, rows)
	var prices []string
	for _, r := range rows {
		prices = append(prices, r["SkuPriceId"])
		for _, column := range []string{"PricingQuantity", "PricingUnit", "ConsumedQuantity", "ConsumedUnit", "ResourceId", "AllocatedMethodId", "AllocatedMethodDetails"} {
			if r[column] != "" {
				t.Errorf("a correction of costs only has %s %q", column, r[column])
			}
		}
		if r["ChargeCategory"] != "Adjustment" || r["EffectiveCost"] != "0.001" {
			t.Errorf("%v", r)
		}
	}
	if !slices.Equal(prices, []string{"list/p4d.24xlarge", "list/p5.48xlarge", ""}) {
		t.Errorf("SKU prices %q", prices)
	}
}

// Whatever changes, pods, platform accounts or the price: closed period and
// correction together are the corrected split, cost by cost and ratio by ratio.
func TestCorrectionsMakeItRight(t *testing.T) {
	draw := func(t *rapid.T, name string) Split {
		s := Split{Origin: nodeHour()}
		s.Origin.Effective, s.Origin.Billed, s.Origin.List = 0, money.Nano(rapid.Int64Range(0, 1e12).Draw(t, "billed")), 7
		for _, uid := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", ""}), 1, 4, rapid.ID).Draw(t, name) {
			r := pod(uid, uid, "0")
			if uid == "" {
				r = account("idle", "", "0")
			}
			r.Effective = money.Nano(rapid.Int64Range(0, 1e12).Draw(t, "cost"))
			s.Origin.Effective += r.Effective
			s.Rows = append(s.Rows, r)
		}
		done, err := s.Complete()
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	rapid.Check(t, func(t *rapid.T) {
		was, is := draw(t, "was"), draw(t, "is")
		c, err := Correct(was, is, month(time.October), rapid.SampledFrom([]Style{Delta, Ledger}).Draw(t, "style"), "why")
		if err == nil {
			err = c.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		type all struct {
			Costs
			Quantity, Ratio Quantity
		}
		total := func(rows []Row) map[string]all {
			out := map[string]all{}
			for _, r := range rows {
				a := out[r.ResourceID]
				a.Costs = a.Costs.minus(Costs{}.minus(r.Costs))
				a.Quantity += r.Quantity
				for _, e := range r.Elements {
					a.Ratio += e.Ratio
				}
				if a == (all{}) {
					delete(out, r.ResourceID)
				} else {
					out[r.ResourceID] = a
				}
			}
			return out
		}
		if diff := cmp.Diff(total(is.Rows), total(slices.Concat(was.Rows, c.Rows))); diff != "" {
			t.Fatalf("-corrected +closed and correction:\n%s", diff)
		}
	})
}

func TestCorrectRefusesAnotherCharge(t *testing.T) {
	was, is := split(), split()
	is.Origin.ID = "another"
	if _, err := Correct(was, is, month(time.October), Delta, "x"); err == nil {
		t.Error("the split of one charge corrects another")
	}
}
