// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/gputally/gputally/internal/core/usage"
)

// Wide is a whole number of 128 bits with a sign: byte-milliseconds, of which a
// line may take some away again. The zero value is 0.
type Wide struct {
	hi int64
	lo uint64
}

// WideOf is a number of 64 bits.
func WideOf(n int64) Wide { return Wide{hi: n >> 63, lo: uint64(n)} }

// wideOf is a sum of byte-milliseconds; it fails beyond 127 bits, which is more
// than any hour of any node has.
func wideOf(t usage.Total) (Wide, error) {
	hi, lo := t.Halves()
	if hi > math.MaxInt64 {
		return Wide{}, fmt.Errorf("%s byte-milliseconds do not fit 127 bits", t)
	}
	return Wide{hi: int64(hi), lo: lo}, nil
}

// total is the number as a sum of byte-milliseconds; it fails below 0.
func (w Wide) total() (usage.Total, error) {
	if w.hi < 0 {
		return usage.Total{}, fmt.Errorf("%s byte-milliseconds are less than nothing", w)
	}
	return usage.TotalFrom(uint64(w.hi), w.lo), nil
}

// Add adds another number.
func (w *Wide) Add(o Wide) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, o.lo, 0)
	w.hi += o.hi + int64(carry)
}

// Neg is the number with the other sign.
func (w Wide) Neg() Wide {
	lo, borrow := bits.Sub64(0, w.lo, 0)
	return Wide{hi: -w.hi - int64(borrow), lo: lo}
}

// Sign is -1, 0 or +1.
func (w Wide) Sign() int {
	switch {
	case w.hi < 0:
		return -1
	case w.hi == 0 && w.lo == 0:
		return 0
	}
	return 1
}

// Float is the number as close as a float comes: for display.
func (w Wide) Float() float64 {
	if w.hi < 0 { // else a number just below 0 would be lost between two large ones
		n := w.Neg()
		return -(float64(n.hi)*(1<<64) + float64(n.lo))
	}
	return float64(w.hi)*(1<<64) + float64(w.lo)
}

// String is the decimal number.
func (w Wide) String() string {
	if w.hi == int64(w.lo)>>63 {
		return strconv.FormatInt(int64(w.lo), 10)
	}
	n := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(w.lo)).String()
}

// MarshalText writes the decimal number.
func (w Wide) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a decimal number of up to 127 bits and a sign.
func (w *Wide) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*w = WideOf(n)
		return nil
	}
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok || n.BitLen() > 127 {
		return fmt.Errorf("read whole number %q: write a decimal number of up to 127 bits", text)
	}
	low := new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0)))
	*w = Wide{hi: n.Rsh(n, 64).Int64(), lo: low.Uint64()}
	return nil
}
