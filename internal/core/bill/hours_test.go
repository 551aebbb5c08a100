// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

func at(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

func nano(text string) money.Nano {
	n, err := money.Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

func ref(text string) *money.Nano { n := nano(text); return &n }

func line(change func(*Line)) Line {
	l := Line{
		Source: "aws", Period: Month(2026, time.September), Row: Row{"bill.csv", 1}, Instance: "i-02445ff7024245edd", Part: Whole,
		StartMS: at("2026-09-01T10:00:00Z"), EndMS: at("2026-09-01T11:00:00Z"),
		Effective: nano("21.957642"), List: ref("32.7726"), Currency: "USD", Category: Usage,
	}
	if change != nil {
		change(&l)
	}
	return l
}

func hoursOfLines(t testing.TB, lines ...Line) ([]Hour, []Total) {
	t.Helper()
	var h Hours
	for i := range lines {
		if err := h.Add(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	hours, totals, err := h.Result()
	if err != nil {
		t.Fatal(err)
	}
	return hours, totals
}

func TestPartsOfOneHour(t *testing.T) {
	gcp := func(row int64, part Part, cost, list string) Line {
		return line(func(l *Line) {
			l.Row.Number, l.Part, l.Effective, l.List, l.Instance = row, part, nano(cost), ref(list), "gce/p/z/n"
		})
	}
	hours, _ := hoursOfLines(t, gcp(1, CPU, "0.379", "0.38"), gcp(2, GPU, "2.93391", "2.93391"), gcp(3, Memory, "0.36048", "0.361"), gcp(4, Network, "0.012", "0.02"))
	want := []Hour{{
		Instance: "gce/p/z/n", StartMS: at("2026-09-01T10:00:00Z"), Currency: "USD",
		Effective: nano("3.67339"), Beside: nano("0.012"), List: ref("3.67491"), SpanMS: hourMS, Sources: []string{"aws"},
		Parts: []PartCost{{CPU, nano("0.379"), ref("0.38")}, {Memory, nano("0.36048"), ref("0.361")}, {GPU, nano("2.93391"), ref("2.93391")}, {Network, nano("0.012"), ref("0.02")}},
		Lines: []Row{{"bill.csv", 1}, {"bill.csv", 2}, {"bill.csv", 3}, {"bill.csv", 4}},
	}}
	if diff := cmp.Diff(want, hours); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALongLineIsSpreadOverItsHours(t *testing.T) {
	day := line(func(l *Line) {
		l.StartMS, l.EndMS, l.Effective, l.List = at("2026-09-01T00:00:00Z"), at("2026-09-02T00:00:00Z"), nano("10"), nil
	})
	hours, _ := hoursOfLines(t, day)
	if len(hours) != 24 {
		t.Fatalf("a day is %d hours", len(hours))
	}
	var sum money.Nano
	for i, h := range hours {
		if h.StartMS != day.StartMS+int64(i)*hourMS || h.SpanMS != 24*hourMS || h.List != nil {
			t.Errorf("hour %d: %+v", i, h)
		}
		sum += h.Effective
	}
	if sum != nano("10") || hours[0].Effective != nano("0.416666667") || hours[23].Effective != nano("0.416666666") {
		t.Errorf("sum %s, first %s, last %s", sum, hours[0].Effective, hours[23].Effective)
	}
	// A piece of two hours goes by its time in each.
	hours, _ = hoursOfLines(t, line(func(l *Line) {
		l.StartMS, l.EndMS, l.Effective = at("2026-09-01T10:45:00Z"), at("2026-09-01T12:00:00Z"), nano("1")
	}))
	if len(hours) != 2 || hours[0].Effective != nano("0.2") || hours[1].Effective != nano("0.8") {
		t.Errorf("75 minutes: %+v", hours)
	}
}

// Credits, tax and support stay apart; split-cost lines are money told twice;
// two currencies never meet.
func TestWhatIsNotSpread(t *testing.T) {
	hours, totals := hoursOfLines(t,
		line(nil),
		line(func(l *Line) { l.Category, l.Effective = Credit, nano("-5") }),
		line(func(l *Line) { l.Category, l.Effective, l.Instance = Tax, nano("1.9"), "" }),
		line(func(l *Line) { l.Category, l.Effective, l.Instance = Support, nano("100"), "" }),
		line(func(l *Line) { l.Instance, l.Effective = "", nano("0.07") }),
		line(func(l *Line) { l.SplitOf, l.Instance, l.Effective = "i-02445ff7024245edd", "", nano("7") }),
		line(func(l *Line) { l.Currency, l.Effective = "CNY", nano("172.873412") }),
	)
	if len(hours) != 2 || hours[0].Currency != "CNY" || hours[1].Effective != nano("21.957642") {
		t.Errorf("hours: %+v", hours)
	}
	var got []string
	for _, c := range totals {
		got = append(got, strings.Join([]string{string(c.Category), string(c.Where), string(c.Currency), c.Effective.String()}, " "))
	}
	want := []string{
		"Usage hours CNY 172.873412", "Usage hours USD 21.957642", "Usage no_machine USD 0.07", "Usage repeated USD 7.00",
		"Support apart USD 100.00", "Credit apart USD -5.00", "Tax apart USD 1.90",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestTwoSourcesOfOneMachineAreSeen(t *testing.T) {
	hours, _ := hoursOfLines(t, line(nil), line(func(l *Line) { l.Source = "focus" }), line(func(l *Line) { l.Source = "aws" }))
	if len(hours) != 1 || !slices.Equal(hours[0].Sources, []string{"aws", "focus"}) {
		t.Errorf("%+v", hours)
	}
}

func TestABadLineIsNamed(t *testing.T) {
	for want, change := range map[string]func(*Line){
		"it has no source":           func(l *Line) { l.Source = "" },
		`category "usage" is none`:   func(l *Line) { l.Category = "usage" },
		"ends before it begins":      func(l *Line) { l.EndMS = l.StartMS - 1 },
		"is longer than 400 days":    func(l *Line) { l.EndMS = l.StartMS + maxCharge + 1 },
		`currency "usd"`:             func(l *Line) { l.Currency = "usd" },
		"billing period 1970-01-01T": func(l *Line) { l.Period = Period{} },
	} {
		l := line(change)
		var h Hours
		if err := h.Add(&l); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bill.csv row 1") {
			t.Errorf("%v, want %q and the row", err, want)
		}
	}
}

// Whatever the lines are: hours, what is beside the machines, and what is in no
// hour sum to the bill, in any order of lines.
func TestHoursSumToTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.Custom(drawLine)).Draw(t, "lines")
		want := map[money.Currency]*big.Int{}
		for _, l := range lines {
			if l.SplitOf == "" {
				add(want, l.Currency, big.NewInt(int64(l.Effective)))
			}
		}
		hours, totals := result(t, lines)
		got := map[money.Currency]*big.Int{}
		for _, h := range hours {
			add(got, h.Currency, big.NewInt(int64(h.Effective)))
			add(got, h.Currency, big.NewInt(int64(h.Beside)))
		}
		for _, c := range totals {
			if c.Where == Apart || c.Where == Elsewhat {
				add(got, c.Currency, c.Effective.Big())
			}
		}
		for c, sum := range want {
			if g := got[c]; sum.Sign() != 0 && (g == nil || g.Cmp(sum) != 0) {
				t.Fatalf("%s: the bill is %s, the hours and the rest %v", c, sum, g)
			}
		}
		shuffled, _ := result(t, rapid.Permutation(lines).Draw(t, "order"))
		for i := range hours {
			hours[i].Lines, shuffled[i].Lines = nil, nil
			hours[i].InstanceType, shuffled[i].InstanceType = "", ""
		}
		if diff := cmp.Diff(hours, shuffled); diff != "" {
			t.Fatalf("another order of lines, other hours:\n%s", diff)
		}
	})
}

func result(t *rapid.T, lines []Line) ([]Hour, []Total) {
	var h Hours
	for i := range lines {
		if err := h.Add(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	hours, totals, err := h.Result()
	if err != nil {
		t.Fatal(err)
	}
	return hours, totals
}

func add(m map[money.Currency]*big.Int, c money.Currency, n *big.Int) {
	if m[c] == nil {
		m[c] = new(big.Int)
	}
	m[c].Add(m[c], n)
}

func drawLine(t *rapid.T) Line {
	start := at("2026-09-01T00:00:00Z") + rapid.Int64Range(-3*hourMS, 48*hourMS).Draw(t, "start")
	return line(func(l *Line) {
		l.StartMS, l.EndMS = start, start+rapid.Int64Range(0, 30*hourMS).Draw(t, "length")
		l.Effective = money.Nano(rapid.Int64Range(-1e12, 1e12).Draw(t, "cost"))
		l.List = rapid.SampledFrom([]*money.Nano{nil, ref("1.000000001"), ref("-3")}).Draw(t, "list")
		l.Category = rapid.SampledFrom(append(Categories(), Usage, Usage, Usage)).Draw(t, "category")
		l.Instance = rapid.SampledFrom([]Instance{"", "i-02445ff7024245edd", "gce/p/z/n"}).Draw(t, "instance")
		l.SplitOf = rapid.SampledFrom([]Instance{"", "", "", "i-02445ff7024245edd"}).Draw(t, "split of")
		l.Part = rapid.SampledFrom(append(Parts(), "")).Draw(t, "part")
		l.Currency = rapid.SampledFrom([]money.Currency{"USD", "CNY"}).Draw(t, "currency")
	})
}
