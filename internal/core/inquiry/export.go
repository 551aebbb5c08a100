// SPDX-License-Identifier: Apache-2.0

package inquiry

import "github.com/gputally/gputally/internal/core/ledger"

// ExportKind is what is exported.
type ExportKind string

// The kinds: lines of the ledger, usage records, FOCUS 1.3 with split cost.
const (
	ExportLines ExportKind = "lines"
	ExportUsage ExportKind = "usage"
	ExportFOCUS ExportKind = "focus"
)

// ExportKinds lists them.
func ExportKinds() []ExportKind { return []ExportKind{ExportLines, ExportUsage, ExportFOCUS} }

// ExportFormat is how it is written.
type ExportFormat string

// The formats.
const (
	CSV     ExportFormat = "csv"
	Parquet ExportFormat = "parquet"
	JSONL   ExportFormat = "jsonl"
)

// ExportFormats lists them.
func ExportFormats() []ExportFormat { return []ExportFormat{CSV, Parquet, JSONL} }

// ExportRequest says what is exported: hours in [FromMS, ToMS), Unix
// milliseconds, or what was booked in a month.
type ExportRequest struct {
	Kind         ExportKind
	Format       ExportFormat
	FromMS, ToMS int64
	Booked       ledger.Month // 0: by the time
}

// Exported is what was written.
type Exported struct {
	Rows int64
	// Notes say what was left out, such as hours without a price.
	Notes []string
}
