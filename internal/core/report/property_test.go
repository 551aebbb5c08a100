// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

func drawWorld(t *rapid.T) *world {
	w := &world{}
	for range rapid.IntRange(0, 10).Draw(t, "ratings") {
		switch rapid.IntRange(0, 8).Draw(t, "step") {
		case 0:
			if n := len(w.closed); n < 2 {
				w.close(t, []string{"2026-10", "2026-11"}[n])
			}
			continue
		case 1:
			w.drift(t, money.Nano(rapid.Int64Range(-5, 5).Draw(t, "drift")), rapid.SampledFrom([]string{"2026-10", "2026-11"}).Draw(t, "month"))
			continue
		}
		w.rate(t, rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"),
			rapid.SampledFrom([]string{"2026-10-31 23:00", "2026-11-01 00:00", "2026-11-02 05:00"}).Draw(t, "hour"),
			rapid.SampledFrom([]money.Currency{"USD", "USD", "USD", "CNY", ""}).Draw(t, "currency"),
			rapid.SampledFrom([]pricing.Grade{pricing.Listed, pricing.Billed}).Draw(t, "price"), drawPots(t)...)
	}
	if len(w.costs) > 0 && rapid.IntRange(0, 3).Draw(t, "unrated") == 0 { // some cost that nothing is charged for
		w.costs[costKey{"n7", at("2026-11-01 07:00")}] = pricing.NodeCost{Node: "n7", StartMS: at("2026-11-01 07:00"), DurationMS: hourMS, Priced: true, Currency: "USD", Total: 11}
	}
	return w
}

func drawPots(t *rapid.T) (out []pot) {
	for _, p := range []pot{{resource: allocation.ResourceGPU, slot: "0"}, {resource: allocation.ResourceGPU, slot: "1"}, {resource: allocation.ResourceCPU}, {resource: allocation.ResourceMemory}} {
		p.cost = money.Nano(rapid.SampledFrom([]int64{0, 7, -3, 9_000_000_000_000_000_000 / 8}).Draw(t, "cost"))
		idle := platform(allocation.Idle, rapid.Int64Range(1, 5).Draw(t, "idle"))
		if moved := money.Nano(rapid.SampledFrom([]int64{0, 0, 4}).Draw(t, "moved")); moved != 0 {
			// What was passed on is on somebody else, to the last billionth.
			idle.moved = moved
			out = append(out, pot{resource: p.resource, slot: p.slot, cost: moved, parts: []part{{kind: allocation.Shared, account: rapid.SampledFrom([]string{"ml/a", "platform-team"}).Draw(t, "to"), from: allocation.Idle, weight: 1, grade: gpu.Measured}}})
		}
		p.parts = []part{idle}
		for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ml/a", "ml/c", "web/b", "web/z"}), 0, 4, rapid.ID).Draw(t, "pods") {
			p.parts = append(p.parts, part{kind: rapid.SampledFrom([]allocation.Kind{allocation.Direct, allocation.Leak}).Draw(t, "kind"), account: who,
				weight: rapid.Int64Range(0, 5).Draw(t, "weight"), grade: rapid.SampledFrom(grades[:]).Draw(t, "grade")})
		}
		out = append(out, p)
	}
	return out
}

func drawSpec(t *rapid.T) Spec {
	dims := append(Dimensions(), Label("team"), Label("none"))
	s := Spec{
		By:   rapid.SliceOfNDistinct(rapid.SampledFrom(dims), 0, 3, rapid.ID).Draw(t, "by"),
		Cost: rapid.SampledFrom([]CostBasis{"", Net, Charged}).Draw(t, "basis"),
		View: rapid.SampledFrom([]View{"", Apart, Distributed}).Draw(t, "view"),
		Top:  rapid.IntRange(0, 3).Draw(t, "top"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "time") {
	case 0:
		s.FromMS, s.ToMS = at("2026-10-31 23:00"), at("2026-11-02 00:00")
	case 1:
		s.Month = rapid.SampledFrom([]ledger.Month{month("2026-10"), month("2026-11"), month("2026-12")}).Draw(t, "month")
	default:
		s.Month, s.Booked = rapid.SampledFrom([]ledger.Month{month("2026-10"), month("2026-11"), month("2026-12")}).Draw(t, "booked"), true
	}
	for range rapid.IntRange(0, 2).Draw(t, "filters") {
		s.Where = append(s.Where, rapid.SampledFrom([]Filter{
			{By: Namespace, In: []string{"ml"}}, {By: Node, In: []string{"n1", "n9"}}, {By: Label("team"), In: []string{"vision"}, Not: true},
			{By: Class, In: []string{string(ledger.Workload), string(ledger.Platform)}}, {By: Kind, In: []string{string(ledger.Correction)}, Not: true},
		}).Draw(t, "filter"))
	}
	return s
}

func sumOf(total *big.Int, c Columns) {
	if c.Cost != nil {
		total.Add(total, c.Cost.Total.Big())
	}
}

// TestReportsAddUp: whatever is asked of whatever journal, rows sum to the total,
// the parts of each cost sum to it, the total is the assets and the named
// differences, and the order of lines changes nothing.
func TestReportsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, s := drawWorld(t), drawSpec(t)
		r, err := Run(s, w.input())
		if err != nil {
			t.Fatal(err)
		}
		other := w.input()
		other.Lines = linesOf(shuffled(rapid.Uint64().Draw(t, "order"), w.lines))
		if again, err := Run(s, other); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("another order of lines reports\n%v\nnot\n%v (%v)", show(again), show(r), err)
		}
		for _, section := range r.Sections {
			checkSection(t, s, &section)
		}
		checkOracle(t, w, s, r)
	})
}

