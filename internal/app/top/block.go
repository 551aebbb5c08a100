// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// Part is one partition: a whole GPU, or one MIG instance of it.
type Part struct {
	attribution.Partition
	Rows []Row
	// Sum is that of the rows; Balanced says that it is the capacity.
	Sum      uint64
	Balanced bool
}

// Block is one GPU with its parts: what a reader sees as one thing.
type Block struct {
	Node string
	// Device is the partition of the whole GPU.
	Device   attribution.Partition
	Parts    []Part
	Findings int
	// Standalone: nothing is granted on this host, so no mode is known.
	Standalone bool
	// Capacity and Used are those of the parts together, nil if unknown.
	Capacity, Used *uint64
}

// blocks are the GPUs of a result, in its order.
func blocks(r *attribution.Result) []Block {
	var out []Block
	for _, p := range r.Partitions {
		if len(out) == 0 || out[len(out)-1].Device.ID.Device != p.ID.Device {
			out = append(out, Block{Node: r.Node, Device: p, Standalone: r.Standalone})
		}
		b := &out[len(out)-1]
		if p.MIGParent {
			continue
		}
		b.Parts = append(b.Parts, newPart(p, r))
	}
	for i := range out {
		slices.SortStableFunc(out[i].Parts, func(a, b Part) int {
			return cmp.Compare(a.Placement.Start, b.Placement.Start)
		})
		out[i].sum()
		for _, f := range r.Findings {
			if aboutDevice(f, out[i]) {
				out[i].Findings++
			}
		}
	}
	return out
}

func newPart(p attribution.Partition, r *attribution.Result) Part {
	part := Part{Partition: p, Rows: rows(p, r)}
	setKeep(part.Rows, p)
	for _, row := range part.Rows {
		if row.Bytes != nil {
			part.Sum += *row.Bytes
		}
	}
	part.Balanced = p.Capacity != nil && part.Sum == *p.Capacity
	return part
}

// clone copies what sorting and marking change.
func (b Block) clone() Block {
	b.Parts = slices.Clone(b.Parts)
	for i := range b.Parts {
		b.Parts[i].Rows = slices.Clone(b.Parts[i].Rows)
	}
	return b
}

// sum adds the parts up; one unknown makes the sum unknown.
func (b *Block) sum() {
	var capacity, used uint64
	known := len(b.Parts) > 0
	for _, p := range b.Parts {
		if p.Capacity == nil || p.Used == nil {
			known = false
			continue
		}
		capacity += *p.Capacity
		used += *p.Used
	}
	if known {
		b.Capacity, b.Used = &capacity, &used
	}
}

func aboutDevice(f attribution.Finding, b Block) bool {
	if f.Device != "" {
		return f.Device == b.Device.ID.Device
	}
	if concerns(f, b.Device) {
		return true
	}
	for _, p := range b.Parts {
		if concerns(f, p.Partition) {
			return true
		}
	}
	return false
}

// estimated reports whether a holder's figure is not exact enough to be drawn
// solid. Derived figures are exact.
func (r Row) estimated() bool {
	return r.Grade != gpu.Measured && r.Grade != gpu.Derived && r.Grade != ""
}
