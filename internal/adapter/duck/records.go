// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Each kind of record has its table, how a row of it is written and how it is
// read. Both name every column in the table's order.

var partitionTable = table{name: "usage_partition", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "place", bigint, "start_ms", bigint, "duration_ms", bigint,
	"measured_ms", bigint, "unmeasured_ms", bigint, "unavailable_ms", bigint, "no_memory_ms", bigint, "reserve_unknown_ms", bigint, "grants_unknown_ms", bigint,
	"reasons_json", text, "capacity_byte_ms", ubigint, "reserved_byte_ms", ubigint, "used_byte_ms", ubigint,
	"unattributed_byte_ms", ubigint, "free_byte_ms", ubigint, "grade", text, "grade_ms_json", text,
	"busy", double, "memory_busy", double, "engine_active", double, "sm_active", double, "sm_occupancy", double,
	"tensor_active", double, "dram_active", double, "signals_known_ms", bigint, "energy_mj", ubigint, "events_json", text,
	"fp64_active", double, "fp32_active", double, "fp16_active", double, "pcie_rx_bytes_per_s", ubigint, "pcie_tx_bytes_per_s", ubigint,
	"power_mw", ubigint, "power_limit_mw", ubigint,
)}

func partitionRow(at home, line uint32, where int64, p *usage.PartitionRecord) record {
	s := &p.Signals
	return record{at.hour, at.batch, line, where, p.StartMS, p.DurationMS,
		p.MeasuredMS, p.UnmeasuredMS, p.UnavailableMS, p.NoMemoryMS, p.ReserveUnknownMS, p.GrantsUnknownMS,
		wireList(p.Reasons), p.CapacityByteMS, p.ReservedByteMS, p.UsedByteMS,
		p.UnattributedByteMS, p.FreeByteMS, string(p.Grade), wireMap(p.GradeMS),
		optional(s.Busy), optional(s.MemoryBusy), optional(s.EngineActive), optional(s.SMActive), optional(s.SMOccupancy),
		optional(s.TensorActive), optional(s.DRAMActive), s.KnownMS, optional(p.EnergyMJ), wireList(p.Events),
		optional(s.FP64Active), optional(s.FP32Active), optional(s.FP16Active), optional(s.PCIeRxPerS), optional(s.PCIeTxPerS),
		optional(p.PowerMW), optional(p.PowerLimitMW)}
}

func readPartition(r *row, words *words) usage.PartitionRecord {
	p := *words.places.get(r)
	p.Span = r.span()
	p.MeasuredMS, p.UnmeasuredMS, p.UnavailableMS, p.NoMemoryMS, p.ReserveUnknownMS, p.GrantsUnknownMS = r.i64(), r.i64(), r.i64(), r.i64(), r.i64(), r.i64()
	p.Reasons = readWire[[]string](r)
	p.CapacityByteMS, p.ReservedByteMS, p.UsedByteMS, p.UnattributedByteMS, p.FreeByteMS = r.u64(), r.u64(), r.u64(), r.u64(), r.u64()
	p.Grade, p.GradeMS = gpu.Grade(r.text()), readWire[map[gpu.Grade]int64](r)
	s := &p.Signals
	s.Signals = sample.Signals{Busy: r.optF64(), MemoryBusy: r.optF64(), EngineActive: r.optF64(), SMActive: r.optF64(),
		SMOccupancy: r.optF64(), TensorActive: r.optF64(), DRAMActive: r.optF64()}
	s.KnownMS, p.EnergyMJ, p.Events = r.i64(), r.optU64(), readWire[[]sample.Event](r)
	s.FP64Active, s.FP32Active, s.FP16Active = r.optF64(), r.optF64(), r.optF64()
	s.PCIeRxPerS, s.PCIeTxPerS, p.PowerMW, p.PowerLimitMW = r.optU64(), r.optU64(), r.optU64(), r.optU64()
	return p
}

var holderTable = table{name: "usage_holder", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "place", bigint, "start_ms", bigint, "duration_ms", bigint, "owner", bigint,
	"leak", boolean, "present_ms", bigint, "known_ms", bigint, "byte_ms", ubigint, "peak_bytes", ubigint,
	"grade", text, "grade_ms_json", text, "sm_ms", double, "sm_known_ms", bigint, "accounted_byte_ms", ubigint,
)}

