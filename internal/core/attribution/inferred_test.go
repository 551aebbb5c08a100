// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func asks(i int, kind workload.ContainerKind, resource string, n int64) workload.Pod {
	pod := running(i)
	pod.Containers = []workload.Container{
		{Name: "first", Kind: kind, Running: true, Limits: map[string]int64{resource: n}}, {Name: "c", Kind: workload.ContainerApp},
	}
	return pod
}

// A kubelet that has just started and an agent that has, too: a pod that runs
// and asks for one card was given one, where it holds memory and nobody else was
// given the card, and no more than one.
func TestRunningPodsOfAFreshKubelet(t *testing.T) {
	s := cards(0, []sample.Held{holds(2, 1), holds(1, 1)}, []sample.Held{holds(11, 4)}, []sample.Held{holds(21, 4)})
	s.Objects.Pods = []workload.Pod{asks(1, workload.ContainerApp, "nvidia.com/gpu", 1), running(2)}
	s.Grants.Pods = []workload.PodResources{given(2, string(deviceUUID(0)))}
	r := New(Policy{}).Attribute(s)
	if got := fmt.Sprint(leaksOn(r)); got != "[0 2]" {
		t.Errorf("leaks on %s, want cards 0, which is another's, and 2", got)
	}
	g := r.Partitions[1].Grants
	if len(g) != 1 || g[0].Source != "spec" || g[0].Mode != gpu.ModeExclusive || g[0].Resource != "nvidia.com/gpu" {
		t.Errorf("grants %s, want one of the specification", encoded(t, g))
	}
	for _, p := range r.Partitions {
		if p.GrantsKnown {
			t.Errorf("%s: what the list does not name is not known to be nobody's", p.ID)
		}
	}
	s.Grants.Pods = append(s.Grants.Pods, given(1, string(deviceUUID(1))))
	if r := New(Policy{}).Attribute(s); !r.Partitions[2].GrantsKnown || len(r.Partitions[1].Grants) != 1 || r.Partitions[1].Grants[0].Source != "kubelet" {
		t.Errorf("a whole list: %s", encoded(t, r.Partitions[1]))
	}
}

// Parts of a card are HAMi's to give: who asks NVIDIA's plugin for a whole one was
// given another.
func TestNoWholeCardIsInferredBesideParts(t *testing.T) {
	s := cards(0, []sample.Held{holds(1, 1), holds(2, 1)})
	s.Objects.Pods = []workload.Pod{asks(1, workload.ContainerInit, "nvidia.com/gpu", 1), hamiPod(2, shareOf(0, 8192))}
	s.Grants.Pods = []workload.PodResources{given(1), given(2, string(deviceUUID(0))+"-1")}
	r := New(Policy{}).Attribute(s)
	if got := kinds(r); got[DoubleOwner] != 0 || got[UnallocatedUse] != 1 {
		t.Errorf("findings %v, want the leak alone", got)
	}
}

// An init container that asks for a MIG device was given one of that profile.
func TestInitContainerOfAProfile(t *testing.T) {
	s := node(0)
	d := &s.Devices[0]
	d.MIG = true
	for i, profile := range []string{"3g.20gb", "1g.5gb"} {
		h := holds(1+10*i, 1)
		d.Instances = append(d.Instances, sample.Instance{
			ID: uint32(i + 1), Profile: profile, Placement: gpu.Placement{Start: uint32(4 * i), Size: uint32(4 - 3*i)},
			Memory: &sample.Memory{Total: 4 << 30, Used: 1 << 30}, Processes: []sample.Held{h},
			Compute: []sample.ComputeInstance{{UUID: gpu.UUID(fmt.Sprintf("MIG-00000000-0000-5000-8000-%012d", i))}},
		})
		s.Processes[h.PID] = sample.Process{StartTicks: 7, Cgroup: cgroupOf(1)}
	}
	s.Objects.Pods = []workload.Pod{asks(1, workload.ContainerInit, "nvidia.com/mig-1g.5gb", 2)}
	s.Grants.Pods = []workload.PodResources{given(1)}
	r := New(Policy{}).Attribute(s)
	if got := fmt.Sprint(leaksOn(r)); got != "[1]" || len(r.Partitions[2].Grants) != 1 || !r.Partitions[2].GrantsKnown {
		t.Errorf("leaks on %s, grants of the small instance %s; want a leak on the large one alone", got, encoded(t, r.Partitions[2].Grants))
	}
	if r.Partitions[2].Mode != gpu.ModeMIG {
		t.Errorf("mode %s, want mig", r.Partitions[2].Mode)
	}
}

