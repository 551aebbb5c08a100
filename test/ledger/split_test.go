// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// bySplit is what was booked in a month under each rule of splitting.
func (b *books) bySplit(m ledger.Month) map[string]string {
	b.t.Helper()
	r, err := b.service.Report(b.t.Context(), report.Spec{Month: m, Booked: true, By: []report.Dimension{report.Split}})
	if err != nil || len(r.Sections) != 1 {
		b.t.Fatalf("%d sections: %v", len(r.Sections), err)
	}
	out := map[string]string{}
	for _, row := range r.Sections[0].Rows {
		out[row.Keys[0]] = row.Cost.Total.String()
	}
	return out
}

// TestSplitChange: October is closed under one rule of splitting, and another is put
// in force. Each month says by which rule it was priced, November with October's in
// what came late for it, each with what it priced; and closed bytes stay.
func TestSplitChange(t *testing.T) {
	from := time.Date(2026, 10, 31, 6, 0, 0, 0, time.UTC)
	b, late := few(t, func(b *usage.Batch) bool { return b.Node == history.NodeAWS && during(b, from, from.Add(4*time.Hour)) })
	october := october(t)
	november := october + 1
	before := b.bySplit(november)
	if rest, other := before["residual"]; !other || len(before) != 1 {
		t.Fatalf("before the change November is by rule %v (%s)", before, rest)
	}
	closed, err := b.service.CloseMonth(t.Context(), inquiry.CloseRequest{Scope: ledger.Scope{Currency: "USD"}, Month: october, Level: ledger.ByNamespace, By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	statement, gpus := b.statements(closed), b.gpus(november)
	b.loader.split = pricing.RuleAWS
	b.now = b.now.Add(time.Hour)
	b.rate()
	if got := b.bySplit(november); !maps.Equal(got, map[string]string{"aws-scad": before["residual"]}) {
		t.Errorf("after the change November is by rule %v, want all %s of it by aws-scad", got, before["residual"])
	}
	if now := b.gpus(november); now.Cmp(gpus) >= 0 {
		t.Errorf("GPUs cost %s under aws-scad, and %s under residual", now.String(), gpus.String())
	}
	b.deliver(late)
	b.rate()
	if got := b.bySplit(october); !maps.Equal(got, map[string]string{"residual": closed.Amount}) {
		t.Errorf("October, closed, is by rule %v, want %s by residual", got, closed.Amount)
	}
	var corrected, charged money.Sum
	rules := map[pricing.Rule]bool{}
	for _, l := range b.lines(ledger.Query{}) {
		if l.Period == november && l.Kind == ledger.Correction {
			corrected.Add(*l.Amount)
			rules[l.Split()] = true
		} else if l.Period == november {
			charged.Add(*l.Amount)
		}
	}
	if len(rules) != 1 || !rules[pricing.RuleResidual] {
		t.Errorf("corrections of October are by the rules %v", rules)
	}
	if got := b.bySplit(november); got["aws-scad"] != charged.String() || len(got) > 1 && got["residual"] != corrected.String() {
		t.Errorf("November is by rule %v; its hours come to %s, corrections to %s", got, charged.String(), corrected.String())
	}
	if b.statements(closed) != statement {
		t.Error("a statement of the closed month changed")
	}
	if verified, err := b.service.VerifyMonths(t.Context(), october, func(inquiry.Progress) {}); err != nil || len(verified) != 1 || verified[0].Violation != nil {
		t.Errorf("verify: %+v %v", verified, err)
	}
	b.sound()

	// The rule was a mistake: all of November is of the former again.
	b.loader.split = ""
	b.now = b.now.Add(time.Hour)
	b.rate()
	if got := b.bySplit(november); len(got) != 1 || got["residual"] == "" {
		t.Errorf("after all November is by rule %v, want residual alone", got)
	}
	if now := b.gpus(november); now.Cmp(gpus) != 0 {
		t.Errorf("GPUs cost %s, and %s before anything changed", now.String(), gpus.String())
	}
	b.sound()
}

// gpus is what GPUs cost in the hours of a month.
func (b *books) gpus(m ledger.Month) money.Sum {
	b.t.Helper()
	r, err := b.service.Report(b.t.Context(), report.Spec{Month: m, Where: []report.Filter{{By: report.Resource, In: []string{string(allocation.ResourceGPU)}}}})
	if err != nil || len(r.Sections) != 1 {
		b.t.Fatalf("%d sections: %v", len(r.Sections), err)
	}
	return r.Sections[0].Total.Cost.Total
}
