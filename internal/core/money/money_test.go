// SPDX-License-Identifier: Apache-2.0

package money

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseAndString(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0.00", "21.957642": "21.957642", "-3": "-3.00", "+0.5": "0.50", "0.000000001": "0.000000001",
		"9223372036.854775807": "9223372036.854775807", "1.5000000000000": "1.50", "007.10": "7.10", "-0.01": "-0.01",
	} {
		n, err := Parse(text)
		if err != nil || n.String() != want {
			t.Errorf("%q is %q, %v; want %q", text, n, err, want)
		}
	}
	for _, text := range []string{"", "-", ".", ".5", "5.", "1e3", "1,5", "0.0000000001", "9223372036.854775808", "NaN", "1 000", "٣", "--1"} {
		if n, err := Parse(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q is %s, %v; want an error that names it", text, n, err)
		}
	}
}

func TestTextIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Nano(rapid.Int64Min(-math.MaxInt64).Draw(t, "nano"))
		if back, err := Parse(n.String()); err != nil || back != n {
			t.Fatalf("%d prints as %s and reads as %d, %v", n, n, back, err)
		}
	})
	if got := Nano(math.MinInt64).String(); got != "-9223372036.854775808" {
		t.Errorf("the least amount prints as %s", got)
	}
}

func TestSumIsExactBeyond64Bits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sum
		want := new(big.Int)
		for _, n := range rapid.SliceOf(rapid.Int64()).Draw(t, "amounts") {
			s.Add(Nano(n))
			want.Add(want, big.NewInt(n))
		}
		if s.Big().Cmp(want) != 0 {
			t.Fatalf("sum %s, want %s", s.Big(), want)
		}
		if f, _ := new(big.Rat).SetFrac(want, big.NewInt(int64(Unit))).Float64(); math.Abs(s.Float()-f) > math.Abs(f)*1e-15 {
			t.Fatalf("as a float %v, want %v", s.Float(), f)
		}
		var back Sum
		if err := back.UnmarshalText([]byte(s.String())); err != nil || back.Cmp(s) != 0 {
			t.Fatalf("%s reads as %s, %v", s, back, err)
		}
		if s.Neg().Big().Cmp(new(big.Int).Neg(want)) != 0 || s.Cmp(Sum{}) != want.Sign() {
			t.Fatalf("%s: negative %s, compared with nothing %d", s, s.Neg(), s.Cmp(Sum{}))
		}
		if n, err := s.Nano(); (err == nil) != want.IsInt64() || err == nil && int64(n) != want.Int64() {
			t.Fatalf("as an amount %d, %v; want %s", n, err, want)
		}
	})
	var s Sum
	for range 3 {
		s.Add(-math.MaxInt64)
	}
	if got, want := s.String(), "-27670116110.564327421"; got != want {
		t.Errorf("sum prints as %s, want %s", got, want)
	}
}

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		total   Nano
		weights []int64
		want    []Nano
	}{
		{12 * Unit, []int64{3, 2, 2}, []Nano{5_142_857_143, 3_428_571_429, 3_428_571_428}}, // ties to the first
		{2, []int64{1, 1, 1}, []Nano{1, 1, 0}},
		{-2, []int64{1, 1, 1}, []Nano{-1, -1, 0}},
		{10, []int64{0, 1, 0}, []Nano{0, 10, 0}},
		{0, []int64{0, 0}, []Nano{0, 0}},
		{5, []int64{math.MaxInt64, math.MaxInt64}, []Nano{3, 2}},
	} {
		got, err := ApportionInts(c.total, c.weights...)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s by %v: %v (-want +got):\n%s", c.total, c.weights, err, diff)
		}
	}
	for _, weights := range [][]int64{{}, {0, 0}, {1, -1}} {
		if got, err := ApportionInts(1, weights...); err == nil {
			t.Errorf("1 by %v is %v, want an error", weights, got)
		}
	}
}

// The parts sum to the whole, have its sign, lie within one billionth of the
// exact share, and nobody without weight gets anything.
func TestApportionIsExactAndFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := Nano(rapid.Int64().Draw(t, "total"))
		weights := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *big.Rat {
			return big.NewRat(rapid.Int64Range(0, math.MaxInt64).Draw(t, "over"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "under"))
		}), 1, 20).Draw(t, "weights")
		sum := new(big.Rat)
		for _, w := range weights {
			sum.Add(sum, w)
		}
		parts, err := Apportion(total, weights)
		if sum.Sign() == 0 {
			if (err == nil) != (total == 0) {
				t.Fatalf("no weight at all: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var all Sum
		for i, part := range parts {
			all.Add(part)
			exact := new(big.Rat).Mul(new(big.Rat).SetInt64(int64(total)), new(big.Rat).Quo(weights[i], sum))
			off := exact.Sub(exact, new(big.Rat).SetInt64(int64(part)))
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("part %d is off its share by %s billionths", i, off.FloatString(3))
			}
			if weights[i].Sign() == 0 && part != 0 {
				t.Fatalf("part %d has no weight and gets %d", i, part)
			}
		}
		if n, err := all.Nano(); err != nil || n != total {
			t.Fatalf("parts sum to %s, want %s", all, total)
		}
	})
}

// Whole numbers give the same parts whether or not their sum fits 64 bits, and those
// of the rational numbers that they are.
func TestApportionByWholeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := Nano(rapid.Int64().Draw(t, "total"))
		most := rapid.SampledFrom([]uint64{0, 3, 1 << 40, math.MaxUint64}).Draw(t, "most")
		weights := rapid.SliceOfN(rapid.Uint64Range(0, most), 0, 40).Draw(t, "weights")
		want, wrong := Apportion(total, ratsOf(weights))
		got, err := ApportionUints(total, weights)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wrong == nil) {
			t.Fatalf("%v, %v (-rational +whole):\n%s", wrong, err, diff)
		}
	})
}

func TestCurrency(t *testing.T) {
	if err := Currency("CNY").Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []Currency{"", "usd", "US", "DOLLAR", "U$D"} {
		if c.Check() == nil {
			t.Errorf("%q passes as a currency", c)
		}
	}
}
