// SPDX-License-Identifier: Apache-2.0

// Package bill is a provider's bill: its lines, the imports that bring them,
// and what each machine costs in each UTC hour by them.
//
// It owns the rule that an import replaces and never adds, the hours a line
// falls into, whose machine a resource id names, and the two buckets of what
// does not meet: cost without telemetry and telemetry without cost. It does not
// read files (adapters do), know price lists or divide a machine's hour among
// its pods.
package bill
