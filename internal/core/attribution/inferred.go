// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// debt is what a pod was given and nothing says which: a scheduler's share of
// so many devices, its annotation being unreadable or leading nowhere.
type debt struct {
	source  string
	devices int64
}

// inferGrants gives a pod that is known to have more devices than the sources
// name a grant where it holds memory: on no more partitions than that, and on
// none that another pod was given whole. It is how a running pod is not called
// a leak by a kubelet that has just started and an agent that has, too, nor
// while an init container has the devices, which the kubelet never lists.
func (w *work) inferGrants() {
	if !w.s.Grants.Readable {
		return
	}
	held := w.heldWithoutGrant()
	if len(held) > 0 {
		w.countReplicas()
	}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		pod, known := w.pods.ByUID(key)
		if !known || !w.runs(pod) {
			continue
		}
		devices := w.missing(pod)
		if _, named := w.listed[pod.Key()]; !named && devices > 0 {
			w.partial = true
		}
		for _, p := range held[key] {
			switch o := w.owed[key]; {
			case devices > 0 && w.infer(p, pod):
				devices--
			case o.devices > 0 && !w.takenWhole(p):
				w.owed[key] = debt{o.source, o.devices - 1}
				d := w.grants.of(p, podHolder(pod), o.source)
				d.shared = true
			}
		}
	}
}

// heldWithoutGrant are the partitions, by pod, on which it holds memory and has
// no grant.
func (w *work) heldWithoutGrant() map[string][]*part {
	out := map[string][]*part{}
	for _, p := range w.inv.parts {
		for _, h := range p.held {
			o := w.owners[h.PID].holder
			if key := o.PodKey(); o.Kind == workload.KindPod && !p.MIGParent && !w.grants.has(p, o) && !slices.Contains(out[key], p) {
				out[key] = append(out[key], p)
			}
		}
	}
	return out
}

// missing is how many devices the kubelet gave the pod by its specification
// and neither lists nor is known to have listed: all of them, where it does not
// list the pod, else those of init containers that have not finished.
func (w *work) missing(pod workload.Pod) int64 {
	if pr, named := w.listed[pod.Key()]; named {
		return pod.AskedByInit(w.isGPU) - w.listedIDs(pr) - w.inferredFor(podHolder(pod))
	}
	return pod.Asked(w.isGPU) - w.grantedTo(podHolder(pod))
}

func (w *work) listedIDs(pr *workload.PodResources) int64 {
	var n int64
	for _, c := range pr.Containers {
		for _, rd := range c.Devices {
			if w.isGPU(rd.Resource) {
				n += int64(len(rd.IDs))
			}
		}
	}
	return n
}

// grantedTo is how many units the pod's grants are of.
func (w *work) grantedTo(pod workload.Holder) int64 {
	var n int64
	for _, byPod := range w.grants {
		if d := byPod[pod.PodKey()]; d != nil {
			n += max(d.Replicas, 1)
		}
	}
	return n
}

func (w *work) inferredFor(pod workload.Holder) int64 {
	var n int64
	for _, byPod := range w.grants {
		if d := byPod[pod.PodKey()]; d != nil && d.Source == "spec" {
			n++
		}
	}
	return n
}

// infer makes a grant on the partition, if it can be what the pod asks for.
func (w *work) infer(p *part, pod workload.Pod) bool {
	resource := w.askedHere(p, pod)
	if resource == "" || w.takenWhole(p) || w.takenInPart(p) {
		return false
	}
	d := w.grants.of(p, podHolder(pod), "spec")
	d.Resource, d.Replicas, d.share = resource, 1, p.target().share
	if p.inst != nil && len(p.inst.Compute) == 1 {
		d.share = p.compute.of(p.inst.Compute[0])
	}
	n := w.replicas(p)
	d.shared = n != nil && *n > 1
	return true
}

// askedHere is the resource by which the pod asks for partitions of this kind.
func (w *work) askedHere(p *part, pod workload.Pod) string {
	asked := map[string]bool{}
	pod.Asked(func(resource string) bool {
		asked[resource] = w.isGPU(resource)
		return false
	})
	for _, resource := range slices.Sorted(maps.Keys(asked)) {
		_, profile, mig := strings.Cut(resource, "/mig-")
		if asked[resource] && (!mig || p.inst != nil && strings.TrimSuffix(profile, ".shared") == onlyProfile(p)) {
			return resource
		}
	}
	return ""
}

// takenWhole: a pod was given all of the partition.
func (w *work) takenWhole(p *part) bool {
	for _, d := range w.grants[p] {
		whole := !d.shared && !d.isPart || d.whole
		if d.carried {
			whole = d.Reserved.Num >= d.Reserved.Den && !d.Reserved.IsZero() && d.Mode != gpu.ModeFraction
		}
		if whole && !d.Admin {
			return true
		}
	}
	return false
}

// takenInPart: a scheduler or claim gave parts of the partition, which a device
// plugin's whole devices are none of.
func (w *work) takenInPart(p *part) bool {
	for _, d := range w.grants[p] {
		if d.isPart || d.carried && d.Mode == gpu.ModeFraction {
			return true
		}
	}
	return false
}
