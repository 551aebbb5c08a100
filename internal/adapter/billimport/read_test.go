// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/bill"
)

var september = bill.Month(2026, time.September)

func input(name, text string) Input {
	return Input{Name: name, Data: strings.NewReader(text), Size: int64(len(text))}
}

func sample(t testing.TB, name string) Input {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return input(name, string(b))
}

// read reads everything and fails the test on an error.
func read(t testing.TB, inputs ...Input) ([]bill.Line, *Summary) {
	t.Helper()
	var lines []bill.Line
	s, err := Read(Options{Source: "src"}, inputs, func(l bill.Line) error { lines = append(lines, l); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return lines, s
}

func brief(lines []bill.Line) (out []string) {
	for _, l := range lines {
		list := "-"
		if l.List != nil {
			list = l.List.String()
		}
		at := time.UnixMilli(l.StartMS).UTC().Format("02T15") + "+" + time.Duration((l.EndMS-l.StartMS)*1e6).String()
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s %s list %s %s %s %s%s", l.Row.Number, at, l.Category, l.Effective, list, l.Part, l.Instance, l.InstanceType, map[bool]string{true: " split of " + string(l.SplitOf)}[l.SplitOf != ""])))
	}
	return out
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFOCUSWithDirt(t *testing.T) {
	lines, s := read(t, sample(t, "focus-1.0-dirty.csv"))
	equal(t, brief(lines),
		"1 01T10+1h0m0s Usage 21.957642 list 32.7726 machine i-0a000000000000001",
		"2 01T10+1h0m0s Usage 0.012345678 list - network i-0a000000000000001",
		"3 01T00+720h0m0s Support 100.00 list -",
		"4 01T10+1h0m0s Credit -5.00 list - other i-0a000000000000001",
		"5 01T00+720h0m0s Tax 2.10 list -",
	)
	wantSummary := `source src, FOCUS 1.0, 5 rows in 1 files, content ` + s.Hash[:12] + `
charges from 2026-09-01 00:00Z to 2026-10-01 00:00Z; 5 lines, 3 of them name a machine
  billed in 2026-09         5 lines  effective 119.069987678  billed 119.11 USD
  Usage                     2 lines  effective 21.969987678  billed 22.01 USD
  Support                   1 lines  effective 100.00  billed 100.00 USD
  Credit                    1 lines  effective -5.00  billed -5.00 USD
  Tax                       1 lines  effective 2.10  billed 2.10 USD
  1 amounts of EffectiveCost had more than nine decimal places and were rounded, first 0.0123456785 at focus-1.0-dirty.csv row 2
`
	if diff := cmp.Diff(wantSummary, s.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if l := lines[0]; l.Period != september || l.Source != "src" || l.Account != "11" || l.Region != "us-east-1" || l.SKU != "SKU1" || l.Pricing != (bill.Quantity{Amount: "1", Unit: "Hours"}) || l.Billed.String() != "22.00" || l.Contracted != nil {
		t.Errorf("first line: %+v", l)
	}
}

func TestFOCUS13(t *testing.T) {
	lines, s := read(t, sample(t, "focus-1.3.csv"))
	equal(t, brief(lines),
		"1 01T00+24h0m0s Usage 88.152 list 90.00 machine /subscriptions/s1/resourcegroups/mc_g/providers/microsoft.compute/virtualmachines/gpu-0 Standard_NC24ads_A100_v4",
		"2 01T10+1h0m0s Usage 2.93 list 2.93391 gpu gce/ml/us-central1-a/gke-gpu-1",
		"3 31T10+1h0m0s Usage 0.50 list 0.50 cpu gce/ml/us-central1-a/gke-gpu-1",
	)
	if s.Format != "FOCUS 1.3" || !lines[2].Correction || lines[1].Correction {
		t.Errorf("%s, %+v", s.Format, lines[2])
	}
}

func TestCUR2(t *testing.T) {
	lines, s := read(t, sample(t, "cur2.csv"))
	equal(t, brief(lines),
		"1 01T10+1h0m0s Usage 21.957642 list 22.00 machine i-0a000000000000001 p4d.24xlarge",
		"2 01T10+1h0m0s Usage 13.921094 list 22.00 machine i-0a000000000000002 p4d.24xlarge",
		"3 01T10+1h0m0s Usage 40.50 list 55.04 machine i-0a000000000000003 p5.48xlarge",
		"4 01T10+1h0m0s Adjustment 0.00 list -   p5.48xlarge",
		"5 01T10+1h0m0s Purchase 4.50 list -",
		"6 01T00+720h0m0s Purchase 5.00 list -",
		"7 01T00+720h0m0s Purchase 0.00 list -",
		"8 01T00+720h0m0s Support 100.00 list -",
		"9 01T00+720h0m0s Tax 7.50 list -",
		"10 01T10+1h0m0s Usage 5.7783 list -    split of i-0a000000000000001",
		"11 01T10+1h0m0s Usage 0.09 list - network i-0a000000000000001",
		"12 01T10+1h0m0s Adjustment -1.00 list -",
	)
	if s.Repeated != 1 || s.Totals()[0].Effective.String() != "192.468736" {
		t.Errorf("repeated %d, totals %+v", s.Repeated, s.Totals())
	}
	equal(t, s.Notes, `line item type "QuantumDiscount" is not known: its lines are adjustments at what they are billed`)
	var h bill.Hours
	for i := range lines {
		if err := h.Add(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	hours, _, err := h.Result()
	if err != nil || len(hours) != 3 || hours[0].Effective.String() != "21.957642" || hours[0].Beside.String() != "0.09" {
		t.Errorf("%v, the split-cost line counted: %+v", err, hours)
	}
}

func TestGCP(t *testing.T) {
	lines, s := read(t, sample(t, "gcp.jsonl"))
	machine := "gce/ml/us-central1-a/gke-gpu-1"
	equal(t, brief(lines),
		"1 01T10+1h0m0s Usage 0.30 list 0.379 cpu "+machine+" a2-highgpu-1g",
		"1 01T10+1h0m0s Credit -0.10 list - cpu "+machine+" a2-highgpu-1g",
		"2 01T10+1h0m0s Usage 2.93391 list - gpu "+machine,
		"2 01T10+1h0m0s Credit -1.50 list - gpu "+machine,
		"3 01T10+1h0m0s Purchase 1.20 list -",
		"4 01T10+1h0m0s Support 0.50 list -",
		"5 01T10+0s Tax 0.0000001 list -",
	)
	if r := s.Rounded["cost"]; r == nil || r.Cells != 1 || r.Value != "2.9339099999999996" {
		t.Errorf("rounded: %+v", s.Rounded)
	}
	fromCSV, _ := read(t, sample(t, "gcp.csv"))
	for i, l := range fromCSV {
		if l.Instance != lines[i].Instance || l.Effective != lines[i].Effective || l.Part != lines[i].Part || l.StartMS != lines[i].StartMS {
			t.Errorf("CSV line %d: %+v", i, l)
		}
	}
}

// The same rows as an array, compressed, with a byte order mark, in two files:
// the same lines.
func TestWrappings(t *testing.T) {
	plainLines, _ := read(t, sample(t, "gcp.jsonl"))
	text, err := os.ReadFile("testdata/gcp.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	array, _ := read(t, input("gcp.jsonl", " \n["+strings.Join(rows, ",\n")+"]\n"))
	if diff := cmp.Diff(plainLines, array); diff != "" {
		t.Errorf("as an array:\n%s", diff)
	}
	csvText, err := os.ReadFile("testdata/focus-1.3.csv")
	if err != nil {
		t.Fatal(err)
	}
	csvLines, _ := read(t, sample(t, "focus-1.3.csv"))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(append([]byte("\xef\xbb\xbf"), csvText...))
	w.Close()
	packed, _ := read(t, input("focus-1.3.csv", z.String()))
	if diff := cmp.Diff(csvLines, packed); diff != "" {
		t.Errorf("compressed, with a byte order mark:\n%s", diff)
	}
	parts := strings.SplitAfter(string(csvText), "\n")
	_, one := read(t, input("a", parts[0]+parts[1]), input("b", parts[0]+parts[2]+parts[3]))
	_, two := read(t, input("b", parts[0]+parts[2]+parts[3]), input("a", parts[0]+parts[1]))
	if one.Hash != two.Hash || one.Rows != 3 || one.Totals()[0].Effective.String() != "91.582" {
		t.Errorf("two files: %s", one)
	}
	repeated, _ := read(t, input("focus-1.3.csv", string(csvText)+parts[0]))
	if len(repeated) != 3 {
		t.Errorf("a header put in again is a row: %d lines", len(repeated))
	}
}

// A delivery with a few rows of another month must not replace that month.
func TestBillingPeriods(t *testing.T) {
	text, err := os.ReadFile("testdata/focus-1.0-dirty.csv")
	if err != nil {
		t.Fatal(err)
	}
	in := input("f", string(text)+strings.ReplaceAll(strings.Split(string(text), "\n")[1], "2026-10-01 00:00:00,2026-09-01 00:00:00,Usage", "2026-11-01 00:00:00,2026-10-01 00:00:00,Usage")+"\n")
	keep := func(bill.Line) error { return nil }
	_, err = Read(Options{Source: "s"}, []Input{in}, keep)
	if err == nil || !strings.Contains(err.Error(), "2026-09: 5 lines, 2026-10: 1 lines") || !strings.Contains(err.Error(), "name those it holds completely") {
		t.Errorf("%v", err)
	}
	s, err := Read(Options{Source: "s", Periods: []bill.Period{september}}, []Input{in}, keep)
	if err != nil || s.Lines != 5 || len(s.LeftOut) != 1 || s.LeftOut[0] != (LeftOut{"billed in 2026-10, which was not asked for", 1}) {
		t.Errorf("%v\n%s", err, s)
	}
}

func TestErrorsNameTheCell(t *testing.T) {
	const header = "BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost\n"
	row := func(cells string) string { return header + cells + "\n" }
	for _, c := range []struct{ text, want string }{
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-01,2026-09-02,"1,5"`), `read bill f row 1, column EffectiveCost, value "1,5": write a decimal number`},
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-01,2026-09-02,$1`), `column EffectiveCost, value "$1"`},
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-01,2026-09-02,NULL`), "column EffectiveCost, value \"\": an amount of money is missing"},
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-01,2026-09-02,1e11`), "the amount is larger than 9 billion"},
		{row(`usd,2026-09-01,2026-10-01,Usage,2026-09-01,2026-09-02,1`), `column BillingCurrency, value "usd"`},
		{row(`USD,2026-09-01,2026-10-01,Use,2026-09-01,2026-09-02,1`), `column ChargeCategory, value "Use": write one of Usage`},
		{row(`USD,2026-09-01,2026-10-01,Usage,01/09/2026,2026-09-02,1`), `column ChargePeriodStart, value "01/09/2026": write a time as 2026-09-01T10:00:00Z`},
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-03,2026-09-02,1`), "column ChargePeriodEnd, value \"2026-09-02\": the charge ends before it begins at 2026-09-03"},
		{row(`USD,2026-10-01,2026-09-01,Usage,2026-09-01,2026-09-02,1`), "the billing period ends before it begins"},
		{row(`USD,2026-09-01,2026-10-01,Usage,2026-09-01 10:00:00 PST,2026-09-02,1`), "times of the zone PST cannot be told"},
		{row(`USD,2026-09-01,2026-10-01,Usage`), "read bill f row 1: it has 4 cells, the header has 7"},
		{"a,b\n1,2\n", "the format is not known by its columns (a, b)"},
		{"lineItem/UsageStartDate\n1\n", "create a CUR 2.0 data export"},
		{"ChargeCategory,ChargePeriodStart\nUsage,2026-09-01\n", "FOCUS without the column BillingCurrency, BillingPeriodEnd, BillingPeriodStart, ChargePeriodEnd, EffectiveCost"},
		{"a,A\n1,2\n", "the columns 1 and 2 have the same name"},
		{"x_OriginChargeId,ChargeCategory\n1,2\n", "it is an export of gputally itself"},
		{"", "read bill f: it is empty"},
		{header, "read bill f: it has no rows, only a header, and nothing was imported: see whether the export is finished"},
		{"[]", "read bill f: it has no rows"},
		{"PK\x03\x04rest", "unpack it first"},
		{`{"usage_start_time":"x","sku":{"id":1}}`, "GCP detailed export without the column cost, currency"},
		{`{"usage_start_time":"2026-09-01","usage_end_time":"2026-09-01","sku":{"id":1},"cost":1,"currency":"USD","invoice":{"month":"Sept"}}`, `column invoice.month, value "Sept": write the month as 202609`},
		{`{"usage_start_time":`, "read bill f: row 1: unexpected EOF"},
		{`[{"usage_start_time":"2026-09-01","usage_end_time":"2026-09-01","sku":{"id":1},"cost":1,"currency":"USD","invoice":{"month":"202609"}}`, "after row 1: unexpected EOF"},
		{"PAR1 and no more", "read bill f: "},
	} {
		_, err := Read(Options{Source: "s"}, []Input{input("f", c.text)}, func(bill.Line) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant %q", c.text, err, c.want)
		}
		var of *Unreadable
		if !errors.As(err, &of) {
			t.Errorf("%q: %v is not said to be the files'", c.text, err)
		}
	}
	_, err := Read(Options{Source: "s"}, []Input{input("f", header+strings.Repeat("usd,x,x,x,x,x,x\n", 40))}, func(bill.Line) error { return nil })
	if n := len(strings.Split(fmt.Sprint(err), "\n")); n != maxProblems {
		t.Errorf("%d problems are named", n)
	}
	if _, err := Read(Options{}, []Input{input("f", "")}, nil); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("%v", err)
	}
	_, err = Read(Options{Source: "s"}, []Input{sample(t, "cur2.csv"), sample(t, "focus-1.3.csv")}, func(bill.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "import them as two sources") {
		t.Errorf("%v", err)
	}
	stop := fmt.Errorf("disk full")
	if _, err := Read(Options{Source: "s"}, []Input{sample(t, "cur2.csv")}, func(bill.Line) error { return stop }); err != stop { // nor is it the files'
		t.Errorf("the sink's error is %v", err)
	}
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1.00", "-0.5": "-0.50", "1e-9": "0.000000001", "2.5E3": "2500.00", "1.0E-6": "0.000001", "+3": "3.00",
		"0.0000000005": "0.00 rounded", "0.0000000015": "0.000000002 rounded", "0.0000000025": "0.000000002 rounded", "-0.0000000015": "-0.000000002 rounded",
		"0.00000000051": "0.000000001 rounded", "2.9339099999999996": "2.93391 rounded", "0.1000000000000": "0.10", "9223372036.854775807": "9223372036.854775807",
	} {
		n, rounded, err := amountOf(text)
		got := n.String()
		if rounded {
			got += " rounded"
		}
		if err != nil || got != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "1,5", "1 000", "NaN", "Inf", "1e", "e5", "--1", "-+1", "1.", ".5", "0x10", "1e999999999", "9223372036.854775808", strings.Repeat("9", 100), "१"} {
		if n, _, err := amountOf(text); err == nil {
			t.Errorf("%q is %s", text, n)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, text := range []string{"2026-09-01T10:00:00Z", "2026-09-01T10:00:00.000Z", "2026-09-01 10:00:00", "2026-09-01 10:00:00 UTC", "2026-09-01T12:00:00+02:00", "2026-09-01 10:00:00+00", "2026-09-01 10:00:00.000 UTC", "2026-09-01T10:00Z", " 2026-09-01T10:00:00 "} {
		if ms, err := instantOf(text); err != nil || ms != september.StartMS+10*3_600_000 {
			t.Errorf("%q is %d, %v", text, ms, err)
		}
	}
	for _, text := range []string{"", "2026", "1.9.2026", "0001-01-01", "9999-12-31", "2026-13-01", "2026-09-01 10:00:00 CET"} {
		if ms, err := instantOf(text); err == nil {
			t.Errorf("%q is %d", text, ms)
		}
	}
}

// TestAPartWithoutRows: an export in parts may have an empty one, which is named.
func TestAPartWithoutRows(t *testing.T) {
	full := sample(t, "focus-1.3.csv")
	text, err := os.ReadFile(filepath.Join("testdata", "focus-1.3.csv"))
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(text), "\n")
	want, _ := read(t, full)
	got, s := read(t, input("part-0.csv", header+"\n"), full)
	if len(got) == 0 || len(got) != len(want) {
		t.Errorf("%d lines, %d without the empty part", len(got), len(want))
	}
	if !strings.Contains(s.String(), "note: part-0.csv has no rows, only a header") {
		t.Errorf("the summary:\n%s", s)
	}
	_, err = Read(Options{Source: "s"}, []Input{input("a.csv", header), input("b.csv", header)}, func(bill.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "read bill a.csv, b.csv: it has no rows") {
		t.Errorf("%v", err)
	}
}
