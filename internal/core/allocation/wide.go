// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/big"
	"math/bits"
)

// wide is a whole number of 128 bits. Byte-milliseconds of one record fit 64;
// scaled to a common denominator and summed over an hour they do not. Sizes
// are bounded where records are checked, so that no sum here wraps: a record in
// its finest units has at most 80 bits (unitBits), its share of slices and time
// 28 more, and an hour has under 2^16 records of a slot.
type wide struct{ hi, lo uint64 }

func narrow(n uint64) wide { return wide{lo: n} }

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// minus is a − b, for b not above a.
func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return wide{hi, lo}
}

func (a wide) less(b wide) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

func (a wide) isZero() bool { return a.hi|a.lo == 0 }

func (a wide) times(n uint64) wide {
	hi, lo := bits.Mul64(a.lo, n)
	return wide{hi + a.hi*n, lo}
}

// over is a / n rounded down, and what is left.
func (a wide) over(n uint64) (q wide, left uint64) {
	q.hi, left = a.hi/n, a.hi%n
	q.lo, left = bits.Div64(left, a.lo, n)
	return q, left
}

// part is a × num / den rounded down, for num not above den.
func (a wide) part(num, den uint64) wide {
	q, left := a.over(den)
	hi, lo := bits.Mul64(left, num)
	tail, _ := bits.Div64(hi, lo, den)
	return q.times(num).plus(narrow(tail))
}

func (a wide) big() *big.Int {
	n := new(big.Int).SetUint64(a.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a.lo))
}

// fromBig is a number of at most 128 bits.
func fromBig(n *big.Int) wide {
	low := new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0)))
	return wide{new(big.Int).Rsh(n, 64).Uint64(), low.Uint64()}
}

func lesser(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}

// above is a − b, or 0 where b is more.
func above(a, b wide) wide {
	if a.less(b) {
		return wide{}
	}
	return a.minus(b)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// multiple is the least common multiple; false where it is above a limit.
func multiple(a, b, limit uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b/gcd(a, b))
	return lo, hi == 0 && lo <= limit
}
