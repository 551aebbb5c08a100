// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	mib    = uint64(1) << 20
	hourMS = 3_600_000
)

// Node is a machine with cards.
type Node struct {
	Cluster, Name string
	Labels        map[string]string
	CPUMilli      int64
	MemoryBytes   uint64
	Cards         []Card
	// Allocatable is what the kubelet says it can hand out.
	Allocatable []workload.ResourceDevices
	Slices      []workload.Slice
}

// Card is one GPU.
type Card struct {
	UUID            gpu.UUID
	Model           string
	Total, Reserved uint64
	// Slices is how many memory slices it has, 0 for 8.
	Slices uint32
	// Instances are its MIG instances; MIG is on where there are any.
	Instances []sample.Instance
}

// Pod is a pod as it is at one moment.
type Pod struct {
	workload.Pod
	PID     int
	Devices []workload.ResourceDevices
	Claims  []workload.ClaimDevices
	Holds   []Hold
}

// Hold is memory that the pod's process holds on a card, or on one of its
// instances.
type Hold struct {
	Card, Instance int // Instance -1: the whole card
	Bytes          uint64
}

// NewPod is a pod of one container.
func NewPod(number int, namespace, name string) Pod {
	uid := fmt.Sprintf("00000000-0000-4000-a000-%012d", number)
	return Pod{PID: 1000 + number, Pod: workload.Pod{
		Namespace: namespace, Name: name, UID: uid, Phase: workload.PhaseRunning,
		Containers: []workload.Container{{Name: "c", Kind: workload.ContainerApp, ID: containerID(number), Running: true}},
	}}
}

func containerID(number int) string { return fmt.Sprintf("c%063d", number) }

// cgroup is where the kubelet and containerd put the pod's process.
func (p *Pod) cgroup() string {
	return fmt.Sprintf("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope",
		strings.ReplaceAll(p.UID, "-", "_"), p.Containers[0].ID)
}

// At is what NVML, the kubelet, /proc and the API server say of the node with
// these pods on it. busy are the cards' kernels, as a part of time; nil: not read.
func (n *Node) At(at time.Time, monoMS int64, pods []Pod, claims []workload.Claim, busy []float64) sample.Sample {
	s := sample.Sample{
		Node: n.Name, At: at, MonoMS: monoMS, NVML: sample.Library{OK: true}, Processes: map[int]sample.Process{},
		Grants:  sample.Grants{Readable: true, Allocatable: n.Allocatable},
		Objects: sample.Objects{Known: true, Node: n.object(), Claims: claims, Slices: n.Slices},
	}
	for i := range n.Cards {
		s.Devices = append(s.Devices, n.device(i, busy))
	}
	for i := range pods {
		p := &pods[i]
		object := p.Pod
		object.Node = n.Name
		s.Objects.Pods = append(s.Objects.Pods, object)
		s.Usage = append(s.Usage, sample.PodUsage{PodUID: p.UID})
		if len(p.Devices)+len(p.Claims) > 0 {
			s.Grants.Pods = append(s.Grants.Pods, workload.PodResources{Namespace: p.Namespace, Name: p.Name, Containers: []workload.ContainerResources{
				{Name: "c", Devices: p.Devices, Dynamic: p.Claims},
			}})
		}
		for _, h := range p.Holds {
			hold(&s.Devices[h.Card], h, p.PID)
			s.Processes[p.PID] = sample.Process{StartTicks: 1, Cgroup: p.cgroup()}
		}
	}
	return s
}

func hold(d *sample.Device, h Hold, pid int) {
	held := sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: new(h.Bytes)}
	d.Memory.Used += h.Bytes
	if h.Instance < 0 {
		d.Processes = append(d.Processes, held)
		return
	}
	in := &d.Instances[h.Instance]
	in.Memory.Used += h.Bytes
	in.Processes = append(in.Processes, held)
}

func (n *Node) object() *workload.Node {
	return &workload.Node{Name: n.Name, Labels: n.Labels, Capacity: map[string]int64{"cpu": n.CPUMilli, "memory": int64(n.MemoryBytes)}}
}

// device is a card on which nobody holds anything.
func (n *Node) device(i int, busy []float64) sample.Device {
	c := &n.Cards[i]
	d := sample.Device{
		UUID: c.UUID, Index: i, Minor: i, State: gpu.StateOK, Name: c.Model, PCIBusID: fmt.Sprintf("0000:%02x:00.0", 7+8*i),
		Memory: &sample.Memory{Total: c.Total, Reserved: c.Reserved}, MemorySlices: cmp.Or(c.Slices, 8), MIG: len(c.Instances) > 0,
	}
	for _, in := range c.Instances {
		in.Memory = new(*in.Memory)
		d.Instances = append(d.Instances, in)
	}
	if busy != nil {
		d.Signals.Busy = &busy[i]
	}
	return d
}

// CardOf is a card without instances; number makes its UUID.
func CardOf(number int, model string, total, reserved uint64) Card {
	return Card{UUID: gpu.UUID(fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", number)), Model: model, Total: total, Reserved: reserved}
}
