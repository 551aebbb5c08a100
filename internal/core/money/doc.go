// SPDX-License-Identifier: Apache-2.0

// Package money is amounts of money as whole numbers of billionths of a
// currency's unit, and the one division they know.
//
// It owns reading and printing amounts, and dividing one so that the parts sum
// to the whole. It does not know prices, currencies' rates or whom money
// belongs to; amounts of two currencies are never added, which is the callers'
// to see to.
package money
