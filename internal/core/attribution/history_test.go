// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// node is a sample of a node with one 40 GiB card at a monotonic second.
func node(second int64, held ...sample.Held) sample.Sample {
	var used uint64
	procs := map[int]sample.Process{}
	for _, h := range held {
		used += *h.Bytes
		procs[h.PID] = sample.Process{StartTicks: 7, Comm: "python", Cgroup: cgroupOf(h.PID)}
	}
	return sample.Sample{
		Node: "n", At: time.Unix(1_800_000_000+second, 0), MonoMS: second * 1000,
		NVML: sample.Library{OK: true}, Processes: procs,
		Devices: []sample.Device{{
			UUID: deviceUUID(1), State: gpu.StateOK, MemorySlices: 8, Processes: held,
			Memory: &sample.Memory{Total: 40 << 30, Reserved: 1 << 29, Used: used},
		}},
		Grants:  sample.Grants{Readable: true},
		Objects: sample.Objects{Known: true},
	}
}

func holds(pid int, gib uint64) sample.Held {
	b := gib << 30
	return sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: &b}
}

func cgroupOf(pod int) string { return fmt.Sprintf("0::/kubepods/pod%s/%064x", podUID(pod), pod) }

func running(i int) workload.Pod {
	return workload.Pod{Namespace: "ns", Name: fmt.Sprintf("p%d", i), UID: podUID(i), Phase: workload.PhaseRunning}
}

func given(i int, ids ...string) workload.PodResources {
	return workload.PodResources{Namespace: "ns", Name: fmt.Sprintf("p%d", i), Containers: []workload.ContainerResources{{
		Name: "c", Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: ids}},
	}}}
}

func leaks(r Result) (n int) {
	for _, f := range r.Findings {
		if f.Kind == UnallocatedUse {
			n++
		}
	}
	return n
}

// A pod that only its cgroup names may be one that the API server's watch has
// not brought yet: it is a leak only after a minute, and only if every grant
// of the node is another pod's by UID.
func TestUnnamedPodIsNoLeakAtFirst(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, pods ...workload.Pod) Result {
		s := node(second, holds(2, 4))
		s.Objects.Pods = pods
		s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
		return a.Attribute(s)
	}
	if n := leaks(at(0, running(1))); n != 0 {
		t.Errorf("at once: %d leaks, want none", n)
	}
	if n := leaks(at(59, running(1))); n != 0 {
		t.Errorf("after 59 s: %d leaks, want none", n)
	}
	if n := leaks(at(60, running(1))); n != 1 {
		t.Errorf("after 60 s: %d leaks, want 1", n)
	}
	if n := leaks(at(65)); n != 0 {
		t.Errorf("with a grant whose pod is not known by UID: %d leaks, want none", n)
	}
}

// While the kubelet's list is unreadable nothing new is called a leak, and
// what was one still is.
func TestLeaksWhileGrantsAreUnreadable(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, readable bool, held ...sample.Held) Result {
		s := node(second, held...)
		s.Objects.Pods = []workload.Pod{running(1), running(2), running(3)}
		s.Grants = sample.Grants{Readable: readable}
		if readable {
			s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
		}
		return a.Attribute(s)
	}
	if n := leaks(at(0, true, holds(1, 4), holds(2, 2))); n != 1 {
		t.Fatalf("readable: %d leaks, want 1", n)
	}
	r := at(5, false, holds(1, 4), holds(2, 2), holds(3, 1))
	if n := leaks(r); n != 1 {
		t.Errorf("unreadable: %d leaks, want the one from before", n)
	}
	if p := r.Partitions[0]; p.GrantsKnown || len(p.Grants) != 1 || p.Mode != gpu.ModeExclusive {
		t.Errorf("unreadable: grants known %v, %d grants, mode %s; want the running pod's grant carried", p.GrantsKnown, len(p.Grants), p.Mode)
	}
}

// A kubelet that has just started lists no pods yet: who still runs keeps the
// grant, and who has ended does not.
func TestGrantOutlivesAListThatDoesNotNameItsPod(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, pod workload.Pod, named bool, held ...sample.Held) Result {
		s := node(second, held...)
		s.Objects.Pods = []workload.Pod{pod}
		s.Grants = sample.Grants{Readable: true}
		if named {
			s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
		}
		return a.Attribute(s)
	}
	grants := func(r Result) int { return len(r.Partitions[0].Grants) }
	at(0, running(1), true, holds(1, 4))
	r := at(5, running(1), false, holds(1, 4))
	if n := leaks(r); n != 0 || grants(r) != 1 || len(r.Findings) != 0 {
		t.Errorf("running, not named: %d leaks, %d grants, findings %v; want the grant to stand", n, grants(r), r.Findings)
	}
	ended := running(1)
	ended.Phase = workload.PhaseSucceeded
	if r := at(10, ended, false); grants(r) != 0 {
		t.Errorf("ended, not named: %d grants, want none", grants(r))
	}
	at(15, running(1), true, holds(1, 4))
	if r := at(20, running(1), false); grants(r) != 0 {
		t.Errorf("not named, and nothing shows that it runs: %d grants, want none", grants(r))
	}
}

