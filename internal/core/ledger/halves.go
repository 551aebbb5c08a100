// SPDX-License-Identifier: Apache-2.0

package ledger

// WideFrom is the number whose 128 bits of two's complement are these halves.
func WideFrom(high int64, low uint64) Wide { return Wide{hi: high, lo: low} }

// Halves are the number's 128 bits of two's complement: what a store keeps.
func (w Wide) Halves() (high int64, low uint64) { return w.hi, w.lo }
