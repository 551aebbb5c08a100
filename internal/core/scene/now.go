// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// FleetNode is a node by its newest record.
type FleetNode struct {
	Cluster    string         `json:"cluster,omitempty"`
	Node       string         `json:"node"`
	At         time.Time      `json:"at" doc:"The end of the newest record: everything here is of the window that ended then."`
	DurationMS int64          `json:"duration_ms" doc:"How long that window is. Sizes are means over it, or over its last piece."`
	Instance   string         `json:"instance_type,omitempty"`
	Pool       string         `json:"pool,omitempty" doc:"The node pool, by the first of the labels that name one; left out: no label does, or none is known."`
	Cordoned   bool           `json:"cordoned,omitempty" doc:"true: the scheduler could not hand the node out at the end of the window."`
	Gap        string         `json:"gap,omitempty" doc:"Why nothing was recorded, where the newest record only says that."`
	GPUs       []FleetGPU     `json:"gpus"`
	Findings   []FleetFinding `json:"findings,omitempty"`
	// Revision is set by whoever keeps nodes: larger is newer.
	Revision uint64 `json:"revision"`
}

// FleetGPU is one device.
type FleetGPU struct {
	UUID       gpu.UUID         `json:"uuid"`
	Slot       string           `json:"slot,omitempty" doc:"Its PCI address."`
	Model      string           `json:"model,omitempty"`
	Slices     uint32           `json:"slices,omitempty" doc:"Memory slices of the device, in MIG mode."`
	Stranded   uint32           `json:"stranded_slices,omitempty" doc:"Of these, how many no further instance could cover."`
	Signals    *FleetSignals    `json:"signals,omitempty"`
	Partitions []FleetPartition `json:"partitions" doc:"The whole device, or its MIG instances in the order of their places."`
}

// FleetSignals are how hard the device worked, by the whole of it.
type FleetSignals struct {
	Busy    *float64  `json:"busy,omitempty" doc:"Share of the time in which some kernel ran, 0 to 1."`
	SM      *float64  `json:"sm,omitempty"`
	Tensor  *float64  `json:"tensor,omitempty"`
	DRAM    *float64  `json:"dram,omitempty"`
	PowerMW *uint64   `json:"power_mw,omitempty"`
	LimitMW *uint64   `json:"power_limit_mw,omitempty"`
	Grade   gpu.Grade `json:"grade" enum:"measured,derived,estimated,indivisible,skewed,unmeasured" doc:"indivisible: several holders share the device, so it is no single pod's."`
}

// FleetPartition is what can be granted: a device, or a MIG instance of it.
// reserve + Σ holders + unattributed + free = capacity, in whole bytes.
type FleetPartition struct {
	Key          string        `json:"key,omitempty" doc:"Its name, where it is a MIG instance."`
	Profile      string        `json:"profile,omitempty"`
	Start        uint32        `json:"start,omitempty" doc:"The first memory slice of a MIG instance."`
	Size         uint32        `json:"size,omitempty" doc:"How many memory slices it has."`
	Mode         gpu.Mode      `json:"mode" doc:"How it is shared."`
	Parent       bool          `json:"mig_parent,omitempty" doc:"true: a device in MIG mode as a whole."`
	State        string        `json:"state" enum:"measured,unmeasured,unavailable"`
	Reason       string        `json:"reason,omitempty"`
	Capacity     *uint64       `json:"capacity_bytes,omitempty"`
	Reserve      *uint64       `json:"reserve_bytes,omitempty"`
	Unattributed *uint64       `json:"unattributed_bytes,omitempty"`
	Free         *uint64       `json:"free_bytes,omitempty"`
	Grade        gpu.Grade     `json:"grade" enum:"measured,derived,estimated,indivisible,skewed,unmeasured"`
	Holders      []FleetHolder `json:"holders,omitempty"`
}

// FleetHolder is a pod, a daemon or a host process on a partition: what it holds,
// what it was given, or both.
type FleetHolder struct {
	Kind      workload.Kind `json:"kind" enum:"pod,daemon,host,unknown"`
	Namespace string        `json:"namespace,omitempty"`
	Pod       string        `json:"pod,omitempty"`
	PodUID    string        `json:"pod_uid,omitempty"`
	Container string        `json:"container,omitempty"`
	Unit      string        `json:"unit,omitempty"`
	Workload  string        `json:"workload,omitempty" doc:"KIND/NAME of the owner."`
	Bytes     *uint64       `json:"bytes,omitempty" doc:"Left out: it holds nothing, or its size is not known (see grade)."`
	Grade     gpu.Grade     `json:"grade,omitempty" enum:"measured,derived,estimated,indivisible,skewed,unmeasured" doc:"Left out: it holds nothing."`
	Granted   bool          `json:"granted,omitempty"`
	Reserved  *uint64       `json:"reserved_bytes,omitempty" doc:"What its grant keeps from everyone else; left out: nothing, or not known."`
	Leak      bool          `json:"leak,omitempty" doc:"true: it has no grant here."`
}

// FleetFinding is a finding of the window.
type FleetFinding struct {
	Kind      attribution.FindingKind `json:"kind"`
	Severity  attribution.Severity    `json:"severity" enum:"info,warning,critical"`
	Account   string                  `json:"account,omitempty" doc:"Of whom it is: NAMESPACE/POD, or the name of a platform account."`
	Device    gpu.UUID                `json:"device,omitempty"`
	Partition string                  `json:"partition,omitempty"`
	Victims   []string                `json:"victims,omitempty"`
	Bytes     *uint64                 `json:"bytes,omitempty"`
	Detail    string                  `json:"detail"`
	Evidence  []string                `json:"evidence,omitempty"`
	Said      FindingSaid             `json:"said"`
}