// Of a pod that was given a card which nothing names, being able to open one
// is no exposure; being able to open two is.
func TestExposureOfUnnamedDevices(t *testing.T) {
	for minors, want := range map[int]int{1: 0, 2: 1} {
		s := cards(0, nil, nil, nil)
		s.Objects.Pods = []workload.Pod{asks(1, workload.ContainerInit, "nvidia.com/gpu", 1)}
		s.Grants.Pods = []workload.PodResources{given(1)}
		s.Reach = []sample.Reach{{PodUID: podUID(1), Evidence: "device-nodes", Minors: []int{0, 1, 2}[:minors]}}
		if got := exposures(New(Policy{}).Attribute(s)); len(got) != want {
			t.Errorf("%d minors: %s, want %d findings", minors, encoded(t, got), want)
		}
	}
}

// Containers of one pod, and pods of one claim, that share a part of a card
// keep that part once.
func TestPartOfACardIsKeptOnce(t *testing.T) {
	bytes := uint64(10 << 30)
	claim := workload.Claim{Namespace: "ns", Name: "c", UID: "u", Allocated: true, Results: []workload.ClaimResult{
		{Driver: "gpu.nvidia.com", Pool: "n", Device: "gpu-0", ShareID: "s", ConsumedMemory: &bytes},
	}}
	listed := func(i int) workload.PodResources {
		d := []workload.ClaimDevices{{Namespace: "ns", Name: "c", Devices: []workload.ClaimDevice{{Driver: "gpu.nvidia.com", Pool: "n", Device: "gpu-0", ShareID: "s"}}}}
		return workload.PodResources{Namespace: "ns", Name: fmt.Sprintf("p%d", i), Containers: []workload.ContainerResources{{Name: "a", Dynamic: d}, {Name: "b", Dynamic: d}}}
	}
	s := cards(0, nil)
	for i := 1; i <= 2; i++ {
		claim.Reserved = append(claim.Reserved, workload.ClaimConsumer{Pod: fmt.Sprintf("p%d", i), UID: podUID(i)})
		s.Objects.Claims = []workload.Claim{claim}
		s.Objects.Pods = append(s.Objects.Pods, running(i))
		s.Grants.Pods = append(s.Grants.Pods, listed(i))
		mode := map[int]gpu.Mode{1: gpu.ModeFraction, 2: gpu.ModeSharedClaim}[i]
		r := New(Policy{}).Attribute(s)
		for _, g := range r.Partitions[0].Grants {
			if g.Mode != mode || g.Reserved.Of(40<<30) != bytes || g.Replicas != 1 || (g.ReservedBytes == nil) != (i == 2) {
				t.Errorf("%d pods: grant %s, want mode %s, 10 GiB and one id", i, encoded(t, g), mode)
			}
		}
		if len(r.Partitions[0].Grants) != i || len(r.Findings) != 0 {
			t.Errorf("%d pods: %d grants, findings %s", i, len(r.Partitions[0].Grants), encoded(t, r.Findings))
		}
	}
	// Nobody knows the claim: a share id says that it is a part, of unknown size.
	s.Objects.Claims = nil
	s.Grants.Pods = s.Grants.Pods[:1]
	if g := New(Policy{}).Attribute(s).Partitions[0].Grants; len(g) != 1 || !g[0].Reserved.IsZero() {
		t.Errorf("of an unknown claim with a share id: %s, want nothing kept", encoded(t, g))
	}
}
