// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"

	"github.com/gputally/gputally/internal/core/workload"
)

// What the evidence of a mode says of grants that are carried on.
const (
	whyUnreadable = "as before, when the kubelet's list was last readable"
	whyUnnamed    = "as before: the kubelet's list does not name the pod, which runs"
)

// keepUnnamed keeps the grants of pods that the list does not name although they
// prove to run: a kubelet that has just started answers before it knows
// its pods, and a grant lasts until its pod has ended, whatever a list says
// (accounting.md §3).
func (w *work) keepUnnamed() {
	alive := maps.Clone(w.running)
	for _, r := range w.s.Reach {
		if pod, ok := w.pods.ByUID(r.PodUID); ok {
			alive[pod.UID] = true // a container that lives
		}
	}
	for _, p := range w.inv.parts {
		for _, g := range w.memory.grants[p.ID.String()] {
			pod, known := w.pods.ByUID(g.Holder.PodUID)
			if !known || !fromNode(g) || !alive[pod.UID] || !w.stands(pod) {
				continue
			}
			if _, named := w.listed[pod.Key()]; !named {
				w.carry(p, g, whyUnnamed)
				w.partial = true
			}
		}
	}
}

// fromNode: the grant is the kubelet's word, and not read anew from the API
// server's objects with every sample.
func fromNode(g Grant) bool { return g.Source == "kubelet" || g.Source == "dra" || g.Source == "spec" }

// stands: nothing says that the pod has ended, nor that another one of its name
// runs in its place.
func (w *work) stands(pod workload.Pod) bool {
	now, _ := w.pods.ByName(pod.Namespace, pod.Name)
	return now.UID == pod.UID && !pod.Ended()
}

// carryGrants keeps grants while the list is unreadable, for pods that prove
// by a process on a GPU that they still run. What has no such proof is unknown.
func (w *work) carryGrants() {
	for _, p := range w.inv.parts {
		for _, g := range w.memory.grants[p.ID.String()] {
			pod, known := w.pods.ByUID(g.Holder.PodUID)
			if !w.running[g.Holder.PodKey()] || known && !w.runs(pod) {
				continue
			}
			w.carry(p, g, whyUnreadable)
		}
	}
}

func (w *work) carry(p *part, g Grant, why string) {
	d := w.grants.of(p, g.Holder, g.Source)
	d.Grant, d.carried, d.why = g, true, why
}

// certain: that a partition has two owners can be told. While the API server is
// away, only of what the kubelet itself lists now: an annotation or claim may
// be that of a pod which has ended unheard.
func (w *work) certain(drafts []*draft) bool {
	if !w.objectsStale() {
		return true
	}
	listed := 0
	for _, d := range drafts {
		if d.Source == "kubelet" && !d.carried && !d.shared {
			listed++
		}
	}
	return listed > 1
}

// grantsKnown: a partition without a grant was granted to nobody.
func (w *work) grantsKnown() bool {
	return w.s.Standalone || w.s.Grants.Readable && !w.partial
}

// provenRunning are the pods, by PodKey, that have a process on a GPU.
func (w *work) provenRunning() map[string]bool {
	running := map[string]bool{}
	for _, o := range w.owners {
		if o.holder.Kind == workload.KindPod && !o.gone {
			running[o.holder.PodKey()] = true
		}
	}
	return running
}
