// SPDX-License-Identifier: Apache-2.0

package usage

// TotalFrom is the sum whose 128 bits are these halves.
func TotalFrom(high, low uint64) Total { return Total{hi: high, lo: low} }

// Halves are the sum's 128 bits: for those who add it up in numbers with a sign.
func (t Total) Halves() (high, low uint64) { return t.hi, t.lo }
