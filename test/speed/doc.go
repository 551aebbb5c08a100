// SPDX-License-Identifier: Apache-2.0

// Command speed measures how fast the server's ledger is, at the sizes that the
// project aims at: reports over a month of 10,000 GPUs beside DuckDB's own queries,
// taking records in, rating an hour, booking. It runs benchmarks of other packages,
// prints a table, or writes it between the markers of docs/ledger-speed.md.
//
// It owns the list of what is measured and against which aim. What is done in each
// benchmark stands with the benchmark.
package main
