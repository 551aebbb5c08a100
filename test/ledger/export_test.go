// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/adapter/focus"
	"github.com/gputally/gputally/internal/adapter/ledgerfile"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// writers write exports as the server does, as CSV.
type writers struct{}

func (writers) Lines(w io.Writer, f inquiry.ExportFormat, lines iter.Seq2[*ledger.Line, error], pods report.Lookup) (inquiry.Exported, error) {
	n, err := ledgerfile.Lines(w, string(f), lines, pods)
	return inquiry.Exported{Rows: n}, err
}

func (writers) Usage(w io.Writer, f inquiry.ExportFormat, batches iter.Seq2[usage.Batch, error]) (inquiry.Exported, error) {
	n, err := ledgerfile.Usage(w, string(f), batches)
	return inquiry.Exported{Rows: n}, err
}

func (writers) FOCUS(w io.Writer, _ inquiry.ExportFormat, in billing.FOCUSInput) (inquiry.Exported, error) {
	out, err := focus.NewCSV(w)
	if err != nil {
		return inquiry.Exported{}, err
	}
	sum, err := focus.Export(out, focus.Books{Lines: in.Lines, Hour: in.Hour, Rated: in.Hours, Pods: in.Pods})
	if err == nil {
		err = out.Close()
	}
	return inquiry.Exported{Rows: sum.Rows}, err
}

// exported is a column of an export, summed; "" for none.
func (b *books) exported(r inquiry.ExportRequest, column string) (sum money.Sum, rows int) {
	b.t.Helper()
	var file bytes.Buffer
	made, err := b.service.Export(b.t.Context(), r, &file)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := csv.NewReader(&file).ReadAll()
	if err != nil || len(all) < 2 {
		b.t.Fatalf("%d rows: %v", len(all), err)
	}
	at := slices.Index(all[0], column)
	if at < 0 && column != "" {
		b.t.Fatalf("there is no column %s in %v", column, all[0])
	}
	for _, row := range all[1:] {
		if column != "" && row[at] != "" {
			sum.Add(nano(b.t, row[at]))
		}
	}
	if int64(len(all)-1) != made.Rows {
		b.t.Errorf("the file has %d rows, and %d were told of", len(all)-1, made.Rows)
	}
	return sum, len(all) - 1
}

// TestExports: what is exported of a month, as lines and as FOCUS, sums to what its
// statements say, with the corrections of the month before.
func TestExports(t *testing.T) {
	b := corrected(t)
	closed, err := b.store.Closed(t.Context())
	if err != nil || len(closed) != 2 {
		t.Fatalf("%d closed months: %v", len(closed), err)
	}
	var months money.Sum
	for _, c := range closed {
		b.booked(c.Month, c.Amount)
		months.Add(nano(t, c.Amount))
		for kind, column := range map[inquiry.ExportKind]string{inquiry.ExportLines: "amount", inquiry.ExportFOCUS: "EffectiveCost"} {
			sum, rows := b.exported(inquiry.ExportRequest{Kind: kind, Format: inquiry.CSV, Booked: c.Month}, column)
			if sum.String() != nano(t, c.Amount).String() {
				t.Errorf("%s of %s sum to %s in %d rows, its statements to %s", kind, c.Month, sum.String(), rows, c.Amount)
			}
		}
	}
	var cost money.Sum
	for _, c := range b.costs() {
		cost.Add(c.Total)
	}
	if months.Cmp(cost) != 0 {
		t.Errorf("the months sum to %s, the nodes cost %s", months.String(), cost.String())
	}
	if _, rows := b.exported(inquiry.ExportRequest{Kind: inquiry.ExportUsage, Format: inquiry.CSV, FromMS: fewFrom.UnixMilli(), ToMS: fewFrom.AddDate(0, 0, 1).UnixMilli()}, ""); rows == 0 {
		t.Error("no usage was exported")
	}
}
