// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"iter"

	"github.com/gputally/gputally/internal/adapter/focus"
	"github.com/gputally/gputally/internal/adapter/ledgerfile"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// exportWriters write exports in the formats of the adapters.
type exportWriters struct{}

func (exportWriters) Lines(w io.Writer, f inquiry.ExportFormat, lines iter.Seq2[*ledger.Line, error], pods report.Lookup) (inquiry.Exported, error) {
	n, err := ledgerfile.Lines(w, string(f), lines, pods)
	return inquiry.Exported{Rows: n}, err
}

func (exportWriters) Usage(w io.Writer, f inquiry.ExportFormat, batches iter.Seq2[usage.Batch, error]) (inquiry.Exported, error) {
	n, err := ledgerfile.Usage(w, string(f), batches)
	return inquiry.Exported{Rows: n}, err
}

func (exportWriters) FOCUS(w io.Writer, f inquiry.ExportFormat, in billing.FOCUSInput) (inquiry.Exported, error) {
	var out *focus.Writer
	var err error
	switch f {
	case inquiry.CSV:
		out, err = focus.NewCSV(w)
	case inquiry.Parquet:
		out = focus.NewParquet(w)
	default:
		err = &inquiry.Wrong{Field: "format", Value: string(f), Why: "FOCUS is written as CSV or Parquet", Allowed: []string{"csv", "parquet"}}
	}
	if err != nil {
		return inquiry.Exported{}, err
	}
	sum, err := focus.Export(out, focus.Books{Lines: in.Lines, Hour: in.Hour, Rated: in.Hours, Pods: in.Pods})
	if err == nil {
		err = out.Close()
	}
	made := inquiry.Exported{Rows: sum.Rows}
	if sum.UnpricedLines > 0 {
		made.Notes = append(made.Notes, fmt.Sprintf("%d lines without a price (%.2f GPU-hours) are left out: FOCUS cannot say unknown", sum.UnpricedLines, report.Hours(sum.UnpricedMS)))
	}
	return made, err
}
