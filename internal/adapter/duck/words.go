// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// What is the same minute after minute is written once per hour under a number.

var placeTable = table{name: "usage_place", columns: columnsOf(
	"hour", integer, "id", bigint, "device", text, "instance", uinteger, "since_ms", bigint, "names_json", text,
	"slot", text, "model", text, "profile", text, "placement_start", uinteger, "placement_size", uinteger,
	"slices", uinteger, "device_slices", uinteger, "stranded_slices", uinteger, "mig_parent", boolean,
	"mode", text, "replicas", bigint, "capacity_bytes", ubigint, "estimated_capacity_bytes", ubigint,
)}

// placeRow is how a partition looks. The record's other fields are not read.
func placeRow(hour int32, id int64, p *usage.PartitionRecord) record {
	return record{hour, id, string(p.Partition.Device), p.Partition.Instance, p.Partition.SinceMS, wireList(p.Names),
		p.Slot, p.Model, p.Profile, p.Placement.Start, p.Placement.Size,
		p.Slices, p.DeviceSlices, p.StrandedSlices, p.MIGParent,
		string(p.Mode), optional(p.Replicas), optional(p.CapacityBytes), optional(p.EstimatedCapacityBytes)}
}

func readPlace(r *row) (id int64, p usage.PartitionRecord) {
	_, id = r.i32(), r.i64()
	p = usage.PartitionRecord{
		Partition: gpu.PartitionID{Device: gpu.UUID(r.text()), Instance: r.u32(), SinceMS: r.i64()},
		Names:     readWire[[]gpu.UUID](r), Slot: r.text(), Model: r.text(), Profile: r.text(),
		Placement: gpu.Placement{Start: r.u32(), Size: r.u32()},
		Slices:    r.u32(), DeviceSlices: r.u32(), StrandedSlices: r.u32(), MIGParent: r.boolean(),
		Mode: gpu.Mode(r.text()), Replicas: r.optI64(), CapacityBytes: r.optU64(), EstimatedCapacityBytes: r.optU64(),
	}
	return id, p
}

var ownerTable = table{name: "usage_owner", columns: columnsOf(
	"hour", integer, "id", bigint, "kind", text, "pod_uid", text, "namespace", text, "pod", text, "container", text, "unit", text,
)}

func ownerRow(hour int32, id int64, h workload.Holder) record {
	return record{hour, id, string(h.Kind), h.PodUID, h.Namespace, h.Pod, h.Container, h.Unit}
}

func readOwner(r *row) (id int64, h workload.Holder) {
	_, id = r.i32(), r.i64()
	h = workload.Holder{Kind: workload.Kind(r.text()), PodUID: r.text(), Namespace: r.text(), Pod: r.text(), Container: r.text(), Unit: r.text()}
	return id, h
}

var entitlementTable = table{name: "usage_entitlement", columns: columnsOf(
	"hour", integer, "id", bigint, "owner", bigint, "containers_json", text, "source", text, "resource", text,
	"device_ids_json", text, "claim", text, "mode", text, "replicas", bigint, "reserved_num", ubigint, "reserved_den", ubigint,
	"reserved_bytes", ubigint, "limit_bytes", ubigint, "admin", boolean,
)}

func entitlementRow(hour int32, id, owner int64, g *attribution.Grant) record {
	return record{hour, id, owner, wireList(g.Containers), g.Source, g.Resource,
		wireList(g.DeviceIDs), g.Claim, string(g.Mode), g.Replicas, g.Reserved.Num, g.Reserved.Den,
		optional(g.ReservedBytes), optional(g.LimitBytes), g.Admin}
}

func readEntitlement(r *row, owners *numbered[workload.Holder]) (id int64, g attribution.Grant) {
	_, id = r.i32(), r.i64()
	g = attribution.Grant{Holder: owners.get(r), Containers: readWire[[]string](r), Source: r.text(), Resource: r.text(),
		DeviceIDs: readWire[[]string](r), Claim: r.text(), Mode: gpu.Mode(r.text()), Replicas: r.i64(),
		Reserved: gpu.Ratio{Num: r.u64(), Den: r.u64()}, ReservedBytes: r.optU64(), LimitBytes: r.optU64(), Admin: r.boolean()}
	return id, g
}

var factsTable = table{name: "usage_facts", columns: columnsOf(
	"hour", integer, "id", bigint, "owner_kind", text, "owner_name", text, "owner_uid", text, "labels_json", text, "about_json", text,
)}

// podFacts are what a pod belongs to, and what its object says beside.
type podFacts struct {
	owner  workload.Owner
	labels map[string]string
	about  attribution.PodAbout
}

func factsRow(hour int32, id int64, p *usage.PodRecord) record {
	return record{hour, id, p.Owner.Kind, p.Owner.Name, p.Owner.UID, wireMap(p.Labels), wire(p.About, p.About == (attribution.PodAbout{}))}
}

func readFacts(r *row) (id int64, f podFacts) {
	_, id = r.i32(), r.i64()
	f = podFacts{owner: workload.Owner{Kind: r.text(), Name: r.text(), UID: r.text()}, labels: readWire[map[string]string](r), about: readWire[attribution.PodAbout](r)}
	return id, f
}
