// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// kinds counts the findings by kind.
func kinds(r Result) map[FindingKind]int {
	out := map[FindingKind]int{}
	for _, f := range r.Findings {
		out[f.Kind]++
	}
	return out
}

// Annotations that a pod may write on itself do not change what the device
// plugin or a claim gave it, whatever the id is spelled like: not a MIG device,
// not GKE's name of a card, not a replica under MPS.
func TestAnnotationsDoNotShedGrants(t *testing.T) {
	card := string(deviceUUID(1))
	mig := "MIG-00000000-0000-5000-8000-000000000001"
	for _, annotation := range []map[string]string{
		{"hami.io/vgpu-devices-allocated": card + ",NVIDIA,1,0:;"},
		{"hami.io/vgpu-devices-allocated": "nonsense"},
		{"gpu-fraction": "0.01"},
	} {
		for _, id := range []string{card, "nvidia0", card + "::0", "nvidia0/vgpu0", mig} {
			s := node(0, holds(1, 4))
			s.Objects.Node = &workload.Node{Labels: map[string]string{"nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}}
			s.Grants.Pods = []workload.PodResources{given(1, id)}
			if id == mig {
				d := &s.Devices[0]
				d.MIG, d.Instances = true, []sample.Instance{{
					ID: 1, Placement: gpu.Placement{Size: 4}, Memory: d.Memory, Processes: d.Processes,
					Compute: []sample.ComputeInstance{{UUID: gpu.UUID(mig)}},
				}}
				d.Processes = nil
			}
			pod := running(1)
			s.Objects.Pods = []workload.Pod{pod}
			want := encoded(t, grantsOf(New(Policy{}).Attribute(s)))
			pod.Annotations = annotation
			s.Objects.Pods = []workload.Pod{pod}
			if diff := cmp.Diff(want, encoded(t, grantsOf(New(Policy{}).Attribute(s)))); diff != "" {
				t.Errorf("%s with %v: the grant changed:\n%s", id, annotation, diff)
			}
		}
	}
}

func grantsOf(r Result) []Grant {
	var out []Grant
	for _, p := range r.Partitions {
		out = append(out, p.Grants...)
	}
	return out
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A KAI fraction without a group is a wish and no grant: KAI labels what it
// placed with the group. Nor is one with a group that no reservation pod on this
// node holds a device for: any pod can bear the label.
func TestFractionWithoutGroupIsNoGrant(t *testing.T) {
	for group, want := range map[string]map[FindingKind]int{
		"":  {UnallocatedUse: 1},
		"g": {UnallocatedUse: 1},
	} {
		s := node(0, holds(1, 4), holds(2, 4))
		s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
		taker := running(2)
		taker.Annotations = map[string]string{"gpu-fraction": "0.5"}
		if group != "" {
			taker.Labels = map[string]string{"runai-gpu-group": group}
		}
		s.Objects.Pods = []workload.Pod{running(1), taker}
		if diff := cmp.Diff(want, kinds(New(Policy{}).Attribute(s))); diff != "" {
			t.Errorf("group %q: findings:\n%s", group, diff)
		}
	}
}

// A program of a pod that is called like the MPS server is no MPS server: its
// memory stays its own, and it makes no card an MPS card.
func TestPodCalledLikeTheMPSServer(t *testing.T) {
	s := node(0, holds(9, 20))
	p := s.Processes[9]
	p.Comm = "nvidia-cuda-mps"
	s.Processes[9] = p
	card := string(deviceUUID(1))
	s.Objects.Node = &workload.Node{Labels: map[string]string{"nvidia.com/gpu.replicas": "2"}}
	s.Objects.Pods = []workload.Pod{running(1), running(2), running(9)}
	s.Grants.Pods = []workload.PodResources{given(1, card+"::0"), given(2, card+"::1")}
	got := New(Policy{Daemons: DefaultDaemons()}).Attribute(s).Partitions[0]
	if len(got.Holdings) != 1 || *got.Holdings[0].Bytes != 20<<30 || !got.Holdings[0].Leak || got.Mode != gpu.ModeShared {
		t.Errorf("mode %s, holdings %s; want 20 GiB of p9, a leak, in mode shared", got.Mode, encoded(t, got.Holdings))
	}
}

// A partition that was given whole to one pod and in part to another was
// handed out twice.
func TestWholeAndPartIsDoubleOwner(t *testing.T) {
	s := node(0, holds(1, 4))
	card := string(deviceUUID(1))
	s.Grants.Pods = []workload.PodResources{given(1, card), given(2, card+"-0")}
	other := running(2)
	other.Annotations = map[string]string{"hami.io/vgpu-devices-allocated": card + ",NVIDIA,4096,0:;"}
	s.Objects.Pods = []workload.Pod{running(1), other}
	if n := kinds(New(Policy{}).Attribute(s))[DoubleOwner]; n != 1 {
		t.Errorf("%d findings of a double owner, want 1", n)
	}
}

// Under the mixed strategy a MIG profile has a label of its own: the label of
// whole cards says nothing of it.
func TestReplicasOfProfile(t *testing.T) {
	s := node(0)
	mig := "MIG-00000000-0000-5000-8000-000000000001"
	s.Devices[0].MIG = true
	s.Devices[0].Instances = []sample.Instance{{
		ID: 1, Profile: "3g.20gb", Placement: gpu.Placement{Size: 4}, Memory: &sample.Memory{Total: 20 << 30},
		Compute: []sample.ComputeInstance{{UUID: gpu.UUID(mig)}},
	}}
	s.Objects.Pods = []workload.Pod{running(1)}
	for label, want := range map[string]gpu.Mode{"nvidia.com/gpu.replicas": gpu.ModeMIG, "nvidia.com/mig-3g.20gb.replicas": gpu.ModeShared} {
		id, count := mig, int64(1)
		if want == gpu.ModeShared {
			id, count = mig+"::0", 4
		}
		s.Grants.Pods = []workload.PodResources{given(1, id)}
		s.Objects.Node = &workload.Node{
			Labels:      map[string]string{label: "4", "nvidia.com/mig.strategy": "mixed"},
			Allocatable: map[string]int64{"nvidia.com/mig-3g.20gb": count},
		}
		r := New(Policy{}).Attribute(s)
		if r.Partitions[1].Mode != want || len(r.Findings) != 0 {
			t.Errorf("%s: mode %s, findings %v; want %s and none", label, r.Partitions[1].Mode, r.Findings, want)
		}
	}
}

// A pod that ended has no grant, also while the list cannot be read.
func TestEndedPodIsNotCarried(t *testing.T) {
	a := New(Policy{})
	s := node(0, holds(1, 4))
	s.Objects.Pods = []workload.Pod{running(1)}
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
	a.Attribute(s)
	s = node(5, holds(1, 4))
	s.Grants.Readable = false
	pod := running(1)
	pod.Phase = workload.PhaseFailed
	s.Objects.Pods = []workload.Pod{pod}
	if g := a.Attribute(s).Partitions[0].Grants; len(g) != 0 {
		t.Errorf("grants %s, want none", encoded(t, g))
	}
}

// A pod whose object was deleted by force still runs, and the kubelet still
// lists it: it has its grant, and takes nothing from itself.
func TestForceDeletedPodKeepsItsGrant(t *testing.T) {
	s := node(0, holds(1, 4))
	pod := running(1)
	pod.Gone = true
	s.Objects.Pods = []workload.Pod{pod}
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
	r := New(Policy{}).Attribute(s)
	if g := r.Partitions[0].Grants; leaks(r) != 0 || len(g) != 1 || g[0].Holder.PodUID != pod.UID {
		t.Errorf("%d leaks, grants %s; want none and its own", leaks(r), encoded(t, g))
	}
}

// What each container of a pod can open is joined, not only the first's.
func TestExposureJoinsContainers(t *testing.T) {
	s := node(0)
	other := s.Devices[0]
	other.UUID, other.Index, other.Minor = deviceUUID(2), 1, 1
	s.Devices = append(s.Devices, other)
	s.Objects.Pods = []workload.Pod{running(1)}
	s.Reach = []sample.Reach{
		{PodUID: podUID(1), ContainerID: "a", Minors: []int{0}, Evidence: "device-nodes"},
		{PodUID: podUID(1), ContainerID: "b", Minors: []int{0, 1}, Evidence: "device-nodes"},
	}
	r := New(Policy{}).Attribute(s)
	if len(r.Findings) != 1 || r.Findings[0].Count != 2 || len(r.Findings[0].Partitions) != 2 || len(r.Findings[0].Evidence) != 1 {
		t.Errorf("findings %s, want one of two devices", encoded(t, r.Findings))
	}
}

// A driver that does not tell its reserve counts it as used: what is left of
// the use is then no pod's for certain, and the balance is an estimate.
func TestUnknownReserveIsAnEstimate(t *testing.T) {
	s := node(0)
	s.Devices[0].Memory = &sample.Memory{Total: 40 << 30, Used: 5 << 30, ReserveUnknown: true}
	s.Devices[0].Processes = []sample.Held{{PID: 1, Kind: sample.KindCompute}}
	s.Processes[1] = sample.Process{StartTicks: 7, Comm: "python", Cgroup: cgroupOf(1)}
	s.Objects.Pods = []workload.Pod{running(1)}
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
	p := New(Policy{}).Attribute(s).Partitions[0]
	if p.Grade != gpu.Estimated || p.Holdings[0].Grade != gpu.Estimated {
		t.Errorf("grade %s, holding %s; want estimated both", p.Grade, p.Holdings[0].Grade)
	}
}

// Equal histories give equal bytes, run after run: no order of a map shows.
func TestRunsAreEqual(t *testing.T) {
	s := node(0, holds(1, 1), holds(2, 1))
	s.Objects.Pods = []workload.Pod{running(1), running(2)}
	claimant := &s.Objects.Pods[0]
	claimant.ExtendedClaim = "c"
	limits := map[string]int64{}
	for i := range 8 {
		limits[fmt.Sprintf("nvidia.com/kind-%d", i)] = 1
	}
	claimant.Containers = []workload.Container{{Name: "c", Limits: limits}}
	s.Objects.Claims = []workload.Claim{{Namespace: "ns", Name: "c", Allocated: true}}
	s.Grants.Pods = []workload.PodResources{{Namespace: "ns", Name: "p1", Containers: []workload.ContainerResources{{
		Name: "c", Dynamic: []workload.ClaimDevices{{Namespace: "ns", Name: "c", Devices: []workload.ClaimDevice{{
			Driver: "gpu.nvidia.com", Pool: "n", Device: "gpu-0",
		}}}},
	}}}}
	taker := &s.Objects.Pods[1]
	taker.Annotations, taker.Labels = map[string]string{"gpu-fraction": "0.5"}, map[string]string{"runai-gpu-group": "g"}
	for i, uuid := range []gpu.UUID{deviceUUID(1), deviceUUID(2), deviceUUID(3)} {
		reservation := running(10 + i)
		reservation.Namespace = "kai-resource-reservation"
		reservation.Labels = map[string]string{"runai-gpu-group": "g"}
		reservation.Annotations = map[string]string{"run.ai/reserve_for_gpu_index": string(uuid)}
		s.Objects.Pods = append(s.Objects.Pods, reservation)
	}
	first := encoded(t, New(Policy{}).Attribute(s))
	for range 40 {
		if diff := cmp.Diff(first, encoded(t, New(Policy{}).Attribute(s))); diff != "" {
			t.Fatalf("another run, another result:\n%s", diff)
		}
	}
}

// A pod cannot hide that its node offers more than it has by an annotation of
// its own, as a scheduler's slots would.
func TestForgedAnnotationHidesNoStaleResource(t *testing.T) {
	for slots, want := range map[bool]int{false: 1, true: 0} {
		s := cards(0, nil)
		s.Objects.Node = &workload.Node{Allocatable: map[string]int64{"nvidia.com/gpu": 10}}
		pod := running(1)
		pod.Annotations = map[string]string{workload.AnnotationHAMiAllocated: shareOf(0, 1)}
		s.Objects.Pods, s.Grants.Pods = []workload.Pod{pod}, []workload.PodResources{given(1)}
		if slots {
			s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(0))+"-3")}
		}
		if got := kinds(New(Policy{}).Attribute(s))[StaleResource]; got != want {
			t.Errorf("with slots %v: %d stale resources, want %d", slots, got, want)
		}
	}
}
