// SPDX-License-Identifier: Apache-2.0

package ledgerfile

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/gputally/gputally/internal/adapter/tablefile"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// open begins a table in a format.
func open[R any](w io.Writer, format, name string, columns []tablefile.Column[R]) (*tablefile.Writer[R], error) {
	switch format {
	case "csv":
		return tablefile.NewCSV(w, name, columns)
	case "parquet":
		return tablefile.NewParquet(w, name, columns), nil
	case "jsonl":
		return tablefile.NewJSON(w, name, columns), nil
	}
	return nil, fmt.Errorf("format %q: write csv, parquet or jsonl", format)
}

// record is one row of the table of usage: what a partition did, or what one
// holder had on it, or a pod's CPU and memory, or a gap.
type record struct {
	batch     *usage.Batch
	kind      string
	span      usage.Span
	partition *usage.PartitionRecord
	id        gpu.PartitionID
	holder    workload.Holder
	held      *usage.Record
	grant     *usage.GrantRecord
	pod       *usage.PodRecord
	gap       *usage.Gap
}

var usageColumns = []tablefile.Column[*record]{
	tablefile.Text("record", func(r *record) string { return r.kind }),
	tablefile.Text("cluster", func(r *record) string { return r.batch.Cluster }),
	tablefile.Text("node", func(r *record) string { return r.batch.Node }),
	tablefile.Text("provider_id", func(r *record) string { return r.batch.ProviderID }),
	tablefile.Text("agent", func(r *record) string { return r.batch.Agent }),
	tablefile.Text("boot", func(r *record) string { return r.batch.Boot }),
	tablefile.Text("seq", func(r *record) string { return strconv.FormatUint(r.batch.Seq, 10) }),
	tablefile.Time("start", func(r *record) int64 { return r.span.StartMS }),
	tablefile.Int("duration_ms", func(r *record) int64 { return r.span.DurationMS }),
	tablefile.Int("interval_ms", func(r *record) int64 { return r.batch.IntervalMS }),
	tablefile.Text("gpu", func(r *record) string { return string(r.id.Device) }),
	tablefile.Text("partition", func(r *record) string { return name(r.id) }),
	tablefile.Text("slot", func(r *record) string { return ofPartition(r, func(p *usage.PartitionRecord) string { return p.Slot }) }),
	tablefile.Text("model", func(r *record) string {
		return ofPartition(r, func(p *usage.PartitionRecord) string { return p.Model })
	}),
	tablefile.Text("profile", func(r *record) string {
		return ofPartition(r, func(p *usage.PartitionRecord) string { return p.Profile })
	}),
	tablefile.Text("mode", func(r *record) string {
		return ofPartition(r, func(p *usage.PartitionRecord) string { return string(p.Mode) })
	}),
	tablefile.Maybe("measured_ms", partitionMS(func(p *usage.PartitionRecord) int64 { return p.MeasuredMS })),
	tablefile.Maybe("unmeasured_ms", partitionMS(func(p *usage.PartitionRecord) int64 { return p.UnmeasuredMS })),
	tablefile.Maybe("unavailable_ms", partitionMS(func(p *usage.PartitionRecord) int64 { return p.UnavailableMS })),
	tablefile.Wide("capacity_byte_ms", partitionBytes(func(p *usage.PartitionRecord) uint64 { return p.CapacityByteMS })),
	tablefile.Wide("reserved_byte_ms", partitionBytes(func(p *usage.PartitionRecord) uint64 { return p.ReservedByteMS })),
	tablefile.Wide("unattributed_byte_ms", partitionBytes(func(p *usage.PartitionRecord) uint64 { return p.UnattributedByteMS })),
	tablefile.Wide("free_byte_ms", partitionBytes(func(p *usage.PartitionRecord) uint64 { return p.FreeByteMS })),
	tablefile.Real("busy", func(r *record) *float64 {
		if r.partition == nil {
			return nil
		}
		return r.partition.Signals.Busy
	}),
	tablefile.Text("holder_kind", func(r *record) string { return string(r.holder.Kind) }),
	tablefile.Text("namespace", func(r *record) string { return r.holder.Namespace }),
	tablefile.Text("pod", func(r *record) string { return r.holder.Pod }),
	tablefile.Text("pod_uid", func(r *record) string { return r.holder.PodUID }),
	tablefile.Text("container", func(r *record) string { return r.holder.Container }),
	tablefile.Text("unit", func(r *record) string { return r.holder.Unit }),
	tablefile.Maybe("present_ms", func(r *record) *int64 { return r.presentMS() }),
	tablefile.Wide("held_byte_ms", func(r *record) string { return ofHeld(r, func(h *usage.Record) uint64 { return h.ByteMS }) }),
	tablefile.Wide("peak_bytes", func(r *record) string { return ofHeld(r, func(h *usage.Record) uint64 { return h.PeakBytes }) }),
	tablefile.Text("leak", func(r *record) string {
		if r.held != nil && r.held.Leak {
			return "true"
		}
		return ""
	}),
	tablefile.Text("grant_source", func(r *record) string { return ofGrant(r, func(g *usage.GrantRecord) string { return g.Grant.Source }) }),
	tablefile.Text("grant_resource", func(r *record) string {
		return ofGrant(r, func(g *usage.GrantRecord) string { return g.Grant.Resource })
	}),
	tablefile.Maybe("granted_ms", func(r *record) *int64 {
		if r.grant == nil {
			return nil
		}
		return &r.grant.GrantedMS
	}),
	tablefile.Wide("cpu_nanos", func(r *record) string { return ofPod(r, func(p *usage.PodRecord) uint64 { return p.CPUNanos }) }),
	tablefile.Wide("memory_byte_ms", func(r *record) string { return ofPod(r, func(p *usage.PodRecord) uint64 { return p.MemoryByteMS }) }),
	tablefile.Text("workload_kind", func(r *record) string {
		if r.pod == nil {
			return ""
		}
		return r.pod.Owner.Kind
	}),
	tablefile.Text("workload", func(r *record) string {
		if r.pod == nil {
			return ""
		}
		return r.pod.Owner.Name
	}),
	tablefile.JSON("labels", func(r *record) string {
		if r.pod == nil {
			return ""
		}
		return nested(r.pod.Labels, len(r.pod.Labels))
	}),
	tablefile.Text("grade", func(r *record) string { return r.grade() }),
	tablefile.Text("gap_reason", func(r *record) string {
		if r.gap == nil {
			return ""
		}
		return r.gap.Reason
	}),
}