// A PID that was reused is another process: the owner of the first is not
// remembered for the second.
func TestReusedPIDHasItsOwnOwner(t *testing.T) {
	a := New(Policy{})
	s := node(0, holds(1, 4))
	s.Objects.Pods = []workload.Pod{running(1)}
	a.Attribute(s)
	s = node(5, holds(1, 4))
	s.Processes[1] = sample.Process{StartTicks: 9, Cgroup: "", Gone: true}
	if r := a.Attribute(s); r.Identities[1].Holder.Kind != workload.KindUnknown {
		t.Errorf("a reused PID belongs to %+v, want unknown", r.Identities[1].Holder)
	}
}

// On a node without NVML, devices are slots of the resource.
func TestSlotsWithoutNVML(t *testing.T) {
	s := sample.Sample{Node: "n", NVML: sample.Library{Error: "library not found"}, Grants: sample.Grants{
		Readable:    true,
		Pods:        []workload.PodResources{given(1, "vfio-2")},
		Allocatable: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{"vfio-1", "vfio-2", "vfio-3"}}},
	}, Objects: sample.Objects{Known: true, Pods: []workload.Pod{running(1)}}}
	r := New(Policy{}).Attribute(s)
	if len(r.Partitions) != 3 {
		t.Fatalf("%d slots, want 3", len(r.Partitions))
	}
	if p := r.Partitions[1]; len(p.Grants) != 1 || p.Mode != gpu.ModeExclusive || p.ID.Device != "n/1" || p.Capacity != nil {
		t.Errorf("second slot: %+v, want one exclusive grant on n/1 and no capacity", p)
	}
	if len(r.Findings) != 0 {
		t.Errorf("findings %+v, want none", r.Findings)
	}
}

// Replicas of one card are one slot, which has the card's UUID.
func TestSlotsOfReplicas(t *testing.T) {
	id := string(deviceUUID(1))
	s := sample.Sample{Node: "n", Grants: sample.Grants{Readable: true,
		Pods:        []workload.PodResources{given(1, id+"::0"), given(2, id+"::1")},
		Allocatable: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{id + "::0", id + "::1", id + "::2"}}},
	}, Objects: sample.Objects{Known: true, Pods: []workload.Pod{running(1), running(2)}}}
	r := New(Policy{}).Attribute(s)
	if len(r.Partitions) != 1 || r.Partitions[0].ID.Device != deviceUUID(1) {
		t.Fatalf("partitions %+v, want the one card", r.Partitions)
	}
	if p := r.Partitions[0]; p.Mode != gpu.ModeShared || len(p.Grants) != 2 || deref(p.Replicas) != 3 {
		t.Errorf("mode %s, %d grants, replicas %v; want shared, 2, 3", p.Mode, len(p.Grants), p.Replicas)
	}
}

// Two compute instances of one GPU instance, given to two pods, keep their
// compute slices' parts of it.
func TestComputeInstancesShareAnInstance(t *testing.T) {
	s := node(0)
	a, b := gpu.UUID("MIG-00000000-0000-5000-8000-000000000001"), gpu.UUID("MIG-00000000-0000-5000-8000-000000000002")
	s.Devices[0].MIG = true
	s.Devices[0].Instances = []sample.Instance{{
		ID: 1, ComputeSlices: 3, Placement: gpu.Placement{Size: 4}, Memory: &sample.Memory{Total: 20 << 30},
		Compute: []sample.ComputeInstance{{ID: 0, UUID: a, Slices: 1}, {ID: 1, UUID: b, Slices: 2}},
	}}
	s.Objects.Pods = []workload.Pod{running(1), running(2)}
	s.Grants.Pods = []workload.PodResources{given(1, string(a)), given(2, string(b))}
	r := New(Policy{}).Attribute(s)
	g := r.Partitions[1].Grants
	if len(g) != 2 || g[0].Reserved != (gpu.Ratio{Num: 1, Den: 3}) || g[1].Reserved != (gpu.Ratio{Num: 2, Den: 3}) {
		t.Errorf("grants %+v, want 1/3 and 2/3", g)
	}
}
