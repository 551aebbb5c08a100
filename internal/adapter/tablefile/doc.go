// SPDX-License-Identifier: Apache-2.0

// Package tablefile writes rows as CSV, Parquet or JSON lines, from one list of
// columns. Numbers are exact in all three: money with nine decimal places, sums of
// 128 bits whole.
//
// It owns the types of columns, what null is and how each format says it. What a
// row is and which columns it has is its users' business: other adapters may
// import it.
package tablefile
