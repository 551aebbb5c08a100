// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

func rat(t testing.TB, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("no number: %q", text)
	}
	return r
}

// TestConversionAtAStatedRate: an hour in a currency for which a rate is stated is in
// the other one, and says so; one hour before the rate begins, it is not.
func TestConversionAtAStatedRate(t *testing.T) {
	b := book("b", Row{Selector: Selector{Node: "n"}, Price: Price{GPU: per(t, "2.5"), VCPU: per(t, "0.1"), GiB: per(t, "0")}})
	b.Convert = []Conversion{
		{Currency: "USD", Into: "EUR", Rate: rat(t, "0.9215"), From: at(t, "10:00"), To: at(t, "12:00"), Source: "ECB, average of November"},
		{Currency: "USD", Into: "CHF", Rate: rat(t, "0.8"), From: at(t, "12:00")},
		{Currency: "EUR", Into: "GBP", Rate: rat(t, "0.87")}, // what was converted is not converted again
	}
	p := prices(t, DefaultPolicy(), b)
	n := &Node{Name: "n", CPUMilli: 4000, MemoryBytes: 1 << 30, Slots: []Slot{{"a", ""}, {"b", ""}}}
	for _, test := range []struct {
		from, to, total, slot, cpu string
		currency                   money.Currency
		note                       string
	}{
		{"09:00", "10:00", "5.4", "2.5", "0.4", "USD", ""},
		{"10:00", "11:00", "4.9761", "2.30375", "0.3686", "EUR", "5.40 USD per hour, converted at 0.9215 EUR per USD: ECB, average of November"},
		{"12:00", "12:30", "2.16", "1", "0.16", "CHF", "5.40 USD per hour, converted at 0.8 CHF per USD"},
	} {
		got := cost(t, p, n, test.from, test.to)
		if len(got) != 1 {
			t.Fatalf("%s: %+v", test.from, got)
		}
		c := got[0]
		if c.Currency != test.currency || c.Total != amount(t, test.total) || c.Slots[1].Cost != amount(t, test.slot) || c.CPU != amount(t, test.cpu) {
			t.Errorf("%s: %s %s, a slot %s, CPU %s; want %+v", test.from, c.Total, c.Currency, c.Slots[1].Cost, c.CPU, test)
		}
		if err := c.Check(); err != nil {
			t.Error(err)
		}
		if notes := strings.Join(c.Basis.Notes, "; "); test.note == "" && strings.Contains(notes, "converted") || !strings.Contains(notes, test.note) {
			t.Errorf("%s: notes %q, want %q", test.from, notes, test.note)
		}
	}
}

// TestConversionsThatCannotBe: each is refused with what is wrong.
func TestConversionsThatCannotBe(t *testing.T) {
	good := Conversion{Currency: "USD", Into: "EUR", Rate: big.NewRat(1, 2), From: at(t, "10:00")}
	with := func(f func(*Conversion)) []Conversion { c := good; f(&c); return []Conversion{c} }
	for want, list := range map[string][]Conversion{
		"two currencies":    with(func(c *Conversion) { c.Into = "" }),
		"into itself":       with(func(c *Conversion) { c.Into = "USD" }),
		"rate above 0":      with(func(c *Conversion) { c.Rate = new(big.Rat) }),
		"how many EUR one":  with(func(c *Conversion) { c.Rate = nil }),
		"an hour of UTC":    with(func(c *Conversion) { c.From++ }),
		"before it begins":  with(func(c *Conversion) { c.To = at(t, "09:00") }),
		"two rates for USD": {good, {Currency: "USD", Into: "GBP", Rate: big.NewRat(1, 3)}},
	} {
		b := book("b")
		b.Convert = list
		if _, err := New(DefaultPolicy(), b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestConvertedPartsSumToTheTotal: whatever the rate, the parts sum to the total, and
// it is at most half a billionth for each part away from the exact one.
func TestConvertedPartsSumToTheTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := big.NewRat(rapid.Int64Range(1, 1e7).Draw(rt, "rate"), rapid.Int64Range(1, 1e9).Draw(rt, "of"))
		price := money.Nano(rapid.Int64Range(1, 1e12).Draw(rt, "price"))
		n := &Node{Name: "n", CPUMilli: 4000, MemoryBytes: 1 << 30}
		for i := range rapid.IntRange(0, 9).Draw(rt, "slots") {
			n.Slots = append(n.Slots, Slot{Name: string(rune('a' + i))})
		}
		b := book("b", Row{Selector: Selector{Node: "n"}, Price: Price{Node: &price}})
		plain, err := New(DefaultPolicy(), b)
		if err != nil {
			rt.Fatal(err)
		}
		before, err := plain.Cost(n, testHour, testHour+hourMS)
		if err != nil || len(before) != 1 {
			rt.Fatal(before, err)
		}
		b.Convert = []Conversion{{Currency: "USD", Into: "EUR", Rate: rate}}
		after, err := plain.Cost(n, testHour, testHour+hourMS)
		if err != nil || len(after) != 1 {
			rt.Fatal(after, err)
		}
		if err := after[0].Check(); err != nil {
			rt.Fatal(err)
		}
		off := new(big.Rat).Sub(nanos(after[0].Total), new(big.Rat).Mul(nanos(before[0].Total), rate))
		if off.Abs(off).Cmp(big.NewRat(int64(len(n.Slots))+2, 2)) > 0 {
			rt.Fatalf("%s at %s is %s, off by %s billionths", before[0].Total, decimal(rate), after[0].Total, off.FloatString(3))
		}
	})
}
