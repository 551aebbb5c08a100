// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// annotation is what annotation schedulers gave a pod, as far as it counts.
type annotation struct {
	source string // "" where no annotation counts
	shares []workload.Share
	// devices is on how many devices at most the pod was given a share.
	devices int64
	// err: the annotation cannot be read now; shares are those of before, if any.
	err error
	// ignored says of an annotation that counts for nothing, why.
	ignored []string
}

// annotationOf judges a pod's annotations, once per sample. Whoever creates a
// pod can write any annotation, and an annotation alone grants nothing: it
// counts on a pod that was given something of the scheduler's by the kubelet, or
// asks for it in its specification, and on no more devices than that.
func (w *work) annotationOf(pod workload.Pod) annotation {
	if _, before := w.before.shares[pod.UID]; len(pod.Annotations) == 0 && !before {
		return annotation{}
	}
	a, done := w.annotations[pod.UID]
	if !done {
		a = w.judge(pod)
		w.annotations[pod.UID] = a
		if a.source != "" && a.err == nil {
			w.recall.shares[pod.UID] = a
		}
	}
	return a
}

func (w *work) judge(pod workload.Pod) annotation {
	var out annotation
	for _, source := range workload.ShareSources() {
		shares, err := workload.SharesBy(source, pod)
		if err == nil && len(shares) == 0 {
			continue
		}
		devices := w.givenBy(source, pod)
		switch n := distinct(shares); {
		case devices == 0:
			out.ignored = append(out.ignored, "the pod's annotation of "+source+" counts for nothing: the pod was given nothing of "+source+"'s by the kubelet, nor asks for it")
			continue
		case int64(n) > devices:
			out.ignored = append(out.ignored, fmt.Sprintf("the pod's annotation of %s counts for nothing: it names %d devices and the pod has %d", source, n, devices))
			continue
		}
		out.source, out.shares, out.devices, out.err = source, shares, devices, err
		break
	}
	return w.orBefore(pod, out)
}

// orBefore takes what an annotation said before it was removed or became
// unreadable: a scheduler writes it once, before the pod runs.
func (w *work) orBefore(pod workload.Pod, now annotation) annotation {
	if now.source != "" && now.err == nil {
		return now
	}
	before, ok := w.before.shares[pod.UID]
	if !ok || now.source != "" && now.source != before.source {
		return now
	}
	if devices := w.givenBy(before.source, pod); devices > 0 {
		now.source, now.shares, now.devices = before.source, before.shares, devices
		w.recall.shares[pod.UID] = before
	}
	return now
}

// distinct is how many devices shares name.
func distinct(shares []workload.Share) int {
	type name struct {
		uuid         gpu.UUID
		minor, index int
	}
	names := map[name]bool{}
	for _, s := range shares {
		names[name{s.UUID, deref(s.Minor), deref(s.Index)}] = true
	}
	return len(names)
}

// givenBy is on how many devices at most the pod was given a share by the
// scheduler; 0 where it was given none. What the kubelet lists decides; while
// it does not list the pod, what it listed before, and then the specification,
// which cannot be changed and by which the kubelet admitted the pod.
func (w *work) givenBy(source string, pod workload.Pod) int64 {
	if source != workload.SourceHAMi {
		if !w.offers(source) {
			return 0 // the kubelet ignores a request for what its node does not have
		}
		return pod.AskedDevices(source, w.policy.ExtraResources...)
	}
	init := pod.AskedByInit(w.isGPU)
	slots, ok := w.before.slots[pod.UID]
	if pr, named := w.listed[pod.Key()]; named {
		now := slotsIn(pr)
		if ok && w.objectsStale() && !slices.Equal(now, slots) {
			return 0 // the name is another pod's by now, which nothing tells of
		}
		slots, ok = now, true
	}
	if !ok {
		return pod.AskedDevices(source, w.policy.ExtraResources...) + init
	}
	w.recall.slots[pod.UID] = slots
	return int64(len(slots)) + init
}

// slotsIn are the slots of HAMi's pool that the kubelet gave the pod, under
// whatever resource. NVIDIA's plugin, which serves the same resource names
// where HAMi is not installed, spells its ids otherwise.
func slotsIn(pr *workload.PodResources) []string {
	var slots []string
	for _, c := range pr.Containers {
		for _, rd := range c.Devices {
			for _, id := range rd.IDs {
				if workload.ParseDeviceID(id).Form == workload.FormHAMiSlot {
					slots = append(slots, id)
				}
			}
		}
	}
	slices.Sort(slots)
	return slots
}

// offers: the node has resources of the scheduler's own, or nothing says which
// it has.
func (w *work) offers(source string) bool {
	if w.s.Objects.Node == nil || len(w.s.Objects.Node.Allocatable) == 0 {
		return true
	}
	for resource, n := range w.s.Objects.Node.Allocatable {
		if n > 0 && workload.IsSharesResource(source, resource) {
			return true
		}
	}
	return false
}

func (w *work) isGPU(resource string) bool {
	return workload.IsGPUResource(resource, w.policy.ExtraResources...)
}

// explains: the annotation, and not the id, says which device the kubelet's id
// of the resource stands for.
func (a annotation) explains(resource string, id workload.DeviceID) bool {
	return a.source != "" && (id.Form == workload.FormHAMiSlot || workload.IsSharesResource(a.source, resource))
}
