// SPDX-License-Identifier: Apache-2.0

package ledgerfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

func linesOf(lines ...*ledger.Line) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// table is a CSV as rows by column.
func table(t *testing.T, text string) (out []map[string]string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			if row[i] != "" {
				m[name] = row[i]
			}
		}
		out = append(out, m)
	}
	return out
}

func TestLines(t *testing.T) {
	amount := money.Nano(-1_500_000_001)
	priced := &ledger.Line{ID: "l1", Kind: ledger.Correction, Amount: &amount, Basis: &pricing.Basis{Source: "book", Row: "r1"}}
	priced.Holder = workload.Holder{Kind: workload.KindPod, PodUID: "u", Namespace: "ml", Pod: "a"}
	priced.Currency, priced.Partition, priced.HourMS = "USD", gpu.Whole("GPU-1"), 1_764_547_200_000
	unpriced := &ledger.Line{ID: "l2"}
	pods := func(uid string, hourMS int64) (*report.PodDimensions, bool) {
		return &report.PodDimensions{Owner: workload.Owner{Kind: "Job", Name: "a"}, Labels: map[string]string{"team": "x"}}, uid == "u" && hourMS == priced.HourMS
	}
	var out bytes.Buffer
	n, err := Lines(&out, "csv", linesOf(priced, unpriced), pods)
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	rows := table(t, out.String())
	for name, want := range map[string]string{
		"line_id": "l1", "kind": "correction", "amount": "-1.500000001", "currency": "USD", "price_source": "book", "price_row": "r1", "gpu": "GPU-1",
		"hour": "2025-12-01T00:00:00Z", "workload_kind": "Job", "workload": "a", "labels": `{"team":"x"}`, "namespace": "ml", "pod_uid": "u", "share_ms": "0", "held_byte_ms": "0",
	} {
		if rows[0][name] != want {
			t.Errorf("%s is %q, want %q", name, rows[0][name], want)
		}
	}
	for _, name := range []string{"amount", "currency", "price_source", "labels", "gpu", "partition", "hour"} {
		if got, there := rows[1][name]; there {
			t.Errorf("%s of a line without a price or a pod is %q", name, got)
		}
	}
	for _, format := range []string{"parquet", "jsonl"} {
		if n, err := Lines(&out, format, linesOf(priced, unpriced), nil); n != 2 || err != nil {
			t.Errorf("%s: %d, %v", format, n, err)
		}
	}
	if _, err := Lines(&out, "xlsx", linesOf(), nil); err == nil || !strings.Contains(err.Error(), "csv, parquet or jsonl") {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestUsage(t *testing.T) {
	capacity, busy := uint64(100), 0.5
	id := gpu.Whole("GPU-1")
	pod := workload.Holder{Kind: workload.KindPod, PodUID: "u", Namespace: "ml", Pod: "a"}
	b := usage.Batch{
		Node: "n", Agent: "a", Boot: "b", Seq: 1<<63 + 1, StartMS: 1_764_547_200_000, DurationMS: 60_000,
		Partitions: []usage.PartitionRecord{
			{Partition: id, Mode: gpu.ModeExclusive, MeasuredMS: 7, CapacityBytes: &capacity, CapacityByteMS: 1 << 63, FreeByteMS: 5},
			{Partition: gpu.Whole("GPU-2")},
		},
		Holders: []usage.Record{{Partition: id, Holder: pod, Leak: true, PresentMS: 5, KnownMS: 5, ByteMS: 9}, {Partition: id, Holder: pod, PresentMS: 3}},
		Pods:    []usage.PodRecord{{Holder: pod, CPUNanos: 4, Labels: map[string]string{"team": "x"}}},
		Gap:     &usage.Gap{Reason: "agent_down", Span: usage.Span{StartMS: 1_764_540_000_000, DurationMS: 1000}},
	}
	b.Partitions[0].Signals.Busy = &busy
	all := func(yield func(usage.Batch, error) bool) { yield(b, nil) }
	var out bytes.Buffer
	n, err := Usage(&out, "csv", all)
	if err != nil || n != 6 {
		t.Fatal(n, err)
	}
	rows := table(t, out.String())
	for i, want := range []map[string]string{
		{"record": "partition", "seq": "9223372036854775809", "capacity_byte_ms": "9223372036854775808", "free_byte_ms": "5", "busy": "0.5", "mode": "exclusive"},
		{"record": "partition", "capacity_byte_ms": "", "busy": ""}, // no capacity is known: nothing is 0
		{"record": "holder", "leak": "true", "held_byte_ms": "9", "pod_uid": "u"},
		{"record": "holder", "leak": "", "held_byte_ms": "", "present_ms": "3"}, // there, of unknown size
		{"record": "pod", "cpu_nanos": "4", "labels": `{"team":"x"}`},
		{"record": "gap", "gap_reason": "agent_down", "start": "2025-11-30T22:00:00Z", "duration_ms": "1000"},
	} {
		for name, value := range want {
			if rows[i][name] != value {
				t.Errorf("row %d: %s is %q, want %q", i, name, rows[i][name], value)
			}
		}
	}
	out.Reset()
	if n, err := Usage(&out, "jsonl", all); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	var back usage.Batch
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Seq != b.Seq || len(back.Holders) != 2 {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// TestDocNamesEveryColumn: docs/formats/export.md is complete.
func TestDocNamesEveryColumn(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/formats/export.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range lineColumns {
		names = append(names, lineColumns[i].Name)
	}
	for i := range usageColumns {
		names = append(names, usageColumns[i].Name)
	}
	for _, name := range names {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("column %s is not in the page", name)
		}
	}
}
