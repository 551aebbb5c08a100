// SPDX-License-Identifier: Apache-2.0

// Package expect owns what a capture says is right, the `expect` section of a
// story, and the comparison of attributed results with it: splits of memory at
// a moment, findings and their absence, figures that must be unknown, grades
// and identities.
//
// It does not read captures (adapter capture does) and does not attribute. It
// carries expectations about money without looking at them: they belong to the
// ledger.
package expect
