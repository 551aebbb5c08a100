// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/gpu"

// reserve sets the grant's mode and r, the share of the partition that it
// keeps from everyone else (accounting.md §4.2). An r that is not known is 0
// and has no bytes: nothing is kept by what nobody can tell.
func (w *work) reserve(p *part, d *draft, sharing gpu.Mode) {
	if !d.carried {
		d.Mode, d.Reserved = w.reservedShare(p, d, sharing)
	}
	d.LimitBytes, d.ReservedBytes = nil, nil
	unknown, capacity := w.shareUnknown(p, d), capacityOf(p)
	if unknown || capacity == nil {
		return
	}
	// A claim's r is its pods' together: no single pod's bytes.
	if d.Mode != gpu.ModeSharedClaim {
		b := d.Reserved.Of(*capacity)
		d.ReservedBytes = &b
	}
	if d.Mode == gpu.ModeMPS || d.Mode == gpu.ModeFraction {
		if !d.Reserved.IsZero() {
			d.LimitBytes = d.ReservedBytes
		}
	}
}

func (w *work) reservedShare(p *part, d *draft, sharing gpu.Mode) (gpu.Mode, gpu.Ratio) {
	switch {
	case d.Admin:
		return gpu.ModeNone, gpu.Ratio{}
	case d.isPart && !d.whole && d.sharers > 1:
		return gpu.ModeSharedClaim, d.part(p)
	case d.isPart && !d.whole:
		return gpu.ModeFraction, d.part(p)
	case d.shared && sharing == gpu.ModeMPS:
		return gpu.ModeMPS, mpsShare(p, d)
	case d.shared:
		return sharing, gpu.Ratio{}
	case d.sharers > 1:
		return gpu.ModeSharedClaim, d.unshared(p)
	case p.inst != nil:
		return gpu.ModeMIG, d.unshared(p)
	}
	return gpu.ModeExclusive, gpu.One
}

// unshared is the share that ids stand for which are no turns: the whole of a
// device, the compute instances' part of a MIG instance.
func (d *draft) unshared(p *part) gpu.Ratio {
	switch {
	case p.inst == nil || d.share.Num >= d.share.Den:
		return gpu.One
	case d.share.IsZero():
		return gpu.Ratio{}
	}
	return d.share
}

// part is the granted memory as a share of the capacity. Without a capacity
// a size in bytes is no share.
func (d *draft) part(p *part) gpu.Ratio {
	if d.bytes == nil {
		return d.fraction
	}
	capacity := capacityOf(p)
	if capacity == nil || *capacity == 0 {
		return gpu.Ratio{}
	}
	return gpu.Ratio{Num: min(*d.bytes, *capacity), Den: *capacity}
}

// mpsShare is replicas held / N: the memory limit that NVIDIA's device plugin
// sets for MPS clients. N unknown: no share.
func mpsShare(p *part, d *draft) gpu.Ratio {
	if deref(p.Replicas) < 1 {
		return gpu.Ratio{}
	}
	n := uint64(*p.Replicas)
	return gpu.Ratio{Num: min(uint64(d.Replicas), n), Den: n}
}

// shareUnknown reports grants that keep something and nobody knows how much:
// under MPS without a number of replicas, and of compute instances without
// their slices.
func (w *work) shareUnknown(p *part, d *draft) bool {
	f := Finding{Severity: Warning, Partition: p.ID.String(), Device: p.ID.Device}
	switch {
	case d.Admin || !d.Reserved.IsZero():
		return false
	case d.Mode == gpu.ModeMPS && deref(p.Replicas) < 1:
		f.Kind = ReplicasUnknown
		f.Detail = "the device is shared through MPS and the number of replicas is not known, so no memory is counted as reserved; let the agent read GetAllocatableResources or label the node nvidia.com/gpu.replicas"
	case p.inst == nil || d.Mode != gpu.ModeMIG && d.Mode != gpu.ModeSharedClaim:
		return false
	case p.compute.known():
		return true // of an instance whose parts are known, which one is not
	default:
		f.Kind = ComputeSlicesUnknown
		f.Detail = "several compute instances share this MIG instance and how many compute slices each has is not known, so no memory is counted as reserved; a driver that answers nvmlDeviceGetAttributes tells"
	}
	w.find(f)
	return true
}

func capacityOf(p *part) *uint64 {
	if p.mem == nil {
		return nil
	}
	return &p.mem.Total
}
