// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// tenant is what the pods of a workload have in common.
type tenant struct {
	namespace string
	owner     workload.Owner
	labels    map[string]string
	// cores and memory are requests, in CPUs and bytes; busy is how much of them
	// is used, in percent.
	cores  int64
	memory uint64
	busy   int64

	env         map[string]string
	annotations map[string]string
	// scheduler is that of the pod where it is not Kubernetes' own.
	scheduler string
}

func owner(kind, name string) workload.Owner {
	return workload.Owner{Kind: kind, Name: name, UID: "owner-" + strings.ToLower(kind) + "-" + name}
}

// stay is a pod from when it was placed until it ended.
type stay struct {
	span
	pod       workload.Pod
	listed    *workload.PodResources
	claim     string
	processes []process
	cpuMilli  int64
	memory    uint64
}

// process is one that holds memory of a GPU.
type process struct {
	pid   int
	gpu   int
	gi    *uint32
	kind  sample.ProcessKind
	comm  string
	size  size
	sm    float64
	start uint64
}

// size is the memory of a process over time: it rises by swing and falls again in
// each period, on top of a base. Unknown is a size that the driver does not tell.
type size struct {
	base, swing uint64
	period      time.Duration
	unknown     bool
}

// at is the size in whole MiB, or in bytes where it does not change.
func (z size) at(t time.Time) uint64 {
	if z.swing == 0 || z.period <= 0 {
		return z.base
	}
	phase := t.UnixMilli() % z.period.Milliseconds()
	up := min(phase, z.period.Milliseconds()-phase)
	part := uint64(up) * 2000 / uint64(z.period.Milliseconds()) // 0..1000
	return z.base + z.swing/1000*part/mib*mib
}

// use is a pod's part of one GPU or instance: what it was given, what it holds.
type use struct {
	gpu int
	gi  *uint32
	// resource and id are what the kubelet lists; without an id nothing was
	// granted. Without a size nothing is held.
	resource, id string
	kind         sample.ProcessKind
	comm         string
	size         size
	sm           float64
}

// run puts a pod on the node for a time.
func (s *script) run(t tenant, name string, from, to time.Time, uses ...use) *stay {
	st := &stay{span: span{from, to}, cpuMilli: t.cores * 10 * t.busy, memory: t.memory / 100 * uint64(t.busy)}
	id := s.uid()
	c := workload.Container{
		Name: "main", Kind: workload.ContainerApp, ID: strings.ReplaceAll(id, "-", "") + strings.ReplaceAll(id, "-", ""),
		CPUMilli: t.cores * 1000, MemoryBytes: int64(t.memory), Env: t.env, Running: true, StartedAt: &st.from,
	}
	for _, u := range uses {
		if u.id != "" {
			if c.Limits == nil {
				c.Limits = map[string]int64{}
			}
			c.Limits[u.resource]++
			st.give(t.namespace, name, u)
		}
		if u.size != (size{}) {
			pid := int(s.next())
			st.processes = append(st.processes, process{
				pid: pid, gpu: u.gpu, gi: u.gi, kind: u.kind, comm: u.comm, size: u.size, sm: u.sm, start: uint64(pid) * 97,
			})
		}
	}
	st.pod = workload.Pod{
		Namespace: t.namespace, Name: name, UID: id, Labels: t.labels, Annotations: t.annotations, Node: s.node.Name,
		Phase: workload.PhaseRunning, Owner: t.owner, DefaultScheduler: t.scheduler == "", Containers: []workload.Container{c},
	}
	s.stays = append(s.stays, st)
	return st
}

// give lists a device among those that the kubelet gave the pod.
func (st *stay) give(namespace, name string, u use) {
	if st.listed == nil {
		st.listed = &workload.PodResources{Namespace: namespace, Name: name, Containers: []workload.ContainerResources{{Name: "main"}}}
	}
	c := &st.listed.Containers[0]
	for i := range c.Devices {
		if c.Devices[i].Resource == u.resource {
			c.Devices[i].IDs = append(c.Devices[i].IDs, u.id)
			return
		}
	}
	c.Devices = append(c.Devices, workload.ResourceDevices{Resource: u.resource, IDs: []string{u.id}})
}

// whole is a GPU that is given whole.
func (s *script) whole(g int, comm string, z size, sm float64) use {
	return use{gpu: g, resource: workload.ResourceGPU, id: string(s.node.GPUs[g].UUID), kind: sample.KindCompute, comm: comm, size: z, sm: sm}
}

// turn is a replica of a GPU that is shared.
func (s *script) turn(g, replica int, comm string, z size, sm float64) use {
	u := s.whole(g, comm, z, sm)
	u.resource, u.id = s.node.GPUs[g].Resource, s.node.GPUs[g].IDs()[replica]
	return u
}

// slice is a MIG instance.
func (s *script) slice(g int, gi uint32, profile, comm string, z size, sm float64) use {
	u := s.whole(g, comm, z, sm)
	u.gi, u.resource, u.id = &gi, "nvidia.com/mig-"+profile, migUUID(g, gi)
	return u
}

// taken is memory of a GPU that is held without a grant.
func (s *script) taken(g int, comm string, z size, sm float64) use {
	u := s.whole(g, comm, z, sm)
	u.resource, u.id = "", ""
	return u
}

// migUUID is the UUID of the compute instance of a GPU instance: that of package
// mocknvml.
func migUUID(g int, gi uint32) string {
	return fmt.Sprintf("MIG-%08x-%04x-4000-8%03x-%012x", g, gi, 0, gi<<8)
}
