// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// owner is whom a process belongs to, with what tells infrastructure apart.
type owner struct {
	holder      workload.Holder
	containerID string
	comm        string
	// daemon: the owner is on the operator's list of GPU infrastructure.
	daemon bool
	// gone: the process is no longer in /proc.
	gone bool
}

// unnamed: a pod by its UID alone, which no object names (yet).
func (o owner) unnamed() bool { return o.holder.Kind == workload.KindPod && o.holder.Pod == "" }

// isMPSServer: the process is called like the server and no tenant's, who may
// call a program anything.
func (o owner) isMPSServer() bool {
	return isCalled(o.comm, mpsServer) && (o.daemon || o.holder.Kind != workload.KindPod)
}

// identify names the owner of every process that a device lists.
func (w *work) identify() {
	for _, p := range w.inv.parts {
		for _, h := range p.held {
			if _, done := w.owners[h.PID]; !done {
				w.owners[h.PID] = w.ownerOf(h.PID)
			}
		}
	}
}

func (w *work) ownerOf(pid int) owner {
	proc, ok := w.s.Processes[pid]
	if !ok || proc.Cgroup == "" {
		o := w.remembered(pid, proc)
		o.gone = !ok || proc.Gone
		return o
	}
	o := w.fromCgroup(w.memory.parse(proc.Cgroup), proc)
	if before, ok := w.memory.owners[processKey{pid, proc.StartTicks}]; ok && o.unnamed() {
		// The object is gone from the API server; the process is the same.
		if before.holder.PodUID == o.holder.PodUID {
			o.holder = before.holder
		}
	}
	o.comm, o.gone = proc.Comm, proc.Gone
	o.daemon = w.isDaemon(o)
	return o
}

// remembered is the owner of a process that /proc no longer has: dead
// processes can hold memory for a while (k8s-device-plugin#12).
func (w *work) remembered(pid int, proc sample.Process) owner {
	o, ok := w.memory.owners[processKey{pid, proc.StartTicks}]
	if !ok {
		o = owner{holder: workload.Holder{Kind: workload.KindUnknown}}
	}
	return o
}

func (w *work) fromCgroup(c workload.CgroupOwner, proc sample.Process) owner {
	switch c.Kind {
	case workload.CgroupPod:
		return w.podOwner(c)
	case workload.CgroupContainer:
		if pod, ctr, ok := w.pods.ByContainer(c.ContainerID); ok {
			h := podHolder(pod)
			h.Container = ctr.Name
			return owner{holder: h, containerID: c.ContainerID}
		}
		return hostOwner(c.Engine+":"+short(c.ContainerID), c.ContainerID)
	case workload.CgroupUnit:
		return hostOwner(c.Unit, "")
	case workload.CgroupUser:
		if w.s.Standalone && proc.User != "" {
			return hostOwner("user:"+proc.User, "")
		}
		return hostOwner(c.Unit, "")
	}
	if w.s.Standalone {
		return standaloneOwner(proc)
	}
	return owner{holder: workload.Holder{Kind: workload.KindUnknown}}
}

// standaloneOwner is the user of a process that its cgroup does not name:
// without Kubernetes there is no other namespace it could have come from.
func standaloneOwner(proc sample.Process) owner {
	if proc.User == "" {
		return owner{holder: workload.Holder{Kind: workload.KindUnknown}}
	}
	return hostOwner("user:"+proc.User, "")
}

func hostOwner(unit, containerID string) owner {
	return owner{holder: workload.Holder{Kind: workload.KindHost, Unit: unit}, containerID: containerID}
}

func (w *work) podOwner(c workload.CgroupOwner) owner {
	o := owner{
		holder:      workload.Holder{Kind: workload.KindPod, PodUID: c.PodUID},
		containerID: c.ContainerID,
	}
	pod, ok := w.pods.ByUID(c.PodUID)
	if !ok {
		o.holder.Container = short(c.ContainerID)
		return o
	}
	o.holder = podHolder(pod)
	o.holder.Container = containerName(pod, c.ContainerID)
	return o
}

// containerName finds a container by its id; a pod of one container needs no
// status to tell. Otherwise the id's beginning stands in for a name.
func containerName(pod workload.Pod, id string) string {
	for _, c := range pod.Containers {
		if c.ID != "" && c.ID == id {
			return c.Name
		}
	}
	if len(pod.Containers) == 1 {
		return pod.Containers[0].Name
	}
	return short(id)
}

func short(id string) string {
	if len(id) > 12 {
		return id[:12]
	}
	return id
}

func (w *work) isDaemon(o owner) bool {
	switch o.holder.Kind {
	case workload.KindHost:
		return w.policy.isDaemonUnit(o.holder.Unit)
	case workload.KindPod:
		pod, ok := w.pods.ByUID(o.holder.PodUID)
		return ok && w.policy.isDaemonPod(pod, o.comm)
	}
	return false
}

// holderOn is a process's owner as a holder on one partition: infrastructure
// is a daemon where it has no grant, and a workload like any other where it has.
func (w *work) holderOn(p *part, o owner) workload.Holder {
	h := o.holder
	if o.daemon && !w.grants.has(p, h) {
		h.Kind = workload.KindDaemon
	}
	return h
}
