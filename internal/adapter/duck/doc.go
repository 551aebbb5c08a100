// SPDX-License-Identifier: Apache-2.0

// Package duck owns the usage journal and the ledger in DuckDB: their files, their
// schema and the migrations of it, what makes a batch count once, what is due to be
// rated, what makes a booking whole, what is durable, the sealing of old hours to
// Parquet, the files of closed months, reports by SQL, backup and restore.
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
//   - Bookings are added whole, all of a call or none, and take their hours off the
//     list of due ones in the same transaction. Lines are only ever added.
//   - A month that CloseMonth returned is closed with its statements, whose file was
//     durable before.
//   - A report is what core/report makes of every line, cost and pod.
//
// One process has the database open; others ask that process. What a batch means
// is package usage's business, what a line means package ledger's, which rows a report
// has package report's, when to write, checkpoint and seal that of
// app/server. The reasons for DuckDB are in docs/decisions/0001-embedded-duckdb.md.
package duck
