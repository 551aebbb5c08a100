// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"maps"
	"slices"

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
	a := w.annotationOf(pod)
	for _, why := range a.ignored {
		w.ignore(pod, why)
	}
	if a.err != nil {
		w.badAnnotation(pod, a.err)
		if len(a.shares) == 0 {
			w.owe(podHolder(pod), a.source, a.devices)
		}
	}
	for _, s := range a.shares {
		w.fromShare(pod, s)
	}
}

// ignore notes, for whoever asks why a pod's holding is a leak, that an
// annotation of it grants nothing.
func (w *work) ignore(pod workload.Pod, why string) {
	key := podHolder(pod).PodKey()
	w.ignored[key] = append(w.ignored[key], why)
}

// owe notes that a pod was given a share of so many devices more by a
// scheduler, and nothing says which they are.
func (w *work) owe(pod workload.Holder, source string, devices int64) {
	key := pod.PodKey()
	o := w.owed[key]
	w.owed[key] = debt{source: source, devices: o.devices + devices}
}

func (w *work) badAnnotation(pod workload.Pod, err error) {
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
		d.Replicas++
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
	w.owe(podHolder(pod), s.Source, 1)
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
	groups := workload.KAIGroups(pod)
	if !ok && err == nil || len(groups) == 0 {
		// A fraction without a group is a wish: KAI labels what it placed.
		return
	}
	if why := w.notOfKAI(pod, groups); why != "" {
		w.ignore(pod, "the pod's annotation of KAI counts for nothing: "+why)
		return
	}
	if err != nil {
		w.badAnnotation(pod, err) // of an unknown size, and on the group's devices
	}
	for _, group := range groups {
		w.fromGroup(pod, group, share)
	}
}

// notOfKAI says why KAI cannot have given the pod its fraction. Each of these
// can be told from what the pod's owner cannot write, or not change.
func (w *work) notOfKAI(pod workload.Pod, groups []string) string {
	switch {
	case pod.DefaultScheduler:
		return "the pod was placed by Kubernetes' own scheduler"
	case pod.Asked(w.isGPU) > 0:
		return "the pod asks for whole devices as well, which KAI refuses"
	}
	for _, group := range groups {
		if _, ok := w.reservationOf(group); !ok {
			return "no reservation pod of group " + group + " is on this node"
		}
	}
	return ""
}

func (w *work) fromGroup(pod workload.Pod, group string, share workload.KAI) {
	targets := w.groupDevices(group)
	for _, t := range targets {
		if d := w.annotated(t.part, pod, "kai"); d != nil {
			d.ask(share.Container, "", "", gpu.One)
			d.takePart(share.Fraction, share.Bytes)
			d.Replicas++
		}
	}
	if len(targets) > 0 || w.carried(pod, "kai") {
		return
	}
	w.owe(podHolder(pod), "kai", 1)
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: podHolder(pod),
		Detail: "the reservation pod of KAI's group " + group + " leads to no GPU that NVML has",
	})
}

// carried: a grant of the source is carried on for the pod.
func (w *work) carried(pod workload.Pod, source string) bool {
	key := podHolder(pod).PodKey()
	for _, byPod := range w.grants {
		if d := byPod[key]; d != nil && d.carried && d.Source == source {
			return true
		}
	}
	return false
}

// reservationOf is the pod that holds a group's device on paper.
func (w *work) reservationOf(group string) (workload.Pod, bool) {
	for _, key := range slices.Sorted(maps.Keys(w.reservations)) {
		if g, _, _ := workload.KAIReservation(w.reservations[key]); g == group {
			return w.reservations[key], true
		}
	}
	return workload.Pod{}, false
}

// groupDevices are the devices of a KAI group: what the kubelet gave its
// reservation pod, else what that pod's annotation says, else, while the
// kubelet does not list it, what it held before.
func (w *work) groupDevices(group string) []target {
	pod, _ := w.reservationOf(group)
	targets := w.listedDevices(pod)
	if len(targets) == 0 {
		_, uuid, _ := workload.KAIReservation(pod)
		targets = w.inv.named(gpu.UUID(uuid))
	}
	if _, named := w.listed[pod.Key()]; len(targets) == 0 && !named {
		for _, id := range w.before.groups[group] {
			targets = append(targets, w.inv.byID(id)...)
		}
	}
	w.recall.groups[group] = nil
	for _, t := range targets {
		w.recall.groups[group] = append(w.recall.groups[group], t.part.ID)
	}
	return targets
}

func (w *work) listedDevices(pod workload.Pod) []target {
	pr, ok := w.listed[pod.Key()]
	if !ok {
		return nil
	}
	var out []target
	for _, c := range pr.Containers {
		for _, rd := range c.Devices {
			for _, id := range rd.IDs {
				if w.isGPU(rd.Resource) {
					out = append(out, w.inv.resolve(workload.ParseDeviceID(id))...)
				}
			}
		}
	}
	return out
}

// byID finds the partition that another sample had, if it is still there.
func (inv *inventory) byID(id gpu.PartitionID) []target {
	for _, p := range inv.parts {
		if p.ID == id {
			return targetOf(p)
		}
	}
	return nil
}

// findOverbooked reports devices of which KAI's fractions add up to more than
// there is. KAI gives out no more than a whole device, so some pod took up a
// group's label that KAI did not give it. What each holds is unaffected.
func (w *work) findOverbooked() {
	for _, p := range w.inv.parts {
		capacity := capacityOf(p)
		if capacity == nil {
			continue
		}
		var kept uint64
		var names []string
		for _, g := range p.Grants {
			if g.Source == "kai" {
				kept += deref(g.ReservedBytes)
				names = append(names, g.Holder.Account())
			}
		}
		if kept > *capacity {
			w.find(Finding{
				Kind: DoubleOwner, Severity: Warning, Partition: p.ID.String(), Device: p.ID.Device, Victims: names,
				Detail: fmt.Sprintf("fractions of %d MiB were taken of this GPU of %d MiB through KAI, which gives out no more than there is: one of the pods may have written its group's label itself", kept/gpu.MiB, *capacity/gpu.MiB),
			})
		}
	}
}
