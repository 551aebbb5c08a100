// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/billimport"
	"github.com/gputally/gputally/internal/core/bill"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/formats/focus.md and its Chinese side")

// The model is read whole: every rule is accounted for, under every set of
// criteria.
func TestPublishedModelIsUnderstood(t *testing.T) {
	m := publishedModel(t)
	if m == nil {
		return
	}
	static := 0
	for _, r := range m.Rules {
		if r.Type == "Static" {
			static++
		}
	}
	if len(m.Rules) != 621 || static != 420 || len(m.Criteria) != 18 || m.Version != "1.2" {
		t.Errorf("%d rules, %d static, %d criteria, version %s", len(m.Rules), static, len(m.Criteria), m.Version)
	}
	for id := range defects {
		if r := m.Rules[id]; r == nil || r.Type != "Static" || r.Kind == "Composite" {
			t.Errorf("the model has no rule %s to have a defect", id)
		}
	}
	report := Evaluate(m, table(t, "Nothing\n1\n"), Options{})
	if len(report) != 621 || len(report.Violations()) != 21 {
		t.Errorf("an empty dataset breaks %d rules, the 21 mandatory columns are absent: %v", len(report.Violations()), report.Violations())
	}
}

// The published sample is of FOCUS 1.0 and known not to conform: its times have
// no T, a provider writes "Usage-based", some prices are missing.
func TestSampleBreaksWhatItIsKnownToBreak(t *testing.T) {
	m := publishedModel(t)
	if m == nil {
		return
	}
	sample := sharedFile(t, "focus_sample_1.0.csv")
	all := map[string]bool{}
	for _, c := range m.Criteria {
		all[c] = true
	}
	everything := Options{Supported: all, Currencies: currencies(t)}
	got := map[string]int{}
	for _, v := range Evaluate(m, table(t, string(sample), "NULL"), everything).Violations() {
		if v.Rule.Kind != "Presence" {
			got[v.Rule.ID] = v.Rows
		}
	}
	want := map[string]int{
		"BillingAccountName-C-003-C": 7, "BillingPeriodEnd-C-002-M": 1000, "BillingPeriodStart-C-002-M": 1000, "ChargePeriodEnd-C-002-M": 1000, "ChargePeriodStart-C-002-M": 1000,
		"ChargeFrequency-C-003-M": 7, "ConsumedQuantity-C-004-C": 2, "ContractedCost-C-003-M": 7, "ContractedCost-C-004-M": 7, "ContractedUnitPrice-C-006-C": 5,
		"ContractedUnitPrice-C-009-C": 1, "ContractedUnitPrice-C-011-C": 38, "ListCost-C-009-C": 490, "ListUnitPrice-C-010-C": 490, "PricingCategory-C-004-C": 5,
		"RegionName-C-004-C": 7, "RegionName-C-005-C": 2, "ResourceType-C-004-C": 36, "ResourceType-C-005-C": 752, "ServiceName-C-005-C": 1, "SkuPriceId-C-005-C": 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows that break each rule (-want +got):\n%s", diff)
	}
	// NULL as a text is not null.
	found := false
	for _, v := range Evaluate(m, table(t, string(sample)), everything).Violations() {
		found = found || v.Rule.ID == "ContractedCost-C-002-M" && v.Rows == 7 && v.Value == "NULL"
	}
	if !found {
		t.Error("the text NULL passes for a number")
	}
}

// Our rows keep every rule that applies to them. docs/formats/focus.md says what
// became of each of the 621.
func TestOurRowsKeepTheRules(t *testing.T) {
	rows := ours(t)
	if broken := CheckSplit(table(t, rows), "x_OriginChargeId"); len(broken) > 0 {
		t.Errorf("FOCUS 1.3: %s", strings.Join(broken, "\n"))
	}
	m := publishedModel(t)
	if m == nil {
		return
	}
	report := Evaluate(m, table(t, rows), options(t))
	for _, v := range report.Violations() {
		t.Error(v)
	}
	for _, v := range report.Advice() {
		t.Errorf("advice: %s", v)
	}
	for lang, path := range map[string]string{"en": "../../docs/formats/focus.md", "zh": "../../docs/zh/formats/focus.md"} {
		text, err := Describe(report, lang)
		if err != nil {
			t.Fatal(err)
		}
		generated(t, path, text)
	}
}

