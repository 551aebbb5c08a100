// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
)

var batchTable = table{name: "usage_batch", columns: columnsOf(
	"hour", integer, "batch", bigint, "agent", text, "boot", text, "seq", ubigint, "version", bigint,
	"cluster", text, "node", text, "start_ms", bigint, "duration_ms", bigint, "interval_ms", bigint,
	"provider_id", text, "shape_json", text, "unschedulable_json", text, "engines_json", text, "others_json", text,
)}

func batchRow(at home, b *usage.Batch) record {
	return append(headRow(at, b), wireList(b.Engines), wire(b.Others, b.Others == nil))
}

// headRow is what a batch says of itself and of the node.
func headRow(at home, b *usage.Batch) record {
	return record{at.hour, at.batch, b.Agent, b.Boot, b.Seq, int64(b.Version),
		b.Cluster, b.Node, b.StartMS, b.DurationMS, b.IntervalMS,
		b.ProviderID, wire(b.Shape, b.Shape == nil), wireList(b.Unschedulable)}
}

// home is where a batch goes: its hour and its number.
type home struct {
	hour  int32
	batch int64
}

func readBatch(r *row) (at home, b usage.Batch) {
	at, b = readHead(r)
	b.Engines = readWire[[]usage.EngineRecord](r)
	b.Others = readWire[*attribution.OtherPods](r)
	return at, b
}

func readHead(r *row) (at home, b usage.Batch) {
	at = home{hour: r.i32(), batch: r.i64()}
	b = usage.Batch{Agent: r.text(), Boot: r.text(), Seq: r.u64(), Version: int(r.i64()),
		Cluster: r.text(), Node: r.text(), StartMS: r.i64(), DurationMS: r.i64(), IntervalMS: r.i64(),
		ProviderID: r.text(), Shape: readWire[*usage.NodeShape](r), Unschedulable: readWire[[]usage.Span](r)}
	return at, b
}

// hourMS is the length of an hour.
const hourMS = 3_600_000

// hourOf is the number of the hour since 1970 that a time lies in.
func hourOf(ms int64) int32 {
	h := ms / hourMS
	if ms%hourMS < 0 {
		h--
	}
	return int32(h)
}

var gapTable = table{name: "usage_gap", columns: columnsOf(
	"hour", integer, "batch", bigint, "agent", text, "boot", text, "seq", ubigint, "version", bigint,
	"cluster", text, "node", text, "start_ms", bigint, "duration_ms", bigint, "interval_ms", bigint,
	"provider_id", text, "shape_json", text, "unschedulable_json", text,
	"reason", text, "gap_start_ms", bigint, "gap_duration_ms", bigint,
	"gap_boot", text, "gap_first_seq", ubigint, "gap_last_seq", ubigint,
)}

func gapRow(at home, b *usage.Batch) record {
	g := b.Gap
	return append(headRow(at, b), g.Reason, g.StartMS, g.DurationMS, g.Boot, g.FirstSeq, g.LastSeq)
}

func readGap(r *row) (at home, b usage.Batch) {
	at, b = readHead(r)
	b.Gap = &usage.Gap{Reason: r.text(), Span: r.span(), Boot: r.text(), FirstSeq: r.u64(), LastSeq: r.u64()}
	return at, b
}
