// SPDX-License-Identifier: Apache-2.0

package money

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
)

// Sum is a sum of amounts in 128 bits, so that no fleet overflows it. The zero
// value is 0.
type Sum struct {
	hi int64
	lo uint64
}

// Add adds an amount.
func (s *Sum) Add(n Nano) { s.AddSum(Sum{hi: int64(n) >> 63, lo: uint64(n)}) }

// AddSum adds another sum.
func (s *Sum) AddSum(o Sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(carry)
}

// Nano is the sum as an amount; it fails where 64 bits do not hold it.
func (s Sum) Nano() (Nano, error) {
	if s.hi != int64(s.lo)>>63 {
		return 0, fmt.Errorf("sum %s does not fit an amount", s)
	}
	return Nano(s.lo), nil
}

// Big is the sum in billionths.
func (s Sum) Big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(s.lo))
}

// String is the exact decimal number with at least two decimal places.
func (s Sum) String() string {
	n := s.Big()
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
		n.Neg(n)
	}
	whole, part := new(big.Int).QuoRem(n, big.NewInt(int64(Unit)), new(big.Int))
	tail := Nano(part.Int64()).String() // "0.…"
	return sign + whole.String() + tail[1:]
}

// Float is the sum in whole units, as close as a float comes: for display.
func (s Sum) Float() float64 {
	if s.hi < 0 { // the halves of a negative number nearly cancel each other
		return -s.Neg().Float()
	}
	return (float64(s.hi)*(1<<64) + float64(s.lo)) / float64(Unit)
}

// Neg is the sum with the other sign.
func (s Sum) Neg() Sum {
	lo, borrow := bits.Sub64(0, s.lo, 0)
	return Sum{hi: -s.hi - int64(borrow), lo: lo}
}

// Cmp is -1, 0 or +1 as the sum is less than, equal to or more than another.
func (s Sum) Cmp(o Sum) int { return cmp.Or(cmp.Compare(s.hi, o.hi), cmp.Compare(s.lo, o.lo)) }

// MarshalText writes the exact decimal number.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Sum) UnmarshalText(text []byte) error {
	sign, whole, part, err := split(string(text))
	if err != nil {
		return err
	}
	n, _ := new(big.Int).SetString(whole+part, 10) // digits alone
	if sign < 0 {
		n.Neg(n)
	}
	hi := new(big.Int).Rsh(n, 64) // rounds down, as two's complement needs it
	if !hi.IsInt64() {
		return fmt.Errorf("read amount %q: it is too large", text)
	}
	s.hi = hi.Int64()
	s.lo = n.Sub(n, hi.Lsh(hi, 64)).Uint64()
	return nil
}
