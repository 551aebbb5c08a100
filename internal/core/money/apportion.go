// SPDX-License-Identifier: Apache-2.0

package money

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
)

// Apportion divides total among the weights, in proportion and to the last
// billionth: each part is the exact share rounded down, and what is left goes,
// one billionth each, to the parts with the largest remainders, ties to the one
// that stands first (the method of largest remainders, or Hamilton's). The
// parts have the sign of total and sum to it.
//
// It is the only rule in gputally by which money is divided; ApportionUints is its
// form for whole numbers, and gives the same parts. Weights may be any
// non-negative rational numbers, in any unit; the caller's order decides ties,
// so it must not come from a map. Weights that are negative or are all zero
// while there is money to divide are an error, for then nobody is whose it is.
func Apportion(total Nano, weights []*big.Rat) ([]Nano, error) {
	parts := make([]Nano, len(weights))
	scaled, sum, err := commonScale(weights)
	if err != nil {
		return nil, fmt.Errorf("divide %s: %w", total, err)
	}
	if total == 0 {
		return parts, nil
	}
	if sum.Sign() == 0 {
		return nil, fmt.Errorf("divide %s: every weight of %d is 0", total, len(weights))
	}
	sign := Nano(1)
	if total < 0 {
		sign = -1
	}
	size := new(big.Int).SetUint64(total.abs())
	left := total.abs()
	remainders := make([]*big.Int, len(weights))
	share := new(big.Int)
	for i, w := range scaled {
		remainders[i] = new(big.Int)
		share.QuoRem(share.Mul(size, w), sum, remainders[i])
		parts[i] = sign * Nano(share.Int64())
		left -= share.Uint64()
	}
	for _, i := range byRemainder(remainders)[:left] {
		parts[i] += sign
	}
	return parts, nil
}

// ApportionInts is Apportion by whole numbers, such as milliseconds.
func ApportionInts(total Nano, weights ...int64) ([]Nano, error) {
	whole := make([]uint64, len(weights))
	for i, w := range weights {
		if w < 0 {
			return nil, fmt.Errorf("divide %s: weight %d is negative: %d", total, i, w)
		}
		whole[i] = uint64(w)
	}
	return ApportionUints(total, whole)
}

// commonScale is the weights over their common denominator, and their sum.
func commonScale(weights []*big.Rat) (scaled []*big.Int, sum *big.Int, err error) {
	denominator := big.NewInt(1)
	for i, w := range weights {
		if w.Sign() < 0 {
			return nil, nil, fmt.Errorf("weight %d is negative: %s", i, w.RatString())
		}
		if w.IsInt() {
			continue
		}
		common := new(big.Int).GCD(nil, nil, denominator, w.Denom())
		denominator.Mul(denominator, new(big.Int).Quo(w.Denom(), common))
	}
	sum, scaled = new(big.Int), make([]*big.Int, len(weights))
	for i, w := range weights {
		scaled[i] = new(big.Int).Quo(denominator, w.Denom())
		sum.Add(sum, scaled[i].Mul(scaled[i], w.Num()))
	}
	return scaled, sum, nil
}

// byRemainder is the places in order of falling remainder, the first of equals
// first.
func byRemainder(remainders []*big.Int) []int {
	order := make([]int, len(remainders))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(remainders[b].Cmp(remainders[a]), cmp.Compare(a, b))
	})
	return order
}
