// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Ratio is an exact share, Num/Den, between 0 and 1. The zero value is 0.
type Ratio struct {
	Num uint64 `json:"num"`
	Den uint64 `json:"den"`
}

// One is the whole.
var One = Ratio{Num: 1, Den: 1}

// Of is the share of n, rounded down. It is exact in 128 bits.
func (r Ratio) Of(n uint64) uint64 {
	if r.Den == 0 {
		return 0
	}
	if r.Num >= r.Den {
		return n
	}
	hi, lo := bits.Mul64(n, r.Num)
	q, _ := bits.Div64(hi, lo, r.Den)
	return q
}

// IsZero reports whether the share is nothing.
func (r Ratio) IsZero() bool { return r.Num == 0 || r.Den == 0 }

// ParseRatio reads a plain decimal between 0 and 1, such as "0.25", exactly and
// in lowest terms. Signs, exponents and more than 18 decimals are errors.
func ParseRatio(text string) (Ratio, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if !digits(whole+fraction) || len(whole)+len(fraction) == 0 {
		return Ratio{}, fmt.Errorf("parse share %q: want a plain decimal between 0 and 1, such as 0.25", text)
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 18 {
		return Ratio{}, fmt.Errorf("parse share %q: want at most 18 decimals", text)
	}
	den := uint64(1)
	for range len(fraction) {
		den *= 10
	}
	num, err := strconv.ParseUint("0"+whole+fraction, 10, 64)
	if err != nil || num > den {
		return Ratio{}, fmt.Errorf("parse share %q: want a number between 0 and 1", text)
	}
	if num == 0 {
		return Ratio{}, nil
	}
	d := gcd(num, den)
	return Ratio{Num: num / d, Den: den / d}, nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
