// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/json"
	"fmt"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/workload"
)

var activityPodTable = table{name: "activity_pod", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "device", text, "instance", uinteger, "since_ms", bigint,
	"model", text, "profile", text, "mode", text, "slices", uinteger, "device_slices", uinteger, "placement_start", uinteger, "placement_size", uinteger,
	"capacity_bytes", ubigint, "reserve_bytes", ubigint,
	"namespace", text, "owner_kind", text, "owner_name", text, "owner_uid", text, "pod_name", text, "pod_uid", text,
	"duration_ms", bigint, "measured_ms", bigint, "skewed_ms", bigint, "granted_ms", bigint, "holders", bigint,
	"peak_bytes", ubigint, "leak_bytes", ubigint, "byte_ms", ubigint, "known_ms", bigint, "grade", text, "class", text, "verdict_json", text,
	"active", text, "sm", text, "dram", text, "tensor", text, "held", text, "cpu", text,
	"cpu_request_milli", bigint, "memory_request_bytes", ubigint, "memory_bytes", ubigint, "about_json", text,
	"minutes_seen", ubigint, "minutes_told", ubigint, "minutes_quiet", ubigint, "minutes_asked", ubigint, "engine_json", text,
)}

// spreads are those of an hour, in the order of their columns.
func spreads(h *activity.Hour) [6]*signal.Spread {
	return [...]*signal.Spread{&h.Active, &h.SM, &h.DRAM, &h.Tensor, &h.Held, &h.CPU}
}

// verdict is what a class rests on, beside the class itself.
type verdict struct {
	Rule     signal.Rule    `json:"rule"`
	Rules    string         `json:"rules"`
	Reason   signal.Reason  `json:"reason,omitempty"`
	Missing  []string       `json:"missing,omitempty"`
	Inputs   []signal.Input `json:"inputs,omitempty"`
	WaitsFor bool           `json:"waits_for_input,omitempty"`
}

func appendHour(b *bulk, hour int32, due *activity.Due, h *activity.Hour) error {
	b.i32(hour)
	b.text(due.Cluster)
	b.text(due.Node)
	appendPartition(b, h)
	for _, v := range []string{h.Holder.Namespace, h.Owner.Kind, h.Owner.Name, h.Owner.UID, h.Holder.Pod, h.Holder.PodUID} {
		b.text(v)
	}
	for _, v := range []int64{h.DurationMS, h.MeasuredMS, h.SkewedMS, h.GrantedMS, int64(h.Holders)} {
		b.i64(v)
	}
	bulkOptional(b, h.PeakBytes)
	b.u64(h.LeakBytes)
	b.u64(h.ByteMS)
	b.i64(h.KnownMS)
	b.text(string(h.Grade))
	b.text(string(h.Verdict.Class))
	v := &h.Verdict
	said, err := json.Marshal(verdict{v.Rule, v.RulesVersion, v.Reason, v.Missing, v.Inputs, v.WaitsForInput})
	if err != nil {
		return err
	}
	b.text(string(said))
	for _, s := range spreads(h) {
		text, err := s.MarshalText()
		if err != nil {
			return err
		}
		b.text(string(text))
	}
	return appendHost(b, h)
}

func appendPartition(b *bulk, h *activity.Hour) {
	b.text(string(h.Partition.Device))
	b.u32(h.Partition.Instance)
	b.i64(h.Partition.SinceMS)
	b.text(h.Model)
	b.text(h.Profile)
	b.text(string(h.Mode))
	for _, v := range []uint32{h.Slices, h.DeviceSlices, h.Placement.Start, h.Placement.Size} {
		b.u32(v)
	}
	bulkOptional(b, h.CapacityBytes)
	b.u64(h.ReserveBytes)
}

// appendHost adds what is not of the GPU, and ends the row.
func appendHost(b *bulk, h *activity.Hour) error {
	b.i64(h.CPURequestMilli)
	b.u64(h.MemoryRequestBytes)
	bulkOptional(b, h.MemoryBytes)
	if err := optJSON(b, &h.About, h.About != (attribution.PodAbout{})); err != nil {
		return err
	}
	for _, v := range []uint64{h.Minutes.Seen, h.Minutes.Told, h.Minutes.Quiet, h.Minutes.Asked} {
		b.u64(v)
	}
	if err := optJSON(b, h.Engine, h.Engine != nil); err != nil {
		return err
	}
	return b.end()
}

func optJSON[T any](b *bulk, v *T, there bool) error {
	if !there {
		b.null()
		return nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		b.text(string(data))
	}
	return err
}

func readHour(r *row) (*activity.Hour, error) {
	h := &activity.Hour{HourMS: int64(r.i32()) * hourMS, Cluster: r.text(), Node: r.text(),
		Partition: gpu.PartitionID{Device: gpu.UUID(r.text()), Instance: r.u32(), SinceMS: r.i64()}, Model: r.text(), Profile: r.text(), Mode: gpu.Mode(r.text()),
		Slices: r.u32(), DeviceSlices: r.u32(), Placement: gpu.Placement{Start: r.u32(), Size: r.u32()}, CapacityBytes: r.optU64(), ReserveBytes: r.u64()}
	h.Holder = workload.Holder{Kind: workload.KindPod, Namespace: r.text()}
	h.Owner = workload.Owner{Kind: r.text(), Name: r.text(), UID: r.text()}
	h.Holder.Pod, h.Holder.PodUID = r.text(), r.text()
	h.DurationMS, h.MeasuredMS, h.SkewedMS, h.GrantedMS, h.Holders = r.i64(), r.i64(), r.i64(), r.i64(), int(r.i64())
	h.PeakBytes, h.LeakBytes, h.ByteMS, h.KnownMS, h.Grade = r.optU64(), r.u64(), r.u64(), r.i64(), gpu.Grade(r.text())
	class := signal.Class(r.text())
	v := readWire[verdict](r)
	h.Verdict = signal.Verdict{Class: class, Rule: v.Rule, RulesVersion: v.Rules, Reason: v.Reason, Missing: v.Missing, Inputs: v.Inputs, WaitsForInput: v.WaitsFor}
	for _, s := range spreads(h) {
		if err := s.UnmarshalText(r.bytes()); err != nil {
			return nil, err
		}
	}
	h.CPURequestMilli, h.MemoryRequestBytes, h.MemoryBytes, h.About = r.i64(), r.u64(), r.optU64(), readWire[attribution.PodAbout](r)
	h.Minutes = activity.Minutes{Seen: r.u64(), Told: r.u64(), Quiet: r.u64(), Asked: r.u64()}
	if !r.null() {
		h.Engine = new(demand.Evidence)
		if err := json.Unmarshal(r.bytes(), h.Engine); err != nil {
			return nil, fmt.Errorf("engine_json: %w", err)
		}
	}
	return h, nil
}
