// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

func sum(t testing.TB, text string) money.Sum {
	t.Helper()
	var s money.Sum
	if err := s.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAmountsAreRounded: against exact arithmetic, with any number of
// places, and never as -0.00.
func TestAmountsAreRounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "nanos")
		places := rapid.IntRange(0, 9).Draw(t, "places")
		got, ok := new(big.Rat).SetString(strings.ReplaceAll(amount(nano(money.Nano(n)), places), ",", ""))
		if !ok {
			t.Fatalf("%s is no number", amount(nano(money.Nano(n)), places))
		}
		off := new(big.Rat).Sub(got, big.NewRat(n, 1_000_000_000))
		half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
		if off.Abs(off).Cmp(half) > 0 {
			t.Fatalf("%d with %d places is %s", n, places, amount(nano(money.Nano(n)), places))
		}
		if text := amount(nano(money.Nano(n)), places); strings.HasPrefix(text, "-") && strings.Trim(text, "-0.,") == "" {
			t.Fatalf("%d with %d places is %s", n, places, text)
		}
	})
	for _, x := range []struct {
		n      string
		places int
		want   string
	}{{"0.125", 2, "0.12"}, {"0.135", 2, "0.14"}, {"-0.125", 2, "-0.12"}, {"1234567.891", 2, "1,234,567.89"}, {"-0.001", 2, "0.00"}, {"999.999", 2, "1,000.00"}} {
		if got := amount(sum(t, x.n), x.places); got != x.want {
			t.Errorf("%s with %d places is %s, want %s", x.n, x.places, got, x.want)
		}
	}
}

// TestPartsSayThatTheyAreThere: a part that is not nothing is never 0 %, and one
// that is not all never 100 %.
func TestPartsSayThatTheyAreThere(t *testing.T) {
	for _, x := range []struct{ part, of, want string }{
		{"0", "0", "-"}, {"0", "5", "0 %"}, {"5", "5", "100 %"}, {"0.000000001", "5", "<1 %"}, {"4.999999999", "5", ">99 %"}, {"2", "5", "40 %"}, {"-1", "5", "-20 %"},
	} {
		if got := percent(sum(t, x.part), sum(t, x.of)); got != x.want {
			t.Errorf("%s of %s is %s, want %s", x.part, x.of, got, x.want)
		}
	}
	if got := signed(sum(t, "0.001"), 2); got != "+<0.01" {
		t.Errorf("a small difference is %s", got)
	}
	if got := signed(sum(t, "-0.001"), 2); got != "-<0.01" {
		t.Errorf("a small difference is %s", got)
	}
}

