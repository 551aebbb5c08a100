// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// setModes decides how each partition is shared and turns drafts into grants
// with their reserved shares.
func (w *work) setModes() {
	w.countReplicas()
	for _, p := range w.inv.parts {
		p.GrantsKnown = w.grantsKnown()
		if p.MIGParent {
			continue
		}
		drafts := w.grants.sorted(p)
		p.Replicas = w.replicas(p)
		sharing, evidence := w.sharing(p, drafts)
		p.Mode, p.ModeEvidence = partitionMode(p, drafts, sharing, evidence)
		p.Grants = slices.Grow(p.Grants, len(drafts))
		for _, d := range drafts {
			w.reserve(p, d, sharing)
			p.Grants = append(p.Grants, d.Grant)
		}
		if w.certain(drafts) {
			w.findDoubleOwner(p)
		}
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
		return "nvidia.com/mig-" + onlyProfile(p)
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

// exclusiveProcess is NVML's compute mode in which a device serves one process
// at a time, as the device plugin's MPS daemon sets it (mps/daemon.go).
const exclusiveProcess = "exclusive_process"

// sharing tells time-slicing from MPS by evidence that no tenant makes alone:
// an MPS server of the platform on the device, the node's label, a compute mode
// that lets nobody share but through a server, NVML's list of clients; else
// "shared". What a pod's environment says is the pod's word, and the grants of
// others do not hang on it. Empty where nothing shows that the device is
// offered more than once.
func (w *work) sharing(p *part, drafts []*draft) (gpu.Mode, string) {
	shared := p.Replicas != nil && *p.Replicas > 1
	for _, d := range drafts {
		shared = shared || d.shared
	}
	if !shared {
		return "", ""
	}
	if w.hasMPSServer(p) {
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
	if p.dev.ComputeMode == exclusiveProcess {
		return gpu.ModeMPS, "the device's compute mode is " + exclusiveProcess
	}
	if w.hasMPSClients(p) {
		return gpu.ModeMPS, "NVML lists MPS clients on the device"
	}
	return gpu.ModeShared, "replicas, with no evidence of time-slicing or MPS"
}

func (w *work) hasMPSServer(p *part) bool {
	for _, h := range p.held {
		if w.owners[h.PID].isMPSServer() {
			return true
		}
	}
	return false
}

// hasMPSClients: NVML lists a client that is not served by its own pod. A
// tenant may run a server for itself within its turn at the device.
func (w *work) hasMPSClients(p *part) bool {
	serves := map[string]bool{}
	for _, h := range p.held {
		if o := w.owners[h.PID]; isCalled(o.comm, mpsServer) {
			serves[o.holder.PodKey()] = true
		}
	}
	for _, h := range p.held {
		if h.Kind == sample.KindMPS && !serves[w.owners[h.PID].holder.PodKey()] {
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
			mode, why = d.Mode, d.why
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
