// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// setModes decides how each partition is shared and turns drafts into grants
// with their reserved shares.
func (w *work) setModes() {
	w.countReplicas()
	for pid, o := range w.owners {
		if w.s.Processes[pid].Env["CUDA_MPS_PIPE_DIRECTORY"] != "" {
			w.pipes[o.holder.PodKey()] = true
		}
	}
	for _, p := range w.inv.parts {
		p.GrantsKnown = w.s.Grants.Readable || w.s.Standalone
		if p.MIGParent {
			continue
		}
		drafts := w.grants.sorted(p)
		p.Replicas = w.replicas(p)
		sharing, evidence := w.sharing(p, drafts)
		p.Mode, p.ModeEvidence = partitionMode(p, drafts, sharing, evidence)
		for _, d := range drafts {
			w.reserve(p, d, sharing)
			p.Grants = append(p.Grants, d.Grant)
		}
		w.findDoubleOwner(p)
	}
	w.findClaimless()
}

// replicas is N: how many ids of the partition the kubelet offers, else the
// node's label, else unknown.
func (w *work) replicas(p *part) *int64 {
	if n := w.replicaIDs[p]; n > 0 {
		return &n
	}
	if w.s.Objects.Node != nil {
		if n, ok := w.s.Objects.Node.ReplicasOf(resourceOf(p, *w.s.Objects.Node)); ok {
			return &n
		}
	}
	return nil
}

// resourceOf is the resource that NVIDIA's plugin offers the partition as: a
// MIG profile has its own under the mixed strategy, and its own label then.
func resourceOf(p *part, node workload.Node) string {
	if p.inst != nil && offersMIG(node) {
		return "nvidia.com/mig-" + resourceProfile(p.Profile)
	}
	return workload.ResourceGPU
}

// countReplicas counts the "::n" ids that the kubelet offers of each partition.
func (w *work) countReplicas() {
	w.replicaIDs = map[*part]int64{}
	for _, rd := range w.s.Grants.Allocatable {
		if !workload.IsGPUResource(rd.Resource, w.policy.ExtraResources...) {
			continue
		}
		for _, id := range rd.IDs {
			parsed := workload.ParseDeviceID(id)
			if t := w.inv.resolve(parsed); parsed.Shared && parsed.Form != workload.FormHAMiSlot && len(t) == 1 {
				w.replicaIDs[t[0].part]++
			}
		}
	}
}

// sharing tells time-slicing from MPS by evidence: an MPS process on the
// device, the node's label, the pods' environment; else "shared". Empty where
// nothing shows that the device is offered more than once.
func (w *work) sharing(p *part, drafts []*draft) (gpu.Mode, string) {
	shared := p.Replicas != nil && *p.Replicas > 1
	for _, d := range drafts {
		shared = shared || d.shared
	}
	if !shared {
		return "", ""
	}
	if w.hasMPSProcess(p) {
		return gpu.ModeMPS, "an MPS process is on the device"
	}
	if n := w.s.Objects.Node; n != nil {
		switch n.SharingStrategy() {
		case "mps":
			return gpu.ModeMPS, "the node's label names mps"
		case "time-slicing":
			return gpu.ModeTimeSlicing, "the node's label names time-slicing"
		}
	}
	for _, d := range drafts {
		if w.hasMPSPipe(d.Holder) {
			return gpu.ModeMPS, "a pod's environment has CUDA_MPS_PIPE_DIRECTORY"
		}
	}
	return gpu.ModeShared, "replicas, with no evidence of time-slicing or MPS"
}

func (w *work) hasMPSProcess(p *part) bool {
	for _, h := range p.held {
		if h.Kind == sample.KindMPS || w.owners[h.PID].isMPSServer() {
			return true
		}
	}
	return false
}

func (w *work) hasMPSPipe(holder workload.Holder) bool {
	if w.pipes[holder.PodKey()] {
		return true
	}
	pod, ok := w.pods.ByUID(holder.PodUID)
	if !ok {
		return false
	}
	for _, c := range pod.Containers {
		if c.Env["CUDA_MPS_PIPE_DIRECTORY"] != "" {
			return true
		}
	}
	return false
}

