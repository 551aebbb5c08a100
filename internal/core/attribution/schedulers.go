// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// findReservations notes KAI's reservation pods: they hold whole devices on
// paper for the pods of their group.
func (w *work) findReservations() {
	w.reservations = map[string]workload.Pod{}
	for _, pod := range w.s.Objects.Pods {
		if _, _, ok := workload.KAIReservation(pod); ok && !pod.Ended() && w.policy.reserves(pod.Namespace) {
			w.reservations[podHolder(pod).PodKey()] = pod
		}
	}
}

// fromScheduler takes the grants of an annotation scheduler.
func (w *work) fromScheduler(pod workload.Pod) {
	w.fromKAI(pod)
	shares, err := workload.SchedulerShares(pod)
	if err != nil {
		w.badAnnotation(pod, err)
		return
	}
	for _, s := range shares {
		w.fromShare(pod, s)
	}
}

func (w *work) badAnnotation(pod workload.Pod, err error) {
	w.unresolved[podHolder(pod).PodKey()] = true
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: podHolder(pod),
		Detail: "the scheduler's annotation cannot be read: " + err.Error(),
	})
}

func (w *work) fromShare(pod workload.Pod, s workload.Share) {
	p := w.shareDevice(s)
	if p == nil || p.MIGParent {
		w.badShare(pod, s)
		return
	}
	if d := w.annotated(p, pod, s.Source); d != nil {
		d.ask(s.ContainerName, "", "", gpu.One)
		d.takePart(s.Fraction, s.Bytes)
	}
}

// annotated is the draft of a grant by annotation, or nil where the kubelet or
// a claim gave the pod the partition: pods can write their own annotations, and
// none makes such a grant less, or more.
func (w *work) annotated(p *part, pod workload.Pod, source string) *draft {
	d := w.grants.of(p, podHolder(pod), source)
	if d.Source == "kubelet" || d.Source == "dra" {
		return nil
	}
	if d.carried {
		// The annotation can be read now, whatever the kubelet's list.
		*d = draft{Grant: Grant{Holder: podHolder(pod)}}
	}
	d.Source = source
	return d
}

func (w *work) badShare(pod workload.Pod, s workload.Share) {
	w.unresolved[podHolder(pod).PodKey()] = true
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: podHolder(pod), Device: s.UUID,
		Detail: "the annotation of " + s.Source + " names a device that NVML does not have",
	})
}

// shareDevice is the device an annotation names, by UUID, minor or index.
func (w *work) shareDevice(s workload.Share) *part {
	switch {
	case s.UUID != "":
		return w.inv.byUUID[s.UUID].part
	case s.Minor != nil:
		return w.inv.byMinor[*s.Minor]
	case s.Index != nil:
		return w.inv.byIndex[*s.Index]
	}
	return nil
}

// takePart adds a part of the device's memory to the draft. Several
// containers of a pod may each have one.
func (d *draft) takePart(fraction gpu.Ratio, bytes *uint64) {
	d.isPart = true
	d.Replicas++
	if bytes != nil {
		sum := deref(d.bytes) + *bytes
		d.bytes = &sum
		return
	}
	d.fraction = addShare(d.fraction, fraction)
}

// fromKAI gives a pod with a KAI fraction its share of the devices that its
// group's reservation pod holds.
func (w *work) fromKAI(pod workload.Pod) {
	share, ok, err := workload.KAIShare(pod)
	if err != nil {
		w.badAnnotation(pod, err)
		return
	}
	if !ok || len(share.Groups) == 0 {
		// A fraction without a group is a wish: KAI labels what it placed.
		return
	}
	found := false
	for _, group := range share.Groups {
		for _, t := range w.groupDevices(group) {
			found = true
			if d := w.annotated(t.part, pod, "kai"); d != nil {
				d.ask(share.Container, "", "", gpu.One)
				d.takePart(share.Fraction, share.Bytes)
			}
		}
	}
	if !found {
		w.unresolved[podHolder(pod).PodKey()] = true
		w.find(Finding{
			Kind: InventoryConflict, Severity: Warning, Holder: podHolder(pod),
			Detail: "no reservation pod of KAI's group " + strings.Join(share.Groups, ", ") + " leads to a GPU of this node",
		})
	}
}

// groupDevices are the devices of a KAI group: what the kubelet gave its
// reservation pod, else what that pod's annotation says.
func (w *work) groupDevices(group string) []target {
	for _, key := range slices.Sorted(maps.Keys(w.reservations)) {
		res := w.reservations[key]
		g, uuid, _ := workload.KAIReservation(res)
		if g != group {
			continue
		}
		if t := w.listedDevices(res); len(t) > 0 {
			return t
		}
		return w.inv.named(gpu.UUID(uuid))
	}
	return nil
}

func (w *work) listedDevices(pod workload.Pod) []target {
	var out []target
	for _, pr := range w.s.Grants.Pods {
		if pr.Namespace != pod.Namespace || pr.Name != pod.Name {
			continue
		}
		for _, c := range pr.Containers {
			for _, rd := range c.Devices {
				for _, id := range rd.IDs {
					out = append(out, w.inv.resolve(workload.ParseDeviceID(id))...)
				}
			}
		}
	}
	return out
}
