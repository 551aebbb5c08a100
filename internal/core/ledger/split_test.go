// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// TestDifferencesBetweenRules: a ledger may have differences that lead from one rule
// of splitting to another, as they once were booked. It is sound as it is; a rating
// that changes nothing adds nothing; one that does takes all of it back as being of
// no one rule, and from then on the sums by rule are right.
func TestDifferencesBetweenRules(t *testing.T) {
	j := newJournal()
	h := may(12, resource("a", 1))
	h.split = pricing.RuleResidual
	r, costs := h.rating(t, closedOn)
	j.rate(t, r, costs)
	h.pots[0].cost = 9
	r, costs = h.rating(t, closedOn+1)
	for _, l := range j.rate(t, r, costs) {
		if l.Step != Changed {
			t.Fatalf("it books %+v, want a difference", l)
		}
	}
	// So an earlier program booked a rule that was changed.
	for i := range j.lines[1:] {
		b := *j.lines[1+i].Basis
		b.Split = string(pricing.RuleAWS)
		j.lines[1+i].Basis = &b
	}
	if v := Check(Journal{Lines: j.lines, Costs: j.allCosts()}); v != nil {
		t.Fatal(v)
	}
	h.split = pricing.RuleAWS
	r, costs = h.rating(t, closedOn+2)
	if again := j.rate(t, r, costs); len(again) > 0 {
		t.Fatalf("the same rating books %s", bytesOf(t, again))
	}
	h.pots[0].cost = 10
	r, costs = h.rating(t, closedOn+3)
	got := j.rate(t, r, costs)
	if len(got) != 2 || got[0].Step != Reversed || got[0].Split() != "" || got[0].Basis.Grade != h.price || got[1].Step != Booked || got[1].Split() != pricing.RuleAWS {
		t.Fatalf("a change books %s", bytesOf(t, got))
	}
	if v := Check(Journal{Lines: j.lines, Costs: j.allCosts()}); v != nil {
		t.Fatal(v)
	}
	want := map[pricing.Rule]money.Sum{}
	addSplit(want, pricing.RuleAWS, new(money.Nano(10)))
	if sums := bySplit(got[1:]); !maps.Equal(sums, want) {
		t.Errorf("what stands comes to %v by rule, want %v", sums, want)
	}
}

// TestSplitOfALine: it is that of its basis, and a line without one has none.
func TestSplitOfALine(t *testing.T) {
	if got := (&Line{}).Split(); got != "" {
		t.Errorf("a line without a price was split by %q", got)
	}
	l := Line{Basis: &pricing.Basis{Split: string(pricing.RuleStated)}}
	if got := l.Split(); got != pricing.RuleStated || !strings.Contains(bytesOf(t, l), `"split":"stated"`) {
		t.Errorf("split by %q: %s", got, bytesOf(t, l))
	}
}