// The same rows, broken in one cell each: the rule that this breaks is found. So
// a pass of the test above means something.
func TestBrokenRowsAreFound(t *testing.T) {
	m := publishedModel(t)
	if m == nil {
		return
	}
	for _, c := range []struct{ column, value, rule string }{
		{"BilledCost", "", "BilledCost-C-003-M"},
		{"EffectiveCost", "1,5", "EffectiveCost-C-002-M"},
		{"BillingCurrency", "XYZ", "BillingCurrency-C-006-M"},
		{"BillingPeriodStart", "2026-09-01 00:00:00", "BillingPeriodStart-C-002-M"},
		{"ChargeCategory", "Use", "ChargeCategory-C-003-M"},
		{"ChargeClass", "correction", "ChargeClass-C-005-C"},
		{"ServiceSubcategory", "GPUs", "ServiceSubcategory-C-003-M"},
		{"ServiceCategory", "Storage", "ServiceSubcategory-C-004-M"},
		{"RegionName", "", "RegionName-C-005-C"},
		{"PricingUnit", "", "PricingUnit-C-006-C"},
		{"PricingCategory", "Spot", "PricingCategory-C-007-M"},
		{"SubAccountName", "", "SubAccountName-C-005-C"},
		{"Tags", "{team:a}", "Tags-C-001-M"},
		{"ConsumedUnit", "", "ConsumedUnit-C-006-C"},
		{"ProviderName", "", "ProviderName-C-003-M"},
	} {
		tab := table(t, ours(t))
		tab.Rows[0][tab.index[c.column]] = Cell{c.value, c.value == ""}
		found := false
		for _, v := range Evaluate(m, tab, options(t)).Violations() {
			found = found || v.Rule.ID == c.rule && v.First == 1 && v.Rows == 1
		}
		if !found {
			t.Errorf("%s = %q breaks nothing, want %s", c.column, c.value, c.rule)
		}
	}
}

// The sample as a bill: all of its rows are lines, and the money is what an
// independent sum says (Python's decimal, rounded half to even to nine places).
func TestSampleIsABill(t *testing.T) {
	b := sharedFile(t, "focus_sample_1.0.csv")
	if b == nil {
		return
	}
	var hours bill.Hours
	inputs := []billimport.Input{{Name: "sample", Data: bytes.NewReader(b), Size: int64(len(b))}}
	periods := []bill.Period{bill.Month(2024, time.September), bill.Month(2024, time.October)}
	s, err := billimport.Read(billimport.Options{Source: "sample", Periods: periods}, inputs, func(l bill.Line) error { return hours.Add(&l) })
	if err != nil {
		t.Fatal(err)
	}
	total := s.Totals()[0]
	if s.Rows != 1000 || s.Format != "FOCUS 1.0" || total.Effective.String() != "14.976514186" || total.Billed.String() != "20.520226737" || s.Rounded["BilledCost"].Cells != 439 {
		t.Errorf("%s", s)
	}
	got, totals, err := hours.Result()
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %d hours", err, len(got))
	}
	var all, effective int64
	for _, c := range totals {
		n, _ := c.Effective.Nano()
		all += int64(n)
	}
	if n, _ := total.Effective.Nano(); int64(n) != all {
		t.Errorf("the totals sum to %d, the bill is %d", all, n)
	}
	machines := 0
	for _, h := range got {
		effective += int64(h.Effective + h.Beside)
		for _, p := range h.Parts {
			if p.Part == bill.Whole {
				machines++
			}
		}
	}
	if machines == 0 || machines == len(got) {
		t.Errorf("of %d hours of machines %d have the machine's own cost: the sample has both traffic and instance hours", len(got), machines)
	}
	_, err = billimport.Read(billimport.Options{Source: "sample"}, []billimport.Input{{Name: "sample", Data: bytes.NewReader(b), Size: int64(len(b))}}, func(bill.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "2024-09: 999 lines, 2024-10: 1 lines") {
		t.Errorf("%v", err)
	}
}

// Our own export is no bill: imported, it would feed the books from themselves.
func TestOurExportIsNoBill(t *testing.T) {
	rows := ours(t)
	_, err := billimport.Read(billimport.Options{Source: "x"}, []billimport.Input{{Name: "ours.csv", Data: strings.NewReader(rows), Size: int64(len(rows))}}, func(bill.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "an export of gputally itself") {
		t.Errorf("%v", err)
	}
}

// generated compares the part of a document between its marks.
func generated(t *testing.T, path, want string) {
	t.Helper()
	const begin, end = "<!-- generated: go test ./test/focusrules -update -->\n", "<!-- end of generated -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no generated part", path)
	}
	now := text[:i] + begin + "\n" + want + "\n" + text[j:]
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, now); diff != "" {
		t.Errorf("%s is out of date; run: go test ./test/focusrules -update\n%s", path, diff)
	}
}
