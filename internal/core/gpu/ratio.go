// SPDX-License-Identifier: Apache-2.0

package gpu

import "math/bits"

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
