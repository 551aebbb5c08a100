// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// visibleDevices is the variable that NVIDIA's container runtime obeys.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// findExposure reports pods that can open devices they were not given. To
// reach is not to use: exposure moves no money. What the container's devices
// cgroup and device nodes say decides; the specification counts only where
// those could not be read, since under CDI the environment reads "void" for
// honest and leaking containers alike.
func (w *work) findExposure() {
	if w.s.Standalone || !w.s.Grants.Readable {
		return
	}
	looked := map[string]bool{}
	for _, r := range w.s.Reach {
		// The cgroup of a static pod has its hash: the pod's UID is the object's.
		pod, ok := w.pods.ByUID(r.PodUID)
		if ok {
			looked[pod.UID] = true
		}
		if ok && !pod.Gone {
			w.exposed(pod, w.foreign(pod, r.Minors), r.Evidence, privileged(pod))
		}
	}
	for _, pod := range w.s.Objects.Pods {
		if !looked[pod.UID] && !pod.Ended() && pod.Phase != workload.PhasePending {
			w.exposedBySpec(pod)
		}
	}
}

// foreign are the devices among minors on which the pod has no grant.
func (w *work) foreign(pod workload.Pod, minors []int) []string {
	var out []string
	for _, m := range minors {
		p := w.inv.byMinor[m]
		if p != nil && !w.grantedOn(p.ID.Device, podHolder(pod)) {
			out = append(out, string(p.ID.Device))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// grantedOn: the pod has a grant on the device or an instance of it.
func (w *work) grantedOn(device gpu.UUID, pod workload.Holder) bool {
	for p := range w.grants {
		if p.ID.Device == device && w.grants.has(p, pod) {
			return true
		}
	}
	return false
}

func (w *work) exposedBySpec(pod workload.Pod) {
	switch {
	case privileged(pod) && w.meansGPU(pod):
		w.exposed(pod, w.foreign(pod, w.allMinors()), "spec: privileged", true)
	case w.asksAll(pod):
		w.exposed(pod, w.foreign(pod, w.allMinors()), "spec: "+visibleDevices+"=all", false)
	}
}

func (w *work) exposed(pod workload.Pod, devices []string, evidence string, priv bool) {
	if len(devices) == 0 || w.unresolved[podHolder(pod).PodKey()] || w.reserves(pod) || int64(len(devices)) <= w.missing(pod) {
		return // not foreign, or not known to be
	}
	f := Finding{
		Kind: Exposure, Severity: Warning, Holder: podHolder(pod), Partitions: devices, Count: int64(len(devices)),
		Detail:   exposureDetail(len(devices)),
		Evidence: []string{evidence},
	}
	if priv {
		f.Evidence = append(f.Evidence, "privileged")
	}
	if isInfrastructure(pod.Namespace) || w.policy.isDaemonPod(pod, "") || priv && w.servesNode(pod) {
		f.Severity = Info
	}
	w.find(f)
}

// servesNode: the pod is one of those that every node has and that never think
// of a GPU (network, storage, monitoring): a DaemonSet's or a static pod, which
// holds nothing on any GPU, was given none and asks for none. A privileged
// container can open all of the host's devices, whatever it is for.
func (w *work) servesNode(pod workload.Pod) bool {
	if pod.Owner.Kind != "DaemonSet" && pod.StaticHash() == "" {
		return false
	}
	return !w.meansGPU(pod) && !w.running[pod.UID]
}

func exposureDetail(n int) string { return fmt.Sprintf("can open %d GPUs that it was not given", n) }

func (w *work) reserves(pod workload.Pod) bool {
	_, ok := w.reservations[podHolder(pod).PodKey()]
	return ok
}

func (w *work) allMinors() []int {
	var out []int
	for m := range w.inv.byMinor {
		out = append(out, m)
	}
	return out
}

func privileged(pod workload.Pod) bool {
	for _, c := range pod.Containers {
		if c.Privileged {
			return true
		}
	}
	return false
}

// meansGPU: the pod has to do with GPUs, by a grant, the variable or the
// runtime class. Every node has privileged pods that never think of one.
func (w *work) meansGPU(pod workload.Pod) bool {
	if strings.HasPrefix(pod.RuntimeClass, "nvidia") {
		return true
	}
	for _, c := range pod.Containers {
		if v := c.Env[visibleDevices]; v != "" && v != "void" && v != "none" {
			return true
		}
	}
	for p := range w.grants {
		if w.grants.has(p, podHolder(pod)) {
			return true
		}
	}
	return false
}

func (w *work) asksAll(pod workload.Pod) bool {
	for _, c := range pod.Containers {
		if c.Env[visibleDevices] == "all" {
			return true
		}
	}
	return false
}

// findInvisible reports partitions that were granted and that the pod's own
// list of visible devices leaves out: they are paid for and cannot be used
// (k8s-device-plugin#728).
func (w *work) findInvisible() {
	for _, pod := range w.s.Objects.Pods {
		visible, explicit := visibleUUIDs(pod)
		if !explicit || pod.Ended() {
			continue
		}
		var missing []string
		for _, p := range w.inv.parts {
			if !p.MIGParent && w.grants.has(p, podHolder(pod)) && !anyOf(visible, p.Names) && !visible[p.ID.Device] {
				missing = append(missing, string(p.Names[0]))
			}
		}
		if len(missing) > 0 {
			w.find(Finding{
				Kind: AllocatedNotVisible, Severity: Warning, Holder: podHolder(pod), Partitions: missing,
				Count:    int64(len(missing)),
				Detail:   "was granted these and cannot see them: its " + visibleDevices + " names others",
				Evidence: []string{"spec: " + visibleDevices},
			})
		}
	}
}

// visibleUUIDs are the UUIDs that the pod's containers may see; explicit is
// false when a container's list says anything else than UUIDs.
func visibleUUIDs(pod workload.Pod) (uuids map[gpu.UUID]bool, explicit bool) {
	uuids = map[gpu.UUID]bool{}
	for _, c := range pod.Containers {
		v := c.Env[visibleDevices]
		if v == "" {
			continue
		}
		for _, id := range strings.Split(v, ",") {
			id = strings.TrimSpace(id)
			if !strings.HasPrefix(id, "GPU-") && !strings.HasPrefix(id, "MIG-") {
				return nil, false
			}
			uuids[gpu.UUID(id)] = true
		}
	}
	return uuids, len(uuids) > 0
}

func anyOf(set map[gpu.UUID]bool, names []gpu.UUID) bool {
	for _, n := range names {
		if set[n] {
			return true
		}
	}
	return false
}
