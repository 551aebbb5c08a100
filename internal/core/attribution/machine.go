// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// The names of a node's resources (core/v1 ResourceName).
const (
	resourceCPU    = "cpu"
	resourceMemory = "memory"
)

// machineOf is what a node's object and its devices say of the machine.
func machineOf(n *workload.Node, devices []sample.Device) *Machine {
	if n == nil {
		return nil
	}
	return &Machine{
		ProviderID: n.ProviderID, Labels: n.Labels, CreatedMS: max(n.CreatedMS, 0), Unschedulable: n.Unschedulable,
		CPUMilli: max(n.Capacity[resourceCPU], 0), MemoryBytes: uint64(max(n.Capacity[resourceMemory], 0)),
		AllocatableCPUMilli: max(n.Allocatable[resourceCPU], 0), AllocatableMemoryBytes: uint64(max(n.Allocatable[resourceMemory], 0)),
		Taints: n.Taints, Cards: cardsOf(devices),
	}
}

// cardsOf are the models whose MIG profiles the driver told, which it does while MIG
// is on, in the order of the devices, each once.
func cardsOf(devices []sample.Device) (out []Card) {
	seen := map[string]bool{}
	for i := range devices {
		d := &devices[i]
		if d.Name == "" || d.Memory == nil || len(d.Placements) == 0 || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		out = append(out, Card{Model: d.Name, CapacityBytes: d.Memory.Total, MemorySlices: d.MemorySlices, Profiles: d.Placements})
	}
	return out
}

// otherPods are what pods without a GPU ask for on the node; nil while the pods'
// objects are not known. taken are pods with GPU memory or a grant, by UID.
func (w *work) otherPods() *OtherPods {
	if !w.s.Objects.Known || w.s.Objects.Node == nil {
		return nil
	}
	taken := w.withGPU()
	out := &OtherPods{}
	for _, p := range w.s.Objects.Pods {
		if p.Ended() || taken[p.UID] || asksForGPU(p) {
			continue
		}
		cpu, memory := requestsOf(p)
		out.add(cpu, memory)
		if movable(p) {
			out.Movable.add(cpu, memory)
		}
	}
	return out
}

// withGPU are the pods that hold memory of a GPU or have a grant, by UID.
func (w *work) withGPU() map[string]bool {
	out := map[string]bool{}
	for _, p := range w.inv.parts {
		for i := range p.Holdings {
			out[p.Holdings[i].Holder.PodUID] = true
		}
		for i := range p.Grants {
			out[p.Grants[i].Holder.PodUID] = true
		}
	}
	return out
}

// asksForGPU: it has none yet, or nothing says which.
func asksForGPU(p workload.Pod) bool {
	for _, c := range p.Containers {
		for name := range c.Limits {
			if strings.HasPrefix(name, "nvidia.com/") {
				return true
			}
		}
	}
	return len(p.ClaimNames) > 0 || p.ExtendedClaim != ""
}

// movable: another node could have it. A DaemonSet's pod is of this one, and a static
// pod is the kubelet's.
func movable(p workload.Pod) bool {
	return p.Owner.Kind != "DaemonSet" && p.Owner.Kind != "Node" && p.StaticHash() == ""
}

// requestsOf is what the scheduler takes a pod to ask for: the sum of its containers,
// or the most that an init container asks for beside the sidecars before it
// (k8s.io/component-helpers/resource PodRequests). A RuntimeClass's overhead is not
// known here.
func requestsOf(p workload.Pod) (cpuMilli int64, memory uint64) {
	sidecars := [2]int64{}
	var sum, most [2]int64
	for _, c := range p.Containers {
		asks := [2]int64{max(c.CPUMilli, 0), max(c.MemoryBytes, 0)}
		for i, n := range asks {
			switch c.Kind {
			case workload.ContainerInit:
				most[i] = max(most[i], sidecars[i]+n)
			case workload.ContainerSidecar:
				sidecars[i] += n
				most[i] = max(most[i], sidecars[i])
				sum[i] += n
			case workload.ContainerApp, "":
				sum[i] += n
			}
		}
	}
	return max(sum[0], most[0]), uint64(max(sum[1], most[1]))
}

// aboutPod is what a pod's object says that concerns advice.
func aboutPod(p workload.Pod) PodAbout {
	out := PodAbout{
		Template: firstOf(p.Labels, "pod-template-hash", "controller-revision-hash"),
		Advice:   cut(p.Annotations[workload.AnnotationAdvice], MaxCostLabelBytes),
		Latency:  cut(p.Annotations[workload.AnnotationLatency], MaxCostLabelBytes),
		Place:    bounded(p.Place),
	}
	if p.CreatedAt != nil && p.ScheduledAt != nil {
		out.CreatedMS, out.ScheduledMS = p.CreatedAt.UnixMilli(), p.ScheduledAt.UnixMilli()
	}
	return out
}

// maxPlaceBytes is how much of what a pod asks of its node is kept.
const maxPlaceBytes = 2048

// bounded is what a pod asks of its node; what is too long counts as a wish that no other
// node is known to meet.
func bounded(p workload.Placement) workload.Placement {
	if len(p.Selector)+len(p.Affinity)+len(p.Tolerations) > maxPlaceBytes {
		return workload.Placement{Affinity: "fields"}
	}
	return p
}

func firstOf(labels map[string]string, keys ...string) string {
	for _, k := range keys {
		if v := labels[k]; v != "" {
			return cut(v, MaxCostLabelBytes)
		}
	}
	return ""
}