// TestNamesOfOthersAreHarmless: what tenants write steers no terminal, breaks no
// table and is no formula.
func TestNamesOfOthersAreHarmless(t *testing.T) {
	for in, want := range map[string]string{"a\x1b[31mb": "a�[31mb", "a\nb": "a�b", "a\u202eb": "a�b", "größe 数": "größe 数"} {
		if got := Plain(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	g := newGrid(left("A"), right("B"))
	g.add("x|y`z<b>", "1")
	g.rule()
	var b strings.Builder
	g.markdown(&b)
	if want := "| A | B |\n|---|---:|\n| x\\|y\\`z&lt;b> | 1 |\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	for in, want := range map[string]string{"=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@x": "'@x", "x=1": "x=1", "": ""} {
		if got := harmless(in); got != want {
			t.Errorf("%q is written as %q, want %q", in, got, want)
		}
	}
}

// section makes one with a total, what the nodes cost, and differences.
func sectionOf(t testing.TB, total, assets string, differences ...v1.Difference) v1.Section {
	s := v1.Section{Currency: "USD", Rows: []v1.Row{{Keys: map[string]string{"namespace": "ml"}}}, Total: v1.Columns{Lines: 3}}
	if total != "" {
		s.Total.Cost = &v1.Cost{Total: sum(t, total), Platform: []v1.Part{{Name: "idle", Amount: sum(t, "1")}}, Grades: []v1.Part{{Name: "measured", Amount: sum(t, total)}}}
		s.Rows[0].Columns = s.Total
	}
	if assets != "" {
		a := sum(t, assets)
		s.Balance.Assets = &a
	}
	s.Balance.Differences = differences
	return s
}

// TestTheTotalNeverStandsAlone: whatever the report has, the words about its total
// are there.
func TestTheTotalNeverStandsAlone(t *testing.T) {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	show := func(s ...v1.Section) string {
		return Report(&v1.Report{From: from, To: from.Add(24 * time.Hour), By: []string{"namespace"}, Sections: s})
	}
	drift, rest := v1.Difference{Name: "reconciliation", Amount: sum(t, "2")}, v1.Difference{Name: "not rated yet", Amount: sum(t, "-3.5"), Detail: "2 hours of nodes"}
	for name, x := range map[string]struct{ text, want string }{
		"exact":      {show(sectionOf(t, "10", "10")), "The nodes cost 10.00 USD: the total is that, exactly."},
		"unknown":    {show(sectionOf(t, "10", "")), "What the nodes cost is not known: the total of 10.00 USD stands alone."},
		"unpriced":   {show(sectionOf(t, "", "")), "Nothing here has a price: the cost is unknown, not 0."},
		"one":        {show(sectionOf(t, "12", "10", drift)), "  reconciliation  +2.00\n"},
		"several":    {show(sectionOf(t, "8.5", "10", drift, rest)), "  together        -1.50\n"},
		"of nothing": {show(v1.Section{Currency: "USD", Balance: sectionOf(t, "", "10", rest).Balance}), "No charge in USD is in this report. The nodes cost 10.00 USD."},
		"none":       {show(), "Nothing was charged in this time."},
	} {
		if !strings.Contains(x.text, x.want) {
			t.Errorf("%s: %q is not in\n%s", name, x.want, x.text)
		}
	}
}

// TestUnpricedComesFirst: before any amount.
func TestUnpricedComesFirst(t *testing.T) {
	s := sectionOf(t, "10", "10")
	s.Unpriced = v1.Unpriced{GPUMS: 7_200_000}
	s.Total.Unpriced, s.Rows[0].Unpriced = &s.Unpriced, &s.Unpriced
	text := Report(&v1.Report{By: []string{"namespace"}, Sections: []v1.Section{s}})
	if at, amount := strings.Index(text, "WITHOUT A PRICE: 2.0 GPU-hours."), strings.Index(text, "10.00"); at < 0 || at > amount {
		t.Errorf("what has no price comes at %d, the first amount at %d\n%s", at, amount, text)
	}
	if !strings.Contains(text, "*10.00") || !strings.Contains(text, "* Part of it has no price") {
		t.Errorf("the row does not say that it is a part\n%s", text)
	}
}

// TestCSVHasColumnsForAll: every line has the columns of the header, and rows sum
// to the total.
func TestCSVHasColumnsForAll(t *testing.T) {
	for _, by := range [][]string{nil, {"namespace"}, {"label:team", "day"}} {
		drift := v1.Difference{Name: "reconciliation", Amount: sum(t, "2")}
		var b strings.Builder
		if err := ReportCSV(&b, &v1.Report{By: by, Sections: []v1.Section{sectionOf(t, "12.5", "10.5", drift), sectionOf(t, "", "")}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll() // it demands equal lengths
		if err != nil {
			t.Fatal(err)
		}
		cost := map[string]string{}
		for i, name := range rows[0] {
			for _, row := range rows[1:] {
				if name == "cost" && row[1] == "USD" && cost[row[0]] == "" {
					cost[row[0]] = row[i]
				}
			}
		}
		want := map[string]string{"row": "12.50", "total": "12.50", "nodes": "10.50", "difference": "2.00"}
		if fmt.Sprint(cost) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", cost, want)
		}
	}
}

// TestCSVNamesEachColumnOnce: also where rows are told apart by what every line has
// a column for.
func TestCSVNamesEachColumnOnce(t *testing.T) {
	s := sectionOf(t, "3", "3")
	s.Rows[0].Class, s.Rows[0].Account = "", ""
	s.Rows[0].Keys = map[string]string{"class": "workload", "day": "2026-11-01", "account": "ml/train"}
	var b strings.Builder
	if err := ReportCSV(&b, &v1.Report{By: []string{"class", "day", "account"}, Sections: []v1.Section{s}}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		if _, twice := got[name]; twice {
			t.Errorf("%s is the name of two columns", name)
		}
		got[name] = rows[1][i]
	}
	if got["class"] != "workload" || got["account"] != "ml/train" || got["day"] != "2026-11-01" {
		t.Errorf("%v", got)
	}
}

// TestPlaces: small amounts still say something.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]int{"0": 2, "1234": 2, "-10": 2, "0.5": 4, "0.01": 6, "0.0000001": 9} {
		if got := places(sum(t, text)); got != want {
			t.Errorf("%s is shown with %d places, want %d", text, got, want)
		}
	}
}

// TestManyDoubtsOfAKind: rows in use are told one by one, a list that grew old in
// one line.
func TestManyDoubtsOfAKind(t *testing.T) {
	var c v1.PriceCheck
	for i := range 40 {
		c.Doubts = append(c.Doubts, v1.BookDoubt{Book: "list", Row: fmt.Sprint("row-", i), Doubt: "out_of_date", Says: "old"})
	}
	c.Doubts[17].Hours = 24
	c.Doubts = append(c.Doubts, v1.BookDoubt{Book: "mine", Row: "x", Doubt: "absurd_price", Says: "dear"})
	text := PriceCheck(&c)
	for _, want := range []string{"list  out_of_date   row-17      24  old\n", "list  out_of_date   39 rows      0  such as row-0: old\n", "mine  absurd_price  x            0  dear\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 8 {
		t.Errorf("%d lines\n%s", lines, text)
	}
}

// TestLinesOfNoGPUSaySo: CPU and memory have neither a GPU nor its mode.
func TestLinesOfNoGPUSaySo(t *testing.T) {
	keys := func(by []string, values ...string) map[string]string {
		out := map[string]string{}
		for i, d := range by {
			out[d] = values[i]
		}
		return out
	}
	for _, c := range []struct {
		by, values []string
		account    string
		want       string
	}{
		{[]string{"node", "mode"}, []string{"rack7", ""}, "", "rack7 | (no GPU)"},
		{[]string{"node", "mode"}, []string{"rack7", "mig"}, "", "rack7 | mig"},
		{[]string{"namespace", "gpu"}, []string{"", ""}, "idle", "[idle] | (no GPU)"},
		{[]string{"profile", "gpu"}, []string{"", "GPU-0"}, "", " | GPU-0"},
		{[]string{"namespace", "partition", "model"}, []string{"ml", "", "(unknown)"}, "", "ml | (no GPU) | (unknown)"},
	} {
		row := v1.Row{Keys: keys(c.by, c.values...), Account: c.account}
		if got := strings.Join(names(&row, c.by), " | "); got != c.want {
			t.Errorf("%v is %q, want %q", c.values, got, c.want)
		}
	}
}