func checkSection(t *rapid.T, s Spec, section *Section) {
	rows, total := new(big.Int), new(big.Int)
	var quantities sums
	for _, row := range section.Rows {
		sumOf(rows, row.Columns)
		quantities.Quantities.plus(&row.Quantities)
		quantities.lines += row.Lines
		checkParts(t, row.Cost)
		if len(row.Keys) != len(s.By) {
			t.Fatalf("row %v of %v", row.Keys, s.By)
		}
	}
	sumOf(total, section.Total)
	if rows.Cmp(total) != 0 || quantities.Quantities != section.Total.Quantities || quantities.lines != section.Total.Lines {
		t.Fatalf("rows sum to %s and %+v, the total is %s and %+v", rows, quantities.Quantities, total, section.Total.Quantities)
	}
	if section.Balance.Assets == nil {
		if section.Currency != "" && total.Sign() != 0 {
			t.Fatalf("%s: the total %s stands alone", section.Currency, total)
		}
		return
	}
	want := section.Balance.Assets.Big()
	for _, d := range section.Balance.Differences {
		if d.Name == DiffOutOfBalance {
			t.Fatalf("%+v, and the world balances", d)
		}
		want.Add(want, d.Amount.Big())
	}
	if want.Cmp(total) != 0 {
		t.Fatalf("%s: assets and differences come to %s, the total is %s: %v", section.Currency, want, total, section.Balance)
	}
}

func checkParts(t *rapid.T, c *Cost) {
	if c == nil {
		return
	}
	var kinds, resources, grades, prices money.Sum
	for _, n := range []money.Sum{c.Charged, c.Adjusted, c.Corrected} {
		kinds.AddSum(n)
	}
	for _, n := range []money.Sum{c.GPU, c.CPU, c.Memory} {
		resources.AddSum(n)
	}
	for _, list := range []struct {
		to    *money.Sum
		parts []Part
	}{{&grades, c.Grades}, {&prices, c.Prices}} {
		for _, p := range list.parts {
			list.to.AddSum(p.Amount)
		}
	}
	if kinds != c.Total || grades != resources || prices != resources {
		t.Fatalf("parts of %s: by kind %s, by resource %s, by grade %s, by price %s", c.Total, kinds, resources, grades, prices)
	}
}

// checkOracle adds up the same lines in the plainest way, without rows beyond a
// top and without accounts of their own.
func checkOracle(t *rapid.T, w *world, s Spec, r Report) {
	want, got := map[string]*big.Int{}, map[string]*big.Int{}
	add := func(to map[string]*big.Int, key string, n *big.Int) {
		if to[key] == nil {
			to[key] = new(big.Int)
		}
		to[key].Add(to[key], n)
	}
	v := newValues(pods)
	for i := range w.lines {
		l := &w.lines[i]
		if l.Amount == nil || !oracleTakes(v, l, s) {
			continue
		}
		n := big.NewInt(int64(*l.Amount))
		if s.View != Distributed && l.Moved != nil {
			n.Add(n, big.NewInt(int64(*l.Moved)))
		}
		var keys []string
		for _, d := range s.By {
			keys = append(keys, v.of(l, l.Class(), d))
		}
		add(want, fmt.Sprint(l.Currency, keys), n)
	}
	for _, section := range r.Sections {
		for _, row := range section.Rows {
			if row.Others > 0 {
				return // the sum of all is checked
			}
			if row.Cost != nil {
				add(got, fmt.Sprint(section.Currency, row.Keys), row.Cost.Total.Big())
			}
		}
	}
	for k, n := range want {
		if n.Sign() != 0 && (got[k] == nil || got[k].Cmp(n) != 0) {
			t.Fatalf("%s is %v, want %s", k, got[k], n)
		}
	}
	for k, n := range got {
		if n.Sign() != 0 && want[k] == nil {
			t.Fatalf("%s is %s, and no line has it", k, n)
		}
	}
}

func oracleTakes(v *values, l *ledger.Line, s Spec) bool {
	if s.Booked {
		if l.Period != s.Month {
			return false
		}
	} else if from, to := s.between(); l.StartMS < from || l.StartMS >= to {
		return false
	}
	if s.Cost == Charged && l.Kind != ledger.Charge || s.View != Distributed && l.EntryKind == allocation.Shared {
		return false
	}
	for _, f := range s.Where {
		if slices.Contains(f.In, v.of(l, l.Class(), f.By)) == f.Not {
			return false
		}
	}
	return true
}