func holderRow(at home, line uint32, where, owner int64, h *usage.Record) record {
	return record{at.hour, at.batch, line, where, h.StartMS, h.DurationMS, owner,
		h.Leak, h.PresentMS, h.KnownMS, h.ByteMS, h.PeakBytes,
		string(h.Grade), wireMap(h.GradeMS), h.SMMS, h.SMKnownMS, h.AccountedByteMS}
}

func readHolder(r *row, words *words) usage.Record {
	return usage.Record{Partition: words.places.get(r).Partition, Span: r.span(), Holder: words.owners.get(r),
		Leak: r.boolean(), PresentMS: r.i64(), KnownMS: r.i64(), ByteMS: r.u64(), PeakBytes: r.u64(),
		Grade: gpu.Grade(r.text()), GradeMS: readWire[map[gpu.Grade]int64](r), SMMS: r.f64(), SMKnownMS: r.i64(), AccountedByteMS: r.u64()}
}

var grantTable = table{name: "usage_grant", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "place", bigint, "start_ms", bigint, "duration_ms", bigint,
	"entitlement", bigint, "granted_ms", bigint,
)}

func grantRow(at home, line uint32, where, entitlement int64, g *usage.GrantRecord) record {
	return record{at.hour, at.batch, line, where, g.StartMS, g.DurationMS, entitlement, g.GrantedMS}
}

func readGrant(r *row, words *words) usage.GrantRecord {
	return usage.GrantRecord{Partition: words.places.get(r).Partition, Span: r.span(), Grant: words.entitlements.get(r), GrantedMS: r.i64()}
}

var podTable = table{name: "usage_pod", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "start_ms", bigint, "duration_ms", bigint, "owner", bigint, "facts", bigint,
	"present_ms", bigint, "unmeasured_ms", bigint, "cpu_nanos", ubigint, "memory_byte_ms", ubigint,
	"cpu_request_milli_ms", bigint, "memory_request_byte_ms", ubigint,
)}

func podRow(at home, line uint32, owner, facts int64, p *usage.PodRecord) record {
	return record{at.hour, at.batch, line, p.StartMS, p.DurationMS, owner, facts,
		p.PresentMS, p.UnmeasuredMS, p.CPUNanos, p.MemoryByteMS, p.CPURequestMilliMS, p.MemoryRequestByteMS}
}

func readPod(r *row, words *words) usage.PodRecord {
	span, holder, facts := r.span(), words.owners.get(r), words.facts.get(r)
	return usage.PodRecord{Span: span, Holder: holder, Owner: facts.owner, Labels: facts.labels, About: facts.about, PresentMS: r.i64(), UnmeasuredMS: r.i64(),
		CPUNanos: r.u64(), MemoryByteMS: r.u64(), CPURequestMilliMS: r.i64(), MemoryRequestByteMS: r.u64()}
}

var findingTable = table{name: "usage_finding", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "kind", text, "severity", text, "owner", bigint,
	"partition_key", text, "partitions_json", text, "device", text, "victims_json", text, "pid", bigint,
	"bytes", ubigint, "count", bigint, "resource", text, "detail", text, "evidence_json", text, "for_ms", bigint,
)}

func findingRow(at home, line uint32, owner int64, f *usage.FindingRecord) record {
	return record{at.hour, at.batch, line, string(f.Kind), string(f.Severity), owner,
		f.Partition, wireList(f.Partitions), string(f.Device), wireList(f.Victims), int64(f.PID),
		optional(f.Bytes), f.Count, f.Resource, f.Detail, wireList(f.Evidence), f.ForMS}
}

func readFinding(r *row, words *words) usage.FindingRecord {
	return usage.FindingRecord{Finding: attribution.Finding{
		Kind: attribution.FindingKind(r.text()), Severity: attribution.Severity(r.text()), Holder: words.owners.get(r),
		Partition: r.text(), Partitions: readWire[[]string](r), Device: gpu.UUID(r.text()), Victims: readWire[[]string](r),
		PID: int(r.i64()), Bytes: r.optU64(), Count: r.i64(), Resource: r.text(), Detail: r.text(), Evidence: readWire[[]string](r),
	}, ForMS: r.i64()}
}

// words are what rows name by number.
type words struct {
	places       numbered[*usage.PartitionRecord]
	owners       numbered[workload.Holder]
	entitlements numbered[attribution.Grant]
	facts        numbered[podFacts]
}
