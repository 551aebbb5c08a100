// SPDX-License-Identifier: Apache-2.0

// Package focus writes charges as FOCUS 1.3 Cost and Usage rows, in CSV and
// Parquet: what a node cost, split among pods and platform accounts, with the
// columns for split cost allocation, and corrections of closed periods.
//
// It owns the columns, their order and their nulls, and refuses to write a split
// whose parts are not the whole. It does not price, meter or allocate: the
// amounts come in, and no rule of the model is decided here.
package focus
