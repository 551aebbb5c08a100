// SPDX-License-Identifier: Apache-2.0

package money

// SumOf is the sum whose 128 bits of two's complement, in billionths, are these
// halves.
func SumOf(high int64, low uint64) Sum { return Sum{hi: high, lo: low} }

// Halves are the sum's 128 bits of two's complement, in billionths: what a store
// keeps.
func (s Sum) Halves() (high int64, low uint64) { return s.hi, s.lo }
