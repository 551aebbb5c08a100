// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// hours are the node-hours of the property tests: around the turn of months.
var hours = []NodeHour{
	{"c", "n1", at("2026-09-30 23:00")}, {"c", "n1", at("2026-10-01 00:00")},
	{"c", "n2", at("2026-10-31 23:00")}, {"d", "n1", at("2026-10-15 12:00")},
}

func drawHour(t *rapid.T) *hour {
	h := &hour{
		NodeHour: rapid.SampledFrom(hours).Draw(t, "hour"),
		currency: rapid.SampledFrom([]money.Currency{"USD", "USD", "CNY", ""}).Draw(t, "currency"),
		policy:   rapid.SampledFrom([]string{"held", "held", "memory"}).Draw(t, "policy"),
		cutMS:    rapid.SampledFrom([]int64{0, 0, hourMS / 2, 1}).Draw(t, "cut"),
	}
	if h.currency != "" {
		h.price = rapid.SampledFrom([]pricing.Grade{pricing.Listed, pricing.Listed, pricing.Billed}).Draw(t, "price")
		h.split = rapid.SampledFrom([]pricing.Rule{pricing.RuleResidual, pricing.RuleResidual, pricing.RuleAWS}).Draw(t, "split")
	}
	for _, slot := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"gpu0", "gpu1"}), 0, 2, rapid.ID).Draw(t, "slots") {
		h.pots = append(h.pots, potOf{resource: allocation.ResourceGPU, slot: slot})
	}
	h.pots = append(h.pots, potOf{resource: allocation.ResourceCPU})
	for i := range h.pots {
		p := &h.pots[i]
		p.cost = money.Nano(rapid.SampledFrom([]int64{1, 7, 21_957_642_000, -1_000, 9_000_000_000_000_000}).Draw(t, "cost"))
		p.parts = []partOf{{kind: allocation.Platform, account: allocation.Idle, weight: rapid.Int64Range(1, 9).Draw(t, "idle"), grade: gpu.Measured, moved: money.Nano(rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "moved"))}}
		for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "pods") {
			p.parts = append(p.parts, partOf{
				kind: rapid.SampledFrom([]allocation.Kind{allocation.Direct, allocation.Direct, allocation.Leak, allocation.Shared}).Draw(t, "kind"),
				name: rapid.SampledFrom([]string{"", "x", "x"}).Draw(t, "name"), account: who,
				weight: rapid.Int64Range(0, 9).Draw(t, "weight"), grade: rapid.SampledFrom(gradeOrder[:]).Draw(t, "grade"),
			})
		}
	}
	return h
}

// TestLinesSumToTheNewestRating: whatever is rated again, in whatever order,
// with months closed in between, the lines of an hour sum to its newest rating,
// a repetition adds nothing, and every invariant holds.
func TestLinesSumToTheNewestRating(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newJournal()
		j.sets = rapid.SampledFrom([]map[string]string{nil, {"d": "research"}}).Draw(t, "sets")
		now := at("2026-11-01 02:00")
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			now += hourMS
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				closeNext(t, j, now)
			case 1:
				drift(t, j, now)
			default:
				rateAgain(t, j, drawHour(t), now, uint64(i))
			}
		}
		j.sound(t)
	})
}

func rateAgain(t *rapid.T, j *journal, h *hour, now int64, seed uint64) {
	r, costs := h.rating(t, now)
	before := j.of(h.NodeHour)
	mixed := r
	mixed.Entries = rapid.Permutation(r.Entries).Draw(t, "order")
	other, err := Book(shuffled(seed, before), mixed, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	added := j.rate(t, r, costs)
	if got, want := bytesOf(t, other), bytesOf(t, added); got != want {
		t.Fatalf("another order books\n%s\nnot\n%s", got, want)
	}
	for _, l := range added {
		if open := j.periods().Open(Scope{l.Set, l.Currency}, l.ChargeMonth()); l.Period != open {
			t.Fatalf("line for %s is booked in %s, and %s is open", l.ChargeMonth(), l.Period, open)
		}
	}
	if again := j.rate(t, r, costs); len(again) > 0 {
		t.Fatalf("the same rating again adds %s", bytesOf(t, again))
	}
}

func closeNext(t *rapid.T, j *journal, now int64) {
	s := Scope{Currency: rapid.SampledFrom([]money.Currency{"USD", "CNY"}).Draw(t, "close")}
	c := Closing{
		Scope: s, Month: month("2026-09"), AtMS: now, By: "t", Force: "a test",
		Level: rapid.SampledFrom([]Level{ByAccount, ByNamespace}).Draw(t, "level"),
	}
	if last := j.last(s); last != nil {
		c.Month = last.Month + 1
	}
	if c.Month.EndMS() <= now {
		j.close(t, c)
	}
}

func drift(t *rapid.T, j *journal, now int64) {
	d := Drift{
		Reference: fmt.Sprint("bill ", rapid.IntRange(0, 1).Draw(t, "bill")), Cluster: "c", Currency: "USD",
		Amount: money.Nano(rapid.Int64Range(-2, 2).Draw(t, "drift")), FromMS: month("2026-10").StartMS(), ToMS: month("2026-10").EndMS(),
		Revision: Revision{AtMS: now, Reason: "rounding"},
	}
	var before []Line
	for _, l := range j.lines {
		if l.IsDrift() && l.Note == d.Reference {
			before = append(before, l)
		}
	}
	lines, err := BookDrift(before, d, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, lines)
	again, err := BookDrift(append(before, lines...), d, j.periods())
	if err != nil || len(again) > 0 {
		t.Fatalf("the same drift again adds %d lines, %v", len(again), err)
	}
}

// TestSumsOfStatements: whatever was corrected in which month, the lines of all
// months sum to what the nodes cost and the drifts.
func TestSumsOfStatements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newJournal()
		now := at("2026-11-01 02:00")
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			now += hourMS
			h := drawHour(t)
			h.currency = "USD"
			for k := range h.pots {
				for p := range h.pots[k].parts {
					h.pots[k].parts[p].moved = 0
				}
			}
			rateAgain(t, j, h, now, uint64(i))
			if rapid.Bool().Draw(t, "close") {
				closeNext(t, j, now)
			}
		}
		var lines, costs money.Sum
		for _, l := range j.lines {
			lines.Add(*l.Amount)
		}
		for _, c := range j.costs {
			costs.Add(c.Total)
		}
		if lines != costs {
			t.Fatalf("the lines sum to %s, the nodes cost %s", lines, costs)
		}
	})
}
