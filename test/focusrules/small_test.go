// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests need nothing but a model of our own, with one rule of each kind.

func smallModel(t testing.TB) *Model {
	t.Helper()
	f, err := os.Open("testdata/model-small.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := ReadModel(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func table(t testing.TB, text string, nulls ...string) *Table {
	t.Helper()
	tab, err := ReadCSV(strings.NewReader(text), nulls...)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func statuses(r Report) map[string]string {
	out := map[string]string{}
	for _, one := range r {
		out[one.Rule.ID] = string(one.Status)
	}
	return out
}

func TestSmallModel(t *testing.T) {
	with := Options{Supported: map[string]bool{"REGIONS": true}}
	all := func(change map[string]string) map[string]string {
		out := map[string]string{}
		for id := range smallModel(t).Rules {
			out[id] = "passed"
		}
		out["Cost-C-003-M"], out["Cost-C-006-O"] = "not by a machine", "permits"
		for id, s := range change {
			out[id] = s
		}
		return out
	}
	for _, c := range []struct {
		name, text string
		options    Options
		change     map[string]string
	}{
		{"all right", "Cost,Class,Region\n1,Sale,a\n,Correction,b\n2,,c\n", with, nil},
		{"a null that is no correction", "Cost,Class,Region\n,,c\n", with, map[string]string{"Cost-C-002-C": "failed", "Cost-C-000-M": "failed", "Small-D-000-M": "failed"}},
		{"a null beside an unknown class is out of the composite's condition", "Cost,Class,Region\n,Odd,c\n", with, map[string]string{"Cost-C-002-C": "failed", "Cost-C-000-M": "failed", "Small-D-000-M": "failed"}},
		{"an unknown class", "Cost,Class,Region\n1,Odd,c\n", with, map[string]string{"Cost-C-005-M": "failed", "Cost-C-004-C": "failed", "Cost-C-000-M": "failed", "Small-D-000-M": "failed"}},
		{"not numeric", "Cost,Class,Region\n\"1,000\",Sale,c\n", with, map[string]string{"Cost-C-001-M": "failed", "Cost-C-000-M": "failed", "Small-D-000-M": "failed"}},
		{"two classes of a region", "Cost,Class,Region\n1,Sale,c\n1,Correction,c\n", with, map[string]string{"Region-C-001-M": "failed", "Region-C-000-C": "failed", "Small-D-000-M": "failed"}},
		{"advice breaks nothing", "Cost,Class,Region\n1,Sale,\n", with, map[string]string{"Region-C-002-O": "failed"}},
		{"no region, and none is supported", "Cost,Class\n1,Sale\n", Options{}, map[string]string{"Small-D-002-C": "not applicable", "Region-C-000-C": "not applicable", "Region-C-001-M": "not applicable", "Region-C-002-O": "not applicable"}},
		{"no region, though supported", "Cost,Class\n1,Sale\n", with, map[string]string{"Small-D-002-C": "failed", "Region-C-000-C": "failed", "Region-C-001-M": "not applicable", "Region-C-002-O": "not applicable", "Small-D-000-M": "failed"}},
		{"nothing", "Nothing\n1\n", Options{}, map[string]string{"Small-D-001-M": "failed", "Small-D-002-C": "not applicable", "Region-C-000-C": "not applicable", "Region-C-001-M": "not applicable", "Region-C-002-O": "not applicable",
			"Cost-C-000-M": "failed", "Cost-C-001-M": "not applicable", "Cost-C-002-C": "not applicable", "Cost-C-004-C": "not applicable", "Cost-C-005-M": "not applicable", "Cost-C-006-O": "not applicable", "Small-D-000-M": "failed"}},
	} {
		report := Evaluate(smallModel(t), table(t, c.text), c.options)
		if diff := cmp.Diff(all(c.change), statuses(report)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if c.name == "advice breaks nothing" && (len(report.Violations()) != 0 || len(report.Advice()) != 1) {
			t.Errorf("%v, %v", report.Violations(), report.Advice())
		}
	}
}

func TestAModelIsReadWhole(t *testing.T) {
	text, err := os.ReadFile("testdata/model-small.json")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string][2]string{
		`check function CheckMagic`:                     {`"OR": {}`, `"CheckMagic": {}`},
		`rule Cost-C-001-M: the function "FormatMagic"`: {`"CheckFunction": "FormatNumeric"`, `"CheckFunction": "FormatMagic"`},
		`refers to Region-C-009-M`:                      {`"ModelRuleId": "Region-C-001-M"`, `"ModelRuleId": "Region-C-009-M"`},
		`depends on Small-D-009-C`:                      {`"Dependencies": ["Small-D-002-C"]`, `"Dependencies": ["Small-D-009-C"]`},
		`unknown field "Limit"`:                         {`"ExpectedCount": 1`, `"Limit": 1`},
	} {
		_, err := ReadModel(strings.NewReader(strings.Replace(string(text), change[0], change[1], 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestForms(t *testing.T) {
	for function, texts := range map[string]map[string]bool{
		"FormatNumeric":  {"1": true, "-0.5": true, "1.5E-7": true, "1e3": true, "1,000": false, "$1": false, " 1": false, "½": false, "1.": false, "NULL": false},
		"FormatDateTime": {"2026-09-01T10:00:00Z": true, "2026-09-01T10:00:00.5Z": true, "2026-09-01 10:00:00": false, "2026-09-01T10:00:00+02:00": false, "2026-13-01T10:00:00Z": false, "2026-09-01": false},
		"TypeDateTime":   {"2026-09-01 10:00:00": true, "2026-09-01": true, "September": false},
		"FormatKeyValue": {`{"a":"b","c":1,"d":true,"e":null}`: true, `{}`: true, `{"a":{"b":1}}`: false, `{"a":[1]}`: false, `{"a":1,"a":2}`: false, `a=b`: false, `{"a":1} x`: false, `{"a":`: false},
		"FormatUnit":     {"Hours": true, "GB": true, "GB-Hours": true, "GiB-Hours": true, "GB/Hour": true, "1000 Requests": true, "Units/3 Months": true, "GB - Hours": false, "0.5 GB": false, "Hrs!": false},
		"FormatString":   {"a": true, "名": true, "   ": false, "\xff": false},
		"FormatCurrency": {"USD": true, "usd": false, "US": false},
	} {
		for text, want := range texts {
			if got := forms[function](text); got != want {
				t.Errorf("%s(%q) is %v", function, text, got)
			}
		}
	}
	if !isProduct(Cell{Text: "0.1"}, Cell{Text: "3"}, Cell{Text: "0.30"}) || isProduct(Cell{Text: "0.1"}, Cell{Text: "3"}, Cell{Text: "0.3000000001"}) {
		t.Error("products are not exact")
	}
}