func name(id gpu.PartitionID) string {
	if id.Device == "" {
		return ""
	}
	return id.String()
}

func ofPartition(r *record, of func(*usage.PartitionRecord) string) string {
	if r.partition == nil {
		return ""
	}
	return of(r.partition)
}

func partitionMS(of func(*usage.PartitionRecord) int64) func(*record) *int64 {
	return func(r *record) *int64 {
		if r.partition == nil {
			return nil
		}
		n := of(r.partition)
		return &n
	}
}

func partitionBytes(of func(*usage.PartitionRecord) uint64) func(*record) string {
	return func(r *record) string {
		if r.partition == nil || r.partition.CapacityBytes == nil {
			return ""
		}
		return strconv.FormatUint(of(r.partition), 10)
	}
}

func ofHeld(r *record, of func(*usage.Record) uint64) string {
	if r.held == nil || r.held.KnownMS == 0 {
		return "" // unknown, never 0
	}
	return strconv.FormatUint(of(r.held), 10)
}

func ofGrant(r *record, of func(*usage.GrantRecord) string) string {
	if r.grant == nil {
		return ""
	}
	return of(r.grant)
}

func ofPod(r *record, of func(*usage.PodRecord) uint64) string {
	if r.pod == nil || r.pod.PresentMS == 0 && of(r.pod) == 0 {
		return "" // not read: unknown, never 0
	}
	return strconv.FormatUint(of(r.pod), 10)
}

func (r *record) presentMS() *int64 {
	switch {
	case r.held != nil:
		return &r.held.PresentMS
	case r.pod != nil:
		return &r.pod.PresentMS
	}
	return nil
}

func (r *record) grade() string {
	switch {
	case r.held != nil:
		return string(r.held.Grade)
	case r.partition != nil:
		return string(r.partition.Grade)
	}
	return ""
}

// records are the rows of a batch.
func records(b *usage.Batch) (out []*record) {
	for i := range b.Partitions {
		p := &b.Partitions[i]
		out = append(out, &record{batch: b, kind: "partition", span: p.Span, partition: p, id: p.Partition})
	}
	for i := range b.Holders {
		h := &b.Holders[i]
		out = append(out, &record{batch: b, kind: "holder", span: h.Span, held: h, id: h.Partition, holder: h.Holder})
	}
	for i := range b.Grants {
		g := &b.Grants[i]
		out = append(out, &record{batch: b, kind: "grant", span: g.Span, grant: g, id: g.Partition, holder: g.Grant.Holder})
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		out = append(out, &record{batch: b, kind: "pod", span: p.Span, pod: p, holder: p.Holder})
	}
	if b.Gap != nil {
		out = append(out, &record{batch: b, kind: "gap", span: b.Gap.Span, gap: b.Gap})
	}
	return out
}

// Usage writes the records of batches as they come, and returns how many rows.
// JSON lines are whole batches in their wire form (docs/formats/spool.md).
func Usage(w io.Writer, format string, batches iter.Seq2[usage.Batch, error]) (int64, error) {
	if format == "jsonl" {
		return wire(w, batches)
	}
	out, err := open(w, format, "gputally_usage", usageColumns)
	if err != nil {
		return 0, err
	}
	for b, err := range batches {
		if err != nil {
			return out.Rows, err
		}
		for _, r := range records(&b) {
			if err := out.Write(r); err != nil {
				return out.Rows, err
			}
		}
	}
	return out.Rows, out.Close()
}

func wire(w io.Writer, batches iter.Seq2[usage.Batch, error]) (n int64, err error) {
	to := json.NewEncoder(w)
	for b, err := range batches {
		if err == nil {
			err = to.Encode(&b)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
