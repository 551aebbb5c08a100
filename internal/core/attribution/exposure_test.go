// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func exposures(r Result) (out []Finding) {
	for _, f := range r.Findings {
		if f.Kind == Exposure {
			out = append(out, f)
		}
	}
	return out
}

// twoCards is a node with cards 1 and 2 (minors 1 and 2) and one pod.
func twoCards(pod workload.Pod) sample.Sample {
	s := node(0)
	s.Devices[0].Minor = 1
	d := s.Devices[0]
	d.UUID, d.Index, d.Minor = deviceUUID(2), 1, 2
	s.Devices = append(s.Devices, d)
	s.Objects.Pods = []workload.Pod{pod}
	return s
}

// What a container can open decides; the specification does not, where the
// devices cgroup and the device nodes could be read.
func TestReachDecidesExposure(t *testing.T) {
	pod := running(1)
	pod.Containers = []workload.Container{{Name: "c", Env: map[string]string{visibleDevices: "all"}}}
	s := twoCards(pod)
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}

	if got := exposures(New(Policy{}).Attribute(s)); len(got) != 1 || got[0].Count != 1 || got[0].Evidence[0] != "spec: "+visibleDevices+"=all" {
		t.Errorf("by the specification: %+v, want one finding of one GPU", got)
	}
	s.Reach = []sample.Reach{{PodUID: podUID(1), Minors: []int{1}, Evidence: "devices cgroup"}}
	if got := exposures(New(Policy{}).Attribute(s)); len(got) != 0 {
		t.Errorf("reaching only its own card: %+v, want none", got)
	}
	s.Reach[0].Minors = []int{1, 2}
	if got := exposures(New(Policy{}).Attribute(s)); len(got) != 1 || got[0].Partitions[0] != string(deviceUUID(2)) {
		t.Errorf("reaching a foreign card: %+v, want one finding of that card", got)
	}
}

// A static pod's containers are seen under its hash, not its object's UID.
func TestReachOfStaticPod(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef"
	pod := running(1)
	pod.Annotations = map[string]string{workload.AnnotationConfigHash: hash, workload.AnnotationConfigMirror: hash}
	pod.Containers = []workload.Container{{Name: "c", Privileged: true, Env: map[string]string{visibleDevices: "all"}}}
	s := twoCards(pod)
	s.Reach = []sample.Reach{{PodUID: hash, Minors: nil, Evidence: "devices cgroup"}}
	if got := exposures(New(Policy{}).Attribute(s)); len(got) != 0 {
		t.Errorf("a static pod that reaches nothing: %+v, want none", got)
	}
}

// A grant on a MIG instance gives its device's node.
func TestReachOfMIGDevice(t *testing.T) {
	s := twoCards(running(1))
	mig := gpu.UUID("MIG-00000000-0000-5000-8000-000000000001")
	s.Devices[0].MIG = true
	s.Devices[0].Instances = []sample.Instance{{ID: 1, Placement: gpu.Placement{Size: 1}, Memory: &sample.Memory{Total: 5 << 30},
		Compute: []sample.ComputeInstance{{UUID: mig}}}}
	s.Grants.Pods = []workload.PodResources{given(1, string(mig))}
	s.Reach = []sample.Reach{{PodUID: podUID(1), Minors: []int{1}, Evidence: "devices cgroup"}}
	if got := exposures(New(Policy{}).Attribute(s)); len(got) != 0 {
		t.Errorf("the node of its own instance's device: %+v, want none", got)
	}
}

// A DaemonSet's privileged pod that has nothing to do with GPUs is worth a note.
// Any sign of a GPU makes it a warning, and so does another owner: a tenant's
// privileged pod can take any GPU at any time.
func TestExposureOfNodeServices(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*workload.Pod, *sample.Sample)
		want   Severity
	}{
		"network daemon": {func(*workload.Pod, *sample.Sample) {}, Info},
		"static pod": {func(p *workload.Pod, _ *sample.Sample) {
			p.Owner = workload.Owner{Kind: "Node"}
			p.Annotations = map[string]string{workload.AnnotationConfigMirror: "0123456789abcdef0123456789abcdef"}
		}, Info},
		"says it is of the node": {func(p *workload.Pod, _ *sample.Sample) { p.Owner.Kind = "Node" }, Warning},
		"a job":                  {func(p *workload.Pod, _ *sample.Sample) { p.Owner.Kind = "Job" }, Warning},
		"no owner":               {func(p *workload.Pod, _ *sample.Sample) { p.Owner = workload.Owner{} }, Warning},
		"not privileged":         {func(p *workload.Pod, _ *sample.Sample) { p.Containers[0].Privileged = false }, Warning},
		"asks to see all": {func(p *workload.Pod, _ *sample.Sample) {
			p.Containers[0].Env = map[string]string{visibleDevices: "all"}
		}, Warning},
		"NVIDIA's runtime": {func(p *workload.Pod, _ *sample.Sample) { p.RuntimeClass = "nvidia" }, Warning},
		"was given another": {func(_ *workload.Pod, s *sample.Sample) {
			s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}
		}, Warning},
		"uses one": {func(_ *workload.Pod, s *sample.Sample) {
			used := node(0, holds(1, 4))
			s.Devices[1].Processes, s.Processes = used.Devices[0].Processes, used.Processes
		}, Warning},
	} {
		pod := running(1)
		pod.Owner = workload.Owner{Kind: "DaemonSet", Name: "cni"}
		pod.Containers = []workload.Container{{Name: "c", Privileged: true}}
		s := twoCards(pod)
		c.change(&s.Objects.Pods[0], &s)
		s.Reach = []sample.Reach{{PodUID: podUID(1), Minors: []int{1, 2}, Evidence: "device-nodes"}}
		if got := exposures(New(Policy{}).Attribute(s)); len(got) != 1 || got[0].Severity != c.want {
			t.Errorf("%s: %+v, want one finding, %s", name, got, c.want)
		}
	}
}