// FindingSaid is what a finding says, for other languages.
type FindingSaid struct {
	Detail   FindingFact   `json:"detail" doc:"What the detail says."`
	Evidence []FindingFact `json:"evidence,omitempty" doc:"What each piece of the evidence says, in its order."`
}

// FindingFact is one sentence.
type FindingFact struct {
	Code   string            `json:"code,omitempty" doc:"Which sentence it is. Left out: it is none of them, such as the words of NVML; take the text."`
	Values map[string]string `json:"values,omitempty" doc:"What stands in its gaps."`
}

// Now is a node as a batch shows it.
func Now(b *usage.Batch) FleetNode {
	out := FleetNode{
		Cluster: b.Cluster, Node: b.Node, At: time.UnixMilli(b.StartMS + b.DurationMS).UTC(), DurationMS: b.DurationMS, GPUs: []FleetGPU{},
	}
	out.Shaped(b.Shape)
	if n := len(b.Unschedulable); n > 0 {
		last := b.Unschedulable[n-1]
		out.Cordoned = last.StartMS+last.DurationMS >= b.StartMS+b.DurationMS
	}
	if b.Gap != nil && len(b.Partitions) == 0 {
		out.Gap = b.Gap.Reason
	}
	owners := ownersOf(b.Pods)
	for _, p := range lastPieces(b.Partitions) {
		at := deviceOf(&out, p)
		g := &out.GPUs[at]
		if p.MIGParent {
			g.Slices, g.Stranded = p.DeviceSlices, p.StrandedSlices
		}
		part := partitionNow(b, p, owners)
		if s := signalsOf(p, len(part.Holders)); s != nil && (g.Signals == nil || p.MIGParent || !p.Partition.IsInstance()) {
			g.Signals = s
		}
		g.Partitions = append(g.Partitions, part)
	}
	for i := range b.Findings {
		out.Findings = append(out.Findings, findingOf(&b.Findings[i].Finding))
	}
	return out
}

// lastPieces are the pieces in which partitions stood at the end of the window: a
// MIG instance that went before has none.
func lastPieces(pieces []usage.PartitionRecord) (out []*usage.PartitionRecord) {
	newest := map[gpu.PartitionID]*usage.PartitionRecord{}
	end := map[gpu.UUID]int64{}
	for i := range pieces {
		p := &pieces[i]
		if have := newest[p.Partition]; have == nil || p.StartMS > have.StartMS {
			newest[p.Partition] = p
		}
		end[p.Partition.Device] = max(end[p.Partition.Device], p.StartMS+p.DurationMS)
	}
	for id, p := range newest {
		if p.StartMS+p.DurationMS >= end[id.Device] {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *usage.PartitionRecord) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Partition.Device, b.Partition.Device),
			cmp.Compare(a.Placement.Start, b.Placement.Start), a.Partition.Compare(b.Partition))
	})
	return out
}

func deviceOf(n *FleetNode, p *usage.PartitionRecord) int {
	if last := len(n.GPUs) - 1; last >= 0 && n.GPUs[last].UUID == p.Partition.Device {
		return last
	}
	n.GPUs = append(n.GPUs, FleetGPU{UUID: p.Partition.Device, Slot: p.Slot, Model: p.Model})
	return len(n.GPUs) - 1
}

func signalsOf(p *usage.PartitionRecord, holders int) *FleetSignals {
	s := &p.Signals
	if s.KnownMS == 0 && p.PowerMW == nil {
		return nil
	}
	out := &FleetSignals{Busy: s.Busy, SM: s.SMActive, Tensor: s.TensorActive, DRAM: s.DRAMActive, PowerMW: p.PowerMW, LimitMW: p.PowerLimitMW, Grade: gpu.Measured}
	if holders > 1 {
		out.Grade = gpu.Indivisible
	}
	return out
}

func partitionNow(b *usage.Batch, p *usage.PartitionRecord, owners map[string]string) FleetPartition {
	out := FleetPartition{Profile: p.Profile, Start: p.Placement.Start, Size: p.Placement.Size, Mode: p.Mode, Parent: p.MIGParent, Grade: p.Grade, State: "measured", Capacity: p.CapacityBytes}
	if p.Partition.IsInstance() {
		out.Key = p.Partition.String()
	}
	if len(p.Reasons) > 0 {
		out.Reason = p.Reasons[len(p.Reasons)-1]
	}
	switch {
	case p.UnavailableMS > 0 && p.UnavailableMS >= p.MeasuredMS:
		out.State = "unavailable"
	case p.MeasuredMS == 0:
		out.State = "unmeasured"
	}
	out.Holders = holdersNow(b, p, owners)
	if read := p.MeasuredMS - p.NoMemoryMS; read > 0 && p.CapacityBytes != nil {
		balance(&out, p, uint64(read))
	}
	return out
}

// balance sets the sizes that a partition's are made of. Each is a mean, rounded
// down; what rounding leaves is free, so that the parts still come to the whole.
func balance(out *FleetPartition, p *usage.PartitionRecord, readMS uint64) {
	reserve, unattributed := p.ReservedByteMS/readMS, p.UnattributedByteMS/readMS
	rest := *p.CapacityBytes
	for _, part := range []uint64{reserve, unattributed} {
		rest -= min(rest, part)
	}
	for i := range out.Holders {
		if v := out.Holders[i].Bytes; v != nil {
			rest -= min(rest, *v)
		}
	}
	out.Reserve, out.Unattributed, out.Free = &reserve, &unattributed, &rest
}