// partitionMode is the mode of the partition as a whole.
func partitionMode(p *part, drafts []*draft, sharing gpu.Mode, evidence string) (gpu.Mode, string) {
	mode, why := gpu.ModeNone, ""
	if p.inst != nil {
		mode, why = gpu.ModeMIG, "a MIG instance"
	}
	for _, d := range drafts {
		switch {
		case d.Admin:
		case d.carried:
			mode, why = d.Mode, "as before the kubelet's list became unreadable"
		case d.isPart && !d.whole:
			return gpu.ModeFraction, "granted in parts by " + d.Source
		case d.sharers > 1 && !d.shared:
			return gpu.ModeSharedClaim, "claim " + d.Claim + " is reserved for several pods"
		case !d.shared && p.inst == nil:
			mode, why = gpu.ModeExclusive, "granted whole to one pod"
		}
	}
	if sharing != "" && mode != gpu.ModeExclusive {
		return sharing, evidence
	}
	return mode, why
}

// reserve sets the grant's mode and r, the share of the partition that it
// keeps from everyone else (accounting.md §4.2).
func (w *work) reserve(p *part, d *draft, sharing gpu.Mode) {
	if !d.carried {
		d.Mode, d.Reserved = w.reservedShare(p, d, sharing)
	}
	d.LimitBytes, d.ReservedBytes = nil, nil
	capacity := capacityOf(p)
	if capacity == nil {
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
	case d.isPart && !d.whole:
		return gpu.ModeFraction, d.part(p)
	case d.shared && sharing == gpu.ModeMPS:
		return gpu.ModeMPS, w.mpsShare(p, d)
	case d.shared:
		return sharing, gpu.Ratio{}
	case d.sharers > 1:
		return gpu.ModeSharedClaim, gpu.One
	case p.inst != nil:
		return gpu.ModeMIG, d.share
	}
	return gpu.ModeExclusive, gpu.One
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
// sets for MPS clients. N unknown: no share, and a finding.
func (w *work) mpsShare(p *part, d *draft) gpu.Ratio {
	if p.Replicas == nil || *p.Replicas < 1 {
		w.find(Finding{
			Kind: ReplicasUnknown, Severity: Warning, Partition: p.ID.String(), Device: p.ID.Device,
			Detail: "the device is shared through MPS and the number of replicas is not known, so no memory is counted as reserved; let the agent read GetAllocatableResources or label the node nvidia.com/gpu.replicas",
		})
		return gpu.Ratio{}
	}
	n := uint64(*p.Replicas)
	return gpu.Ratio{Num: min(uint64(d.Replicas), n), Den: n}
}

func capacityOf(p *part) *uint64 {
	if p.mem == nil {
		return nil
	}
	return &p.mem.Total
}

// findDoubleOwner reports partitions that were handed out twice: whole to one
// owner, and whole or in part to another.
func (w *work) findDoubleOwner(p *part) {
	owners := map[string]bool{}
	var names []string
	wholes, given := 0, 0 // owners of all of it, and those whom a scheduler gave that
	for _, g := range p.Grants {
		key := ownerOf(g)
		if g.Reserved.IsZero() || g.Admin || owners[key] {
			continue
		}
		owners[key] = true
		names = append(names, g.Holder.Account())
		if g.Reserved.Num >= g.Reserved.Den {
			wholes++
			if g.Mode != gpu.ModeFraction {
				given++
			}
		}
	}
	// Fractions may be oversubscribed by decision (HAMi's memory scaling).
	if wholes > 1 || given > 0 && len(owners) > 1 {
		detail := "several owners were granted this partition whole at the same time"
		if wholes == 1 {
			detail = "one owner was granted this partition whole and others a part of it at the same time"
		}
		w.find(Finding{
			Kind: DoubleOwner, Severity: Critical, Partition: p.ID.String(), Device: p.ID.Device, Victims: names,
			Detail: detail,
		})
	}
}

// ownerOf is who keeps the grant's reserved share: the pods of a shared claim
// keep one together.
func ownerOf(g Grant) string {
	if g.Mode == gpu.ModeSharedClaim {
		return "claim " + g.Claim
	}
	return g.Holder.PodKey()
}
