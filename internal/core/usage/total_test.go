// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/usage"
)

func TestTotalIsABigInteger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sum usage.Total
		want := new(big.Int)
		for _, v := range rapid.SliceOfN(rapid.Uint64(), 0, 50).Draw(t, "values") {
			sum.Add(v)
			want.Add(want, new(big.Int).SetUint64(v))
		}
		if sum.String() != want.String() {
			t.Fatalf("got %s, want %s", sum, want)
		}
		text, _ := sum.MarshalText()
		var back usage.Total
		if err := back.UnmarshalText(text); err != nil || back != sum || back.Cmp(sum) != 0 {
			t.Fatalf("read back %s: %s, %v", text, back, err)
		}
		f, _ := new(big.Float).SetInt(want).Float64()
		if got := sum.ByteSeconds(); math.Abs(got-f/1000) > f/1000*1e-15 {
			t.Fatalf("byte-seconds %g, want %g", got, f/1000)
		}
		more := sum
		more.Add(1)
		if more.Cmp(sum) != 1 || sum.Cmp(more) != -1 {
			t.Fatal("one more is not more")
		}
	})
}

func FuzzTotalText(f *testing.F) {
	f.Add("340282366920938463463374607431768211455")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, text string) {
		var total usage.Total
		if total.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, _ := total.MarshalText()
		var again usage.Total
		if err := again.UnmarshalText(out); err != nil || again != total {
			t.Fatalf("%q reads as %s, which reads as %s (%v)", text, out, again, err)
		}
	})
}
