// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func asking(uid string, cpu, memory int64, change ...func(*workload.Pod)) workload.Pod {
	p := workload.Pod{Namespace: "web", Name: uid, UID: uid, Phase: "Running", Containers: []workload.Container{{Kind: workload.ContainerApp, CPUMilli: cpu, MemoryBytes: memory, Running: true}}}
	for _, f := range change {
		f(&p)
	}
	return p
}

// TestOtherPods: what pods without a GPU ask for is what the scheduler takes them to
// ask for. Ended ones ask for nothing, those with a GPU or a wish for one are no
// others, and DaemonSets' and static pods stay with the node.
func TestOtherPods(t *testing.T) {
	s := node(1, holds(2, 4))
	granted, holding := running(1), running(2)
	granted.Containers = []workload.Container{{CPUMilli: 1 << 20}}
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
	s.Objects.Node, s.Objects.Known = &workload.Node{Name: "n"}, true
	container := func(kind workload.ContainerKind, cpu int64) workload.Container {
		return workload.Container{Kind: kind, CPUMilli: cpu, MemoryBytes: cpu, Running: true}
	}
	s.Objects.Pods = []workload.Pod{granted, holding,
		asking("web", 500, 1000),
		asking("init", 100, 0, func(p *workload.Pod) {
			p.Containers = append(p.Containers, container(workload.ContainerSidecar, 50), container(workload.ContainerInit, 300), container(workload.ContainerEphemeral, 9000))
		}), // max(100+50, 50+300)
		asking("daemon", 200, 10, func(p *workload.Pod) { p.Owner.Kind = "DaemonSet" }),
		asking("static", 30, 10, func(p *workload.Pod) { p.Annotations = map[string]string{workload.AnnotationConfigMirror: "x"} }),
		asking("ended", 7, 7, func(p *workload.Pod) { p.Phase = workload.PhaseSucceeded }),
		asking("gone", 7, 7, func(p *workload.Pod) { p.Gone = true }),
		asking("waits for its GPU", 7, 7, func(p *workload.Pod) { p.Containers[0].Limits = map[string]int64{"nvidia.com/mig-1g.10gb": 1} }),
		asking("waits for its claim", 7, 7, func(p *workload.Pod) { p.ClaimNames = []string{"c"} }),
	}
	want := &OtherPods{Requests: Requests{Pods: 4, CPUMilli: 1080, MemoryBytes: 1370}, Movable: Requests{Pods: 2, CPUMilli: 850, MemoryBytes: 1350}}
	if diff := cmp.Diff(want, New(Policy{}).Attribute(s).Others); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Objects.Known = false
	if got := New(Policy{}).Attribute(s).Others; got != nil {
		t.Errorf("nothing is known of the pods, and %+v is said", got)
	}
}

// TestCardsAreThoseThatTellTheirProfiles: each model once; a card without MIG tells
// nothing.
func TestCardsAreThoseThatTellTheirProfiles(t *testing.T) {
	profiles := []gpu.ProfilePlacements{{ProfileID: 19, Name: "1g.10gb", Placements: []gpu.Placement{{Start: 0, Size: 1}}, Bytes: 9856 << 20, SMs: 14, ComputeSlices: 1}}
	tells := sample.Device{UUID: "GPU-a", Name: "A100", State: gpu.StateOK, MIG: true, MemorySlices: 8, Memory: &sample.Memory{Total: 80 << 30}, Placements: profiles}
	again, silent := tells, tells
	again.UUID = "GPU-b"
	silent.UUID, silent.Name, silent.Placements = "GPU-c", "L4", nil
	r := New(Policy{}).Attribute(sample.Sample{Devices: []sample.Device{tells, again, silent}, Objects: sample.Objects{Node: &workload.Node{Name: "n"}}})
	want := []Card{{Model: "A100", CapacityBytes: 80 << 30, MemorySlices: 8, Profiles: profiles}}
	if diff := cmp.Diff(want, r.Machine.Cards); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAboutAPod: the template of whoever labels it, the wishes, and how long it waited;
// half of a time is none.
func TestAboutAPod(t *testing.T) {
	at := func(min int) *time.Time { v := time.Date(2026, 11, 3, 9, min, 0, 0, time.UTC); return &v }
	p := workload.Pod{Labels: map[string]string{"controller-revision-hash": "web-55"}, CreatedAt: at(0), ScheduledAt: at(20),
		Annotations: map[string]string{workload.AnnotationAdvice: "off until 2027-01-31: launch", workload.AnnotationLatency: "p99 200 ms"}}
	want := PodAbout{Template: "web-55", Advice: "off until 2027-01-31: launch", Latency: "p99 200 ms", CreatedMS: at(0).UnixMilli(), ScheduledMS: at(20).UnixMilli()}
	if diff := cmp.Diff(want, aboutPod(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.ScheduledAt, p.Annotations = nil, nil
	if diff := cmp.Diff(PodAbout{Template: "web-55"}, aboutPod(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
