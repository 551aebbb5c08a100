// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// head is a header with one node of one GPU; a test adds the timeline.
const head = `capture: 1
window: {start: "2026-11-03T10:00:00Z", end: "2026-11-03T10:01:00Z"}
interval: 20
nodes:
- name: n
  gpus: [{uuid: GPU-1, index: 0, minor: 3, model: T, total_mib: 100, reserved_mib: 10}]
timeline:
`

func mustRead(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(text), "story.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func samples(t *testing.T, text string) []sample.Sample {
	t.Helper()
	return slices.Collect(mustRead(t, text).Samples("n"))
}

func TestSamplesAtTicksAndEntries(t *testing.T) {
	got := samples(t, head+`
- {at: 0, node: n, gpus: {GPU-1: {used_mib: 5}}}
- {at: 33.5, node: n, gpus: {GPU-1: {used_mib: 6}}}
- {at: 40, node: n, gpus: {GPU-1: {used_mib: 7}}}
- {at: 90, node: n, gpus: {GPU-1: {used_mib: 8}}}
`)
	var at []int64
	var used []uint64
	start := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	for _, s := range got {
		at = append(at, s.MonoMS)
		used = append(used, s.Devices[0].Memory.Used/gpu.MiB)
		if want := start.Add(time.Duration(s.MonoMS) * time.Millisecond); !s.At.Equal(want) {
			t.Errorf("at %d ms the clock shows %v, want %v", s.MonoMS, s.At, want)
		}
	}
	if diff := cmp.Diff([]int64{0, 20000, 33500, 40000, 60000}, at); diff != "" {
		t.Errorf("sample times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{5, 5, 6, 7, 7}, used); diff != "" {
		t.Errorf("used MiB (-want +got):\n%s", diff)
	}
}

func TestSamplesBeforeTheWindow(t *testing.T) {
	var at []int64
	for _, s := range samples(t, head+`
- {at: -45, node: n, gpus: {GPU-1: {used_mib: 5}}}
- {at: 10, node: n, note: nothing changes}
`) {
		at = append(at, s.MonoMS)
	}
	if diff := cmp.Diff([]int64{-45000, -40000, -20000, 0, 10000, 20000, 40000, 60000}, at); diff != "" {
		t.Errorf("sample times (-want +got):\n%s", diff)
	}
}

func TestWhatAnEntryNamesHolds(t *testing.T) {
	got := samples(t, head+`
- at: 0
  gpus:
    GPU-1:
      used_mib: 50
      processes: [{pid: 1, used_mib: 30, kind: compute}, {pid: 2, used_bytes: null}]
      signals: {busy: 0.5}
      events: [{kind: xid, xid: 79}]
  podresources: [{namespace: a, name: b, containers: []}]
  cgroups: {1: "0::/x", 7: "0::/not-on-a-gpu"}
  comm: {2: python}
- at: 20
  gpus: {GPU-1: {used_mib: 40, signals: null}}
  podresources: null
  processes: {1: {cgroup: "0::/x", gone: true}}
`)
	first, second := got[0], got[1]
	want := sample.Device{
		UUID: "GPU-1", Minor: 3, Name: "T", State: gpu.StateOK,
		Memory:    &sample.Memory{Total: 100 * gpu.MiB, Reserved: 10 * gpu.MiB, Used: 50 * gpu.MiB},
		Processes: []sample.Held{{PID: 1, Kind: sample.KindCompute, Bytes: size(30)}, {PID: 2}},
		Signals:   sample.Signals{Busy: new(0.5)},
		Events:    []sample.Event{{Kind: "xid", XID: 79}},
	}
	if diff := cmp.Diff(want, first.Devices[0]); diff != "" {
		t.Errorf("first sample (-want +got):\n%s", diff)
	}
	want.Memory = &sample.Memory{Total: 100 * gpu.MiB, Reserved: 10 * gpu.MiB, Used: 40 * gpu.MiB}
	want.Signals, want.Events = sample.Signals{}, nil
	if diff := cmp.Diff(want, second.Devices[0]); diff != "" {
		t.Errorf("second sample (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]sample.Process{1: {Cgroup: "0::/x"}, 2: {Comm: "python"}}, first.Processes); diff != "" {
		t.Errorf("first processes (-want +got):\n%s", diff)
	}
	if !second.Processes[1].Gone {
		t.Error("process 1 is not gone in the second sample")
	}
	if !first.Grants.Readable || len(first.Grants.Pods) != 1 || second.Grants.Readable || second.Grants.Pods != nil {
		t.Errorf("grants: first %+v, second %+v", first.Grants, second.Grants)
	}
}

func size(mib uint64) *uint64 { return new(mib * gpu.MiB) }

func TestOnlyADeviceThatIsOKHasReadings(t *testing.T) {
	got := samples(t, head+`
- {at: 0, gpus: {GPU-1: {used_mib: 5, processes: [{pid: 1, used_mib: 5}]}}}
- {at: 20, gpus: {GPU-1: {state: lost, reason: off the bus}}}
- {at: 40, gpus: {GPU-1: {state: ok, reason: null}}}
`)
	if d := got[1].Devices[0]; d.Memory != nil || d.Processes != nil || d.State != gpu.StateLost || d.Reason != "off the bus" {
		t.Errorf("a lost device has readings: %+v", d)
	}
	if d := got[2].Devices[0]; d.Memory == nil || len(d.Processes) != 1 || d.Reason != "" {
		t.Errorf("a device that is back has no readings: %+v", d)
	}
}

func TestMIGInstancesAreTheSameOnlyWithTheirNames(t *testing.T) {
	mig := func(uuid string) string {
		return `{gi: 7, uuid: ` + uuid + `, ci: 2, profile: 1g.5gb, placement: {start: 0, size: 1}, total_mib: 40, used_mib: 4, processes: [{pid: 9, used_mib: 4}]}`
	}
	got := samples(t, head+`
- {at: 0, gpus: {GPU-1: {used_mib: 5, mig: [`+mig("MIG-1")+`]}}}
- {at: 20, gpus: {GPU-1: {mig: [`+mig("MIG-1")+`]}}}
- {at: 40, gpus: {GPU-1: {mig: [`+mig("MIG-2")+`]}}}
- {at: 60, gpus: {GPU-1: {mig: null}}}
`)
	start := got[0].At.UnixMilli()
	for i, want := range []int64{start, start, start + 40000} {
		if d := got[i].Devices[0]; !d.MIG || d.Instances[0].SinceMS != want {
			t.Errorf("sample %d: MIG %v, first seen %d, want %d", i, d.MIG, d.Instances[0].SinceMS, want)
		}
	}
	if ci := got[0].Devices[0].Instances[0].Processes[0].Compute; ci == nil || *ci != 2 {
		t.Errorf("the process is on compute instance %v, want 2", ci)
	}
	if got[3].Devices[0].MIG {
		t.Error("mig: null leaves MIG on")
	}
}

func TestClockOfTheNode(t *testing.T) {
	got := samples(t, head+`
- {at: 0, gpus: {GPU-1: {used_mib: 5}}}
- {at: 30, clock: "2026-11-03T09:00:30Z"}
`)
	last := got[len(got)-1]
	if want := time.Date(2026, 11, 3, 9, 1, 0, 0, time.UTC); !last.At.Equal(want) || last.MonoMS != 60000 {
		t.Errorf("after the step the sample is at %v, %d ms; want %v, 60000 ms", last.At, last.MonoMS, want)
	}
}

func TestPodsReplacedAndDeletedAreKeptAsGone(t *testing.T) {
	pod := func(uid string) string {
		return `{kind: Pod, metadata: {namespace: a, name: b, uid: "` + uid + `"}, spec: {nodeName: n, containers: [{name: c}]}, status: {phase: Running}}`
	}
	got := samples(t, head+`
- {at: 0, gpus: {GPU-1: {used_mib: 5}}, objects: [`+pod("u1")+`]}
- {at: 20, objects: [`+pod("u2")+`]}
- {at: 40, deleted: [{kind: Pod, namespace: a, name: b}]}
`)
	gone := func(s sample.Sample) map[string]bool {
		out := map[string]bool{}
		for _, p := range s.Objects.Pods {
			out[p.UID] = p.Gone
		}
		return out
	}
	for i, want := range []map[string]bool{{"u1": false}, {"u1": true, "u2": false}, {"u1": true, "u2": true}} {
		if diff := cmp.Diff(want, gone(got[i])); diff != "" {
			t.Errorf("sample %d, gone (-want +got):\n%s", i, diff)
		}
	}
}

func TestObjectsGoToTheirNodes(t *testing.T) {
	f := mustRead(t, `capture: 1
window: {start: "2026-11-03T10:00:00Z", end: "2026-11-03T10:00:05Z"}
nodes: [{name: n1}, {name: n2}]
timeline:
- at: 0
  node: n1
  objects:
  - {kind: Node, metadata: {name: n2}}
  - {kind: Pod, metadata: {namespace: a, name: b, uid: u}, spec: {nodeName: n1, containers: []}}
`)
	for s := range f.Samples("n1") {
		if s.Objects.Node != nil || len(s.Objects.Pods) != 1 {
			t.Errorf("n1 knows %+v", s.Objects)
		}
	}
	n := 0
	for s := range f.Samples("n2") {
		n++
		if s.Objects.Node == nil || len(s.Objects.Pods) != 0 {
			t.Errorf("n2 knows %+v", s.Objects)
		}
	}
	if n != 2 {
		t.Errorf("n2 has %d samples, want 2", n)
	}
}

func TestNodeWithoutUUIDs(t *testing.T) {
	f := mustRead(t, `capture: 1
window: {start: "2026-11-03T10:00:00Z", end: "2026-11-03T10:00:05Z"}
nodes: [{name: jet, gpus: [{uuid: null, index: 0, minor: 0, total_mib: null, price_per_hour: "0.10"}], currency: USD}]
timeline: [{at: 0, podresources: []}]
`)
	for s := range f.Samples("jet") {
		if d := s.Devices[0]; d.UUID != "jet/0" || d.State != gpu.StateNotSupported || d.Memory != nil {
			t.Errorf("device is %+v", d)
		}
	}
	if p := f.Nodes[0]; p.Price.Currency != "USD" || p.GPUs[0].Price.PerHour != "0.10" {
		t.Errorf("prices are %+v", p)
	}
}

func TestReducedObjects(t *testing.T) {
	got := samples(t, head+`
- at: 0
  gpus: {GPU-1: {used_mib: 5}}
  reduced: {known: false, pods: [{namespace: a, name: b, uid: u, phase: Running}], node: {name: n}}
- {at: 20, reduced: {forget: [{kind: Pod, namespace: a, name: b, uid: u}]}}
`)
	want := sample.Objects{Node: &workload.Node{Name: "n"}, Pods: []workload.Pod{{Namespace: "a", Name: "b", UID: "u", Phase: "Running"}}}
	if diff := cmp.Diff(want, got[0].Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(got[1].Objects.Pods) != 0 {
		t.Errorf("the pod is still known: %+v", got[1].Objects.Pods)
	}
}
