// SPDX-License-Identifier: Apache-2.0

// Package duck owns the usage journal in DuckDB: its files, its schema and the
// migrations of it, what makes a batch count once, what is durable, the sealing
// of old hours to Parquet, backup and restore.
//
// What it promises:
//   - A batch whose Append returned nil is in the journal as a whole or, if it
//     was there before, once. Rows and watermark are one transaction.
//   - What Acks calls durable is in the database file, not in its write-ahead
//     log: it outlives the loss of the log. The disk is assumed to honour fsync.
//   - A log that cannot be read is set aside, never deleted, and said so; the
//     journal then stands where it was last checkpointed.
//   - An hour is at every moment either in the tables or in Parquet files that
//     the table usage_sealed names, late batches apart, which may be in both
//     places but are each in one.
//
// One process has the database open; others ask that process. What a batch means
// is package usage's business, when to write, checkpoint and seal that of
// app/server. The reasons for DuckDB are in docs/decisions/0001-embedded-duckdb.md.
package duck
