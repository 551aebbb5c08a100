// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// numberedID is a pod's id that names a MIG instance by its number, as GKE's
// ids and those of old drivers do.
type numberedID struct{ pod, id string }

// meaning is which instance such an id was when the pod was first listed with
// it, and the pod by namespace/name.
type meaning struct {
	instance gpu.PartitionID
	pod      string
}

// dropReused takes back the grants whose ids mean an instance that is no more:
// NVML gives its number to a later one, and the kubelet's list still has the
// id. A pod with a process on the later one has it by right: its container was
// made anew.
func (w *work) dropReused() {
	for _, p := range w.inv.parts {
		if p.inst == nil {
			continue
		}
		for _, d := range w.grants.sorted(p) {
			if !d.carried && w.meansAnother(p, d) && !w.hasProcess(p, d.Holder) {
				delete(w.grants[p], d.Holder.PodKey())
				w.find(Finding{
					Kind: StaleDeviceID, Severity: Warning, Holder: d.Holder, Resource: d.Resource, Device: p.ID.Device,
					Detail:   "the kubelet granted " + d.DeviceIDs[0] + ", which was an instance that is gone, and is another one now; restart the pod and the device plugin",
					Evidence: []string{"kubelet device id " + d.DeviceIDs[0]},
				})
			}
		}
	}
}

// meansAnother: all ids of the grant meant an earlier instance.
func (w *work) meansAnother(p *part, d *draft) bool {
	for _, id := range d.DeviceIDs {
		was, known := w.memory.numbered[numberedID{d.Holder.PodKey(), id}]
		if !known || was.instance == p.ID {
			return false
		}
	}
	return len(d.DeviceIDs) > 0
}

func (w *work) hasProcess(p *part, pod workload.Holder) bool {
	for _, h := range p.held {
		if o := w.owners[h.PID].holder; o.Kind == workload.KindPod && o.PodKey() == pod.PodKey() {
			return true
		}
	}
	return false
}

// rememberNumbered notes what ids by number mean, for as long as the kubelet
// lists their pods.
func (m *memory) rememberNumbered(w *work) {
	numbered := map[numberedID]meaning{}
	if len(m.numbered) > 0 {
		listed := map[string]bool{}
		for _, pr := range w.s.Grants.Pods {
			listed[pr.Namespace+"/"+pr.Name] = true
		}
		for id, was := range m.numbered {
			if listed[was.pod] {
				numbered[id] = was
			}
		}
	}
	for _, p := range w.inv.parts {
		if p.inst == nil {
			continue
		}
		for _, g := range p.Grants {
			for _, id := range g.DeviceIDs {
				if workload.ParseDeviceID(id).Instance != nil {
					numbered[numberedID{g.Holder.PodKey(), id}] = meaning{p.ID, g.Holder.Namespace + "/" + g.Holder.Pod}
				}
			}
		}
	}
	m.numbered = numbered
}
