// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/workload"
)

// podResults lists the pods whose CPU and memory were read, and those that hold
// GPU memory or a grant all the same: whom a pod belongs to does not depend on
// whether its cgroup could be read.
func (w *work) podResults() []PodResult {
	var out []PodResult
	listed := map[string]bool{}
	for _, u := range w.s.Usage {
		pr := w.podResult(u.PodUID)
		pr.CPUNanos, pr.MemoryBytes = &u.CPUNanos, &u.MemoryBytes
		listed[pr.Holder.PodUID] = true
		out = append(out, pr)
	}
	unread := func(h workload.Holder) {
		if h.PodUID == "" || listed[h.PodUID] {
			return // by a name alone nothing can be joined to it
		}
		if pr := w.podResult(h.PodUID); !listed[pr.Holder.PodUID] {
			listed[pr.Holder.PodUID] = true
			out = append(out, pr)
		}
	}
	for _, p := range w.inv.parts {
		for i := range p.Holdings {
			unread(p.Holdings[i].Holder)
		}
		for i := range p.Grants {
			unread(p.Grants[i].Holder)
		}
	}
	slices.SortFunc(out, func(a, b PodResult) int { return a.Holder.Compare(b.Holder) })
	return out
}

// podResult is what the pod's object says of it, without readings.
func (w *work) podResult(uid string) PodResult {
	pod, ok := w.pods.ByUID(uid)
	if !ok {
		return PodResult{Holder: workload.Holder{Kind: workload.KindPod, PodUID: uid}}
	}
	pr := PodResult{Holder: podHolder(pod), Owner: pod.Workload(), Labels: w.policy.costLabels(pod), About: aboutPod(pod)}
	for _, c := range pod.Containers {
		if c.Kind != workload.ContainerInit && c.Kind != workload.ContainerEphemeral {
			pr.CPUMilli += c.CPUMilli
			pr.MemoryReq += c.MemoryBytes
		}
	}
	return pr
}

func podHolder(p workload.Pod) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: p.UID, Namespace: p.Namespace, Pod: p.Name}
}
