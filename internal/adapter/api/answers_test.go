// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gputally/gputally/internal/adapter/api/client"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// asked compares an answer that went over the wire with the shape of what the
// books say.
func asked[T any](t *testing.T, got T, err error, want T, wantErr error) {
	t.Helper()
	if err != nil || wantErr != nil {
		t.Fatalf("asked: %v; the books: %v", err, wantErr)
	}
	text := func(v T) string {
		b, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Errorf("the answer is not what the books say (-books +answer):\n%s", diff)
	}
}

func TestReportOverTheWire(t *testing.T) {
	l := readOnly(t)
	_, c := serve(t, l, nil)
	m, err := ledger.ParseMonth("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		q client.ReportQuery
		s report.Spec
	}{
		"plain":  {client.ReportQuery{Span: month}, report.Spec{Month: m}},
		"rows":   {client.ReportQuery{Span: month, By: []string{"label:team", "day"}, Top: 1}, report.Spec{Month: m, By: []report.Dimension{report.Label("team"), report.Day}, Top: 1}},
		"booked": {client.ReportQuery{Span: month, Booked: true, Cost: "charged", View: "distributed"}, report.Spec{Month: m, Booked: true, Cost: report.Charged, View: report.Distributed}},
		"hours": {client.ReportQuery{Span: client.Span{From: "2026-11-03T01:00:00Z", To: "2026-11-03T03:00:00Z"}, By: []string{"namespace"}, Where: []string{"node!=rack-1", `label:team=a\,b,product`}},
			report.Spec{FromMS: 1793667600000, ToMS: 1793674800000, By: []report.Dimension{report.Namespace},
				Where: []report.Filter{{By: report.Node, In: []string{"rack-1"}, Not: true}, {By: report.Label("team"), In: []string{"a,b", "product"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Report(t.Context(), x.q)
			want, wantErr := l.Report(t.Context(), x.s)
			asked(t, got, err, v1.ReportOf(&want), wantErr)
		})
	}
}

func TestOtherAnswersOverTheWire(t *testing.T) {
	l := readOnly(t)
	_, c := serve(t, l, nil)
	ctx := t.Context()
	at := int64(1793671200000) // 2026-11-03T02:00Z
	status, err := c.Status(ctx)
	wantStatus, wantErr := l.Status(ctx)
	asked(t, status, err, v1.StatusOf(&wantStatus), wantErr)
	nodes, err := c.Nodes(ctx, "2026-11-03T02:00:00Z")
	wantNodes, wantErr := l.Nodes(ctx, at)
	asked(t, nodes, err, v1.NodesOf(at, wantNodes), wantErr)
	price, err := c.NodePrice(ctx, "", "aws-1", "2026-11-03T02:00:00Z")
	wantPrice, wantErr := l.NodePrice(ctx, "", "aws-1", at)
	asked(t, price, err, v1.NodePriceOf(&wantPrice), wantErr)
	compared, err := c.ComparePrices(ctx, "lab", "rack-1", "2026-11-03T02:00:00Z")
	wantCompared, wantErr := l.ComparePrices(ctx, "lab", "rack-1", at)
	asked(t, compared, err, v1.PriceComparisonOf(&wantCompared), wantErr)
	from, to := int64(1793664000000), int64(1793685600000)
	checked, err := c.CheckPrices(ctx, client.Span{From: "2026-11-03", To: "2026-11-03T06:00:00Z"})
	wantChecked, wantErr := l.CheckPrices(ctx, from, to)
	asked(t, checked, err, v1.PriceCheckOf(&wantChecked), wantErr)
	explained, err := c.Explain(ctx, client.ExplainQuery{Span: month, Workload: "ml/Job/train", Limit: 3})
	wantExplained, wantErr := l.Explain(ctx, inquiry.Subject{Workload: "ml/Job/train", FromMS: from, ToMS: to, Limit: 3})
	asked(t, explained, err, v1.ExplanationOf(&wantExplained), wantErr)
	if len(explained.Traces) != 3 || explained.Entries <= 3 || !explained.Traces[0].Booked.Agrees {
		t.Errorf("%d traces of %d entries", len(explained.Traces), explained.Entries)
	}
	months, err := c.Month(ctx, "2026-11")
	wantMonths, wantErr := l.Months(ctx)
	asked(t, months, err, v1.MonthsOf(wantMonths), wantErr)
	dimensions, err := c.Dimensions(ctx)
	asked(t, dimensions, err, v1.DimensionsOf([]string{"project", "team"}), nil)
}

// TestPagesOfLines: page after page gives every line once and in order, also while
// lines are added.
func TestPagesOfLines(t *testing.T) {
	l := ledgerOfItsOwn(t)
	_, c := serve(t, l, nil)
	var want []v1.Line
	for x, err := range l.Lines(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, v1.LineOf(x))
	}
	for _, limit := range []string{"1", "7", "5000"} {
		var got []v1.Line
		if err := c.Lines(t.Context(), url.Values{"month": {"2026-11"}, "limit": {limit}}, func(x v1.Line) bool {
			got = append(got, x)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(v1.Line{}), cmp.Comparer(func(a, b ledger.Wide) bool { return a == b })); diff != "" {
			t.Fatalf("in pages of %s: %s", limit, diff)
		}
	}
	line, err := c.Line(t.Context(), want[3].ID)
	asked(t, line, err, want[3], nil)
	seen, added := map[string]bool{}, false
	if err := c.Lines(t.Context(), url.Values{"month": {"2026-11"}, "limit": {"5"}}, func(x v1.Line) bool {
		if seen[x.ID] {
			t.Errorf("line %s comes twice", x.ID)
		}
		if seen[x.ID] = true; len(seen) == 12 && !added {
			added = true
			drift := ledger.Drift{Reference: "r", Cluster: "prod", Currency: "USD", Amount: 5, FromMS: want[0].Start.UnixMilli(), ToMS: want[0].Start.UnixMilli() + 3_600_000, Revision: ledger.Revision{Reason: "rounding"}}
			if _, err := l.Store.AddDrift(t.Context(), drift, ledger.Periods{}); err != nil {
				t.Fatal(err)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) < len(want) {
		t.Errorf("%d lines came, there were %d", len(seen), len(want))
	}
}

// TestExportOverTheWire: the bytes are those that the books write, and the
// trailers count the rows.
func TestExportOverTheWire(t *testing.T) {
	l := readOnly(t)
	_, c := serve(t, l, nil)
	for _, x := range []inquiry.ExportRequest{
		{Kind: inquiry.ExportLines, Format: inquiry.CSV}, {Kind: inquiry.ExportLines, Format: inquiry.Parquet}, {Kind: inquiry.ExportUsage, Format: inquiry.JSONL}, {Kind: inquiry.ExportFOCUS, Format: inquiry.CSV},
	} {
		x.FromMS, x.ToMS = 1793664000000, 1793685600000
		var got, want bytes.Buffer
		rows, notes, err := c.Export(t.Context(), client.ExportQuery{Span: client.Span{From: "2026-11-03", To: "2026-11-03T06:00:00Z"}, Kind: string(x.Kind), Format: string(x.Format)}, &got)
		if err != nil {
			t.Fatal(err)
		}
		done, err := l.Export(t.Context(), x, &want)
		if err != nil {
			t.Fatal(err)
		}
		if rows != done.Rows || rows == 0 || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s %s: %d rows and %d bytes came, the books write %d and %d", x.Kind, x.Format, rows, got.Len(), done.Rows, want.Len())
		}
		if x.Kind == inquiry.ExportFOCUS && notes == "" {
			t.Error("what was left out is not told")
		}
	}
	var none bytes.Buffer
	if rows, _, err := c.Export(t.Context(), client.ExportQuery{Span: client.Span{Month: "2025-01"}, Kind: "usage", Format: "jsonl"}, &none); err != nil || rows != 0 {
		t.Errorf("an empty export: %d rows, %v", rows, err)
	}
}
