// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// cards is a node with as many cards as lists of processes, minor n being card n.
func cards(second int64, held ...[]sample.Held) sample.Sample {
	s := node(second)
	s.Devices = nil
	for i, h := range held {
		one := node(second, h...)
		d := one.Devices[0]
		d.UUID, d.Index, d.Minor = deviceUUID(i), i, i
		s.Devices = append(s.Devices, d)
		for _, p := range h {
			// A PID is of the pod by its last digit: pod 3 has 3, 13, 23.
			s.Processes[p.PID] = sample.Process{StartTicks: 7, Comm: "python", Cgroup: cgroupOf(p.PID % 10)}
		}
	}
	return s
}

func hamiPod(i int, annotation string) workload.Pod {
	pod := running(i)
	if annotation != "" {
		pod.Annotations = map[string]string{workload.AnnotationHAMiAllocated: annotation}
	}
	pod.Containers = []workload.Container{{Name: "c", Limits: map[string]int64{"nvidia.com/gpu": 1}}}
	return pod
}

func shareOf(card, mib int) string { return fmt.Sprintf("%s,NVIDIA,%d,0:;", deviceUUID(card), mib) }

func leaksOn(r Result) (cards []int) {
	for i, p := range r.Partitions {
		for _, h := range p.Holdings {
			if h.Leak {
				cards = append(cards, i)
			}
		}
	}
	return cards
}

// A pod with one slot of HAMi's pool and no word of where it is holds memory in
// the right on one card, and no more: nonsense in an annotation excuses nothing.
func TestUnreadableAnnotationIsOneDevice(t *testing.T) {
	for name, annotation := range map[string]string{"none": "", "unreadable": "nonsense", "another node's": "GPU-far,NVIDIA,1,0:;"} {
		s := cards(0, []sample.Held{holds(1, 4)}, []sample.Held{holds(11, 4)}, []sample.Held{holds(21, 4)})
		s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(7))+"-3")}
		s.Objects.Pods = []workload.Pod{hamiPod(1, annotation)}
		r := New(Policy{}).Attribute(s)
		if got := leaksOn(r); len(got) != 2 || kinds(r)[InventoryConflict] != 1 || kinds(r)[StaleDeviceID] != 0 {
			t.Errorf("%s: leaks on %v, findings %v; want two leaks and one conflict", name, got, kinds(r))
		}
	}
}

// What an annotation said before it was removed, or became unreadable, stands.
func TestAnnotationOfBeforeStands(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, annotation string) Result {
		s := cards(second, []sample.Held{holds(1, 4)}, nil)
		s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1))+"-3")}
		s.Objects.Pods = []workload.Pod{hamiPod(1, annotation)}
		return a.Attribute(s)
	}
	want := encoded(t, at(0, shareOf(0, 8192)).Partitions[0].Grants)
	for i, annotation := range []string{"", "nonsense", "", shareOf(0, 8192)} {
		r := at(int64(5*i+5), annotation)
		if got := encoded(t, r.Partitions[0].Grants); got != want || len(leaksOn(r)) != 0 {
			t.Errorf("then %q: grants %s, want those of before", annotation, got)
		}
	}
	// The kubelet gave it no slot, so nothing was ever HAMi's.
	s := cards(25, []sample.Held{holds(1, 4)}, nil)
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
	s.Objects.Pods = []workload.Pod{hamiPod(1, "")}
	if got := leaksOn(a.Attribute(s)); len(got) != 1 {
		t.Errorf("without a slot: leaks on %v, want card 0", got)
	}
}

// The leak of a pod with an annotation that counts for nothing says why.
func TestLeakSaysWhyTheAnnotationCountsForNothing(t *testing.T) {
	for want, change := range map[string]func(*workload.Pod){
		"given nothing of hami's": func(p *workload.Pod) {
			p.Annotations = map[string]string{workload.AnnotationHAMiAllocated: shareOf(0, 1)}
		},
		"no reservation pod of group g": func(p *workload.Pod) { kaiFraction(p) },
		"placed by Kubernetes' own":     func(p *workload.Pod) { kaiFraction(p); p.DefaultScheduler = true },
		"given nothing of koordinator's": func(p *workload.Pod) {
			p.Annotations = map[string]string{workload.AnnotationKoordinator: `{"gpu":[{"minor":0}]}`}
		},
		"asks for whole devices as well,": func(p *workload.Pod) { kaiFraction(p); p.Containers = hamiPod(1, "").Containers },
	} {
		s := cards(0, []sample.Held{holds(1, 4)})
		pod := running(1)
		change(&pod)
		s.Objects.Pods = []workload.Pod{pod}
		s.Grants.Pods = []workload.PodResources{given(1)}
		r := New(Policy{}).Attribute(s)
		if len(r.Findings) != 1 || r.Findings[0].Kind != UnallocatedUse || !strings.Contains(strings.Join(r.Findings[0].Evidence, "; "), want) {
			t.Errorf("want one leak that says %q: %s", want, encoded(t, r.Findings))
		}
	}
}

func kaiFraction(p *workload.Pod) {
	p.Annotations, p.Labels = map[string]string{"gpu-fraction": "0.5"}, map[string]string{"runai-gpu-group": "g"}
}

// A fraction of KAI's that cannot be read keeps an unknown part of the group's
// card, and excuses nothing on any other.
func TestUnreadableFractionOfAGroup(t *testing.T) {
	s := cards(0, []sample.Held{holds(1, 4)}, []sample.Held{holds(11, 4)})
	pod, reservation := running(1), running(2)
	kaiFraction(&pod)
	pod.Annotations["gpu-fraction"] = "half"
	reservation.Namespace, reservation.Labels = "kai-resource-reservation", pod.Labels
	s.Objects.Pods = []workload.Pod{pod, reservation}
	listed := given(2, string(deviceUUID(0)))
	listed.Namespace = reservation.Namespace
	s.Grants.Pods = []workload.PodResources{given(1), listed}
	r := New(Policy{}).Attribute(s)
	g := r.Partitions[0].Grants
	if len(g) != 1 || g[0].Mode != gpu.ModeFraction || !g[0].Reserved.IsZero() || kinds(r)[InventoryConflict] != 1 {
		t.Errorf("grants %s, findings %v; want one fraction of unknown size and a conflict", encoded(t, g), kinds(r))
	}
	if got := leaksOn(r); len(got) != 1 || got[0] != 1 {
		t.Errorf("leaks on %v, want card 1", got)
	}
}

// What a scheduler's own resources are spelled like says nothing of devices;
// ids of NVIDIA's plugin do, whatever annotation stands beside them.
func TestExplains(t *testing.T) {
	hami := annotation{source: workload.SourceHAMi}
	for id, want := range map[string]bool{string(deviceUUID(1)) + "-3": true, string(deviceUUID(1)): false, string(deviceUUID(1)) + "::3": false, "some-id": false} {
		if got := hami.explains("nvidia.com/gpu", workload.ParseDeviceID(id)); got != want {
			t.Errorf("HAMi explains %s: %v, want %v", id, got, want)
		}
	}
	aliyun := annotation{source: workload.SourceAliyun}
	if !aliyun.explains("aliyun.com/gpu-mem", workload.DeviceID{Form: workload.FormOpaque}) || aliyun.explains("nvidia.com/gpu", workload.DeviceID{Form: workload.FormOpaque}) {
		t.Error("Aliyun explains its own resource's ids, and no other's")
	}
	if (annotation{}).explains("nvidia.com/gpu", workload.ParseDeviceID(string(deviceUUID(1))+"-3")) {
		t.Error("no annotation explains nothing")
	}
}
