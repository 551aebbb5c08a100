// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"math/big"
	"math/bits"
)

// Total is a sum of byte-milliseconds in 128 bits: one 80 GiB device overflows
// 64 bits after 60 hours. The zero value is 0.
type Total struct{ hi, lo uint64 }

// Add adds the byte-milliseconds of one record.
func (t *Total) Add(byteMS uint64) { t.AddTotal(Total{lo: byteMS}) }

// AddTotal adds another sum; beyond 128 bits it stays at the largest number.
func (t *Total) AddTotal(o Total) {
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, o.lo, 0)
	t.hi, carry = bits.Add64(t.hi, o.hi, carry)
	if carry != 0 {
		t.hi, t.lo = ^uint64(0), ^uint64(0)
	}
}

// Cmp is -1, 0 or +1 as the sum is less than, equal to or more than another.
func (t Total) Cmp(o Total) int {
	if d, borrow := bits.Sub64(t.hi, o.hi, 0); d != 0 {
		return 1 - 2*int(borrow)
	}
	d, borrow := bits.Sub64(t.lo, o.lo, 0)
	if d == 0 {
		return 0
	}
	return 1 - 2*int(borrow)
}

// ByteSeconds is the sum in byte-seconds, as close as a float comes.
func (t Total) ByteSeconds() float64 {
	return (float64(t.hi)*(1<<64) + float64(t.lo)) / 1000
}

// String is the sum in byte-milliseconds, as a decimal number.
func (t Total) String() string {
	n := new(big.Int).SetUint64(t.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(t.lo)).String()
}

// MarshalText writes the decimal number.
func (t Total) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (t *Total) UnmarshalText(text []byte) error {
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 128 {
		return fmt.Errorf("read byte-milliseconds: %q is not a whole number of up to 128 bits", text)
	}
	t.lo = new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64()
	t.hi = n.Rsh(n, 64).Uint64()
	return nil
}
