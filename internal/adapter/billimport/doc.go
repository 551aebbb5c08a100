// SPDX-License-Identifier: Apache-2.0

// Package billimport reads providers' bills into lines of core/bill: FOCUS 1.0
// to 1.3 and AWS CUR 2.0 as CSV or Parquet, GCP's detailed billing export as
// JSON or CSV.
//
// It owns those formats: their columns, their dirt, what each of their charge
// types costs when amortised. Amounts are exact or refused. It keeps nothing: lines
// go to the caller one by one, so that a bill need not fit into memory. It does
// not fetch files and does not know hours or nodes.
package billimport
