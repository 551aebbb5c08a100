// SPDX-License-Identifier: Apache-2.0

package money

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
)

// ApportionUints is Apportion by whole numbers. It gives the same parts and fails
// where Apportion does, and needs no big numbers where the weights' sum fits 64 bits.
func ApportionUints(total Nano, weights []uint64) ([]Nano, error) {
	sum, fits := sumOf(weights)
	switch {
	case !fits:
		return Apportion(total, ratsOf(weights))
	case total == 0:
		return make([]Nano, len(weights)), nil
	case sum == 0:
		return nil, fmt.Errorf("divide %s: every weight of %d is 0", total, len(weights))
	}
	return apportion64(total, weights, sum), nil
}

// remainder is what the division of one part left.
type remainder struct {
	left uint64
	at   int
}

// apportion64 divides by weights that sum to sum, which is not 0.
func apportion64(total Nano, weights []uint64, sum uint64) []Nano {
	sign := Nano(1)
	if total < 0 {
		sign = -1
	}
	parts, left := make([]Nano, len(weights)), total.abs()
	var room [32]remainder // as many as most divisions have
	rests := room[:0]
	for i, w := range weights {
		hi, lo := bits.Mul64(total.abs(), w)
		share, rest := bits.Div64(hi, lo, sum) // hi < w <= sum: the share fits
		parts[i] = sign * Nano(share)
		left -= share
		rests = append(rests, remainder{rest, i})
	}
	if left > 0 {
		slices.SortFunc(rests, func(a, b remainder) int {
			return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.at, b.at))
		})
	}
	for _, r := range rests[:left] {
		parts[r.at] += sign
	}
	return parts
}

// sumOf is the sum of weights; false where it is more than 64 bits hold.
func sumOf(weights []uint64) (sum uint64, fits bool) {
	var carry uint64
	for _, w := range weights {
		if sum, carry = bits.Add64(sum, w, 0); carry != 0 {
			return 0, false
		}
	}
	return sum, true
}

func ratsOf(weights []uint64) []*big.Rat {
	out := make([]*big.Rat, len(weights))
	for i, w := range weights {
		out[i] = new(big.Rat).SetInt(new(big.Int).SetUint64(w))
	}
	return out
}
