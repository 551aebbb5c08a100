// SPDX-License-Identifier: Apache-2.0

// Package ledgerfile writes what the ledger holds as tables for other tools: its
// lines, and the usage records behind them, as CSV, Parquet or JSON lines.
//
// It owns which columns these tables have (docs/formats/export.md). It adds
// nothing up and leaves nothing out. The export for the cloud bill's tools is
// adapter focus.
package ledgerfile
