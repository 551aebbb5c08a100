// SPDX-License-Identifier: Apache-2.0

package policyfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
)

func TestFlagsGoBeforeTheFile(t *testing.T) {
	file := File{Policy: allocation.Policy{ID: "acme", Basis: allocation.Held, Distribute: []allocation.Distribution{
		{Account: "idle", How: allocation.Even}, {Account: "host", How: allocation.Even},
	}}, Split: pricing.RuleAllGPU}
	same, err := (&Flags{}).Over(file)
	if diff := cmp.Diff(file, same); err != nil || diff != "" {
		t.Errorf("no flags change the policy: %v\n%s", err, diff)
	}
	flags := Flags{Basis: "reserved", TurnsReserve: true, Scope: "given", Split: "aws-scad", Distribute: []string{
		"idle=fixed:a=b=3,c=1", "overhead=proportional", "stranded=owner:team x",
	}}
	got, err := flags.Over(file)
	want := File{Split: pricing.RuleAWS, Policy: allocation.Policy{
		Basis: allocation.Reserved, TurnsReserve: true, Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{
			{Account: "host", How: allocation.Even},
			{Account: "idle", How: allocation.Fixed, Shares: []allocation.Share{{To: "a=b", Weight: 3}, {To: "c", Weight: 1}}},
			{Account: "overhead", How: allocation.Proportional},
			{Account: "stranded", How: allocation.Owner, Shares: []allocation.Share{{To: "team x", Weight: 1}}},
		},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(file.Policy.Distribute) != 2 || file.Policy.Distribute[0].Account != "idle" {
		t.Errorf("the file's own policy was changed: %v", file.Policy)
	}
	// Another split is the same policy.
	if got, err := (&Flags{Split: "opencost"}).Over(file); err != nil || got.Policy.ID != "acme" || got.Split != pricing.RuleOpenCost {
		t.Errorf("%v, %+v", err, got)
	}
	if (&Flags{}).Given() || !(&Flags{Split: "opencost"}).Given() {
		t.Error("Given is wrong")
	}
}

func TestMistakesInFlags(t *testing.T) {
	for want, f := range map[string]Flags{
		`basis is "half"; write held, memory or reserved`:               {Basis: "half"},
		`--split: "x" is no rule; write one of aws-scad`:                {Split: "x"},
		`scope is "x"; write node or given`:                             {Scope: "x"},
		`--distribute "idle": write ACCOUNT=HOW`:                        {Distribute: []string{"idle"}},
		`how is "some"; write proportional, even, fixed or owner`:       {Distribute: []string{"idle=some"}},
		`even takes no names; write owner:NAME`:                         {Distribute: []string{"idle=even:a"}},
		`owner with 0 shares; name one owner`:                           {Distribute: []string{"idle=owner"}},
		`"" is no share; write NAME=WEIGHT`:                             {Distribute: []string{"idle=fixed:"}},
		`"a=x" is no share; the weight is a whole number`:               {Distribute: []string{"idle=fixed:a=x"}},
		`names "idle" twice; keep one`:                                  {Distribute: []string{"idle=even", "idle=proportional"}},
		`no such platform account; write one of idle, stranded`:         {Distribute: []string{"waste=even"}},
		`share "a" has weight 0; name an owner and a weight from 1`:     {Distribute: []string{"idle=fixed:a=0"}},
		`share to "overhead", which is a platform account itself`:       {Distribute: []string{"idle=owner:overhead"}},
		`"a=8589934592" is no share; the weight is a whole number from`: {Distribute: []string{"idle=fixed:a=8589934592"}},
	} {
		if _, err := f.Over(File{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	book := pricing.DefaultPolicy()
	book.Rule, book.GPURates = pricing.RuleGPURate, []pricing.ModelRate{{Model: "L4", Hourly: 1, Currency: "USD"}}
	for _, c := range []struct {
		rule pricing.Rule
		book *pricing.Policy
		want pricing.Rule
	}{
		{"", nil, pricing.RuleResidual}, {"", &book, pricing.RuleGPURate}, {pricing.RuleAWS, &book, pricing.RuleAWS}, {pricing.RuleFixed, nil, pricing.RuleFixed},
	} {
		got, err := (&File{Split: c.rule}).SplitBy(c.book)
		if err != nil || got.Rule != c.want || c.book != nil && len(got.GPURates) != 1 {
			t.Errorf("%q over %v: %v, %v", c.rule, c.book, got.Rule, err)
		}
	}
	if book.Rule != pricing.RuleGPURate {
		t.Error("the book's own policy was changed")
	}
	if _, err := (&File{Split: pricing.RuleGPURate}).SplitBy(nil); err == nil || !strings.Contains(err.Error(), "it needs gpu_rates") || !strings.Contains(err.Error(), "split section of the price book") {
		t.Errorf("rates that nobody gives: %v", err)
	}
}
