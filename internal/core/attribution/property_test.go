// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// randomSample draws a node that may be in any state, sane or not: sizes that
// do not add up, processes without size or owner, grants to cards that are
// not there, pods that ended, lists that cannot be read.
func randomSample(t *rapid.T) sample.Sample {
	s := sample.Sample{
		Node: "n", At: time.Unix(1_800_000_000, 0).UTC(), MonoMS: int64(rapid.IntRange(0, 1<<30).Draw(t, "mono")),
		NVML: sample.Library{OK: true}, Processes: map[int]sample.Process{},
	}
	s.Grants.Readable = rapid.IntRange(0, 9).Draw(t, "readable") > 0
	s.Objects.Known = true
	pods := rapid.IntRange(0, 5).Draw(t, "pods")
	for i := range pods {
		s.Objects.Pods = append(s.Objects.Pods, workload.Pod{
			Namespace: "ns", Name: fmt.Sprintf("p%d", i), UID: podUID(i),
			Phase: rapid.SampledFrom([]string{workload.PhaseRunning, workload.PhaseSucceeded, workload.PhasePending}).Draw(t, "phase"),
		})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "devices") {
		s.Devices = append(s.Devices, randomDevice(t, i, pods, &s))
	}
	for i := range pods {
		s.Grants.Pods = append(s.Grants.Pods, randomGrant(t, i))
	}
	return s
}

func podUID(i int) string { return fmt.Sprintf("00000000-0000-4000-a000-%012d", i) }

func deviceUUID(i int) gpu.UUID {
	return gpu.UUID(fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", i))
}

func randomDevice(t *rapid.T, i, pods int, s *sample.Sample) sample.Device {
	d := sample.Device{
		UUID: deviceUUID(i), Index: i, Minor: i, MemorySlices: 8,
		State: rapid.SampledFrom([]gpu.State{gpu.StateOK, gpu.StateOK, gpu.StateOK, gpu.StateHung, gpu.StateLost}).Draw(t, "state"),
	}
	if rapid.IntRange(0, 9).Draw(t, "memory") > 0 {
		d.Memory = randomMemory(t)
	}
	d.Processes = randomHeld(t, pods, s)
	if rapid.IntRange(0, 3).Draw(t, "mig") == 0 {
		d.MIG = true
		for g := range rapid.IntRange(0, 3).Draw(t, "instances") {
			d.Instances = append(d.Instances, sample.Instance{
				ID: uint32(g + 1), Placement: gpu.Placement{Start: uint32(g), Size: 1}, Memory: randomMemory(t),
				Processes: randomHeld(t, pods, s),
				Compute:   []sample.ComputeInstance{{UUID: gpu.UUID(fmt.Sprintf("MIG-00000000-0000-5000-8000-%06d%06d", i, g))}},
			})
		}
	}
	return d
}

func randomMemory(t *rapid.T) *sample.Memory {
	size := rapid.Uint64Range(0, 1<<38)
	return &sample.Memory{Total: size.Draw(t, "total"), Reserved: size.Draw(t, "reserved") >> 6, Used: size.Draw(t, "used")}
}

func randomHeld(t *rapid.T, pods int, s *sample.Sample) []sample.Held {
	var out []sample.Held
	for range rapid.IntRange(0, 6).Draw(t, "processes") {
		pid := rapid.IntRange(1, 40).Draw(t, "pid")
		h := sample.Held{PID: pid, Kind: sample.KindCompute}
		if rapid.IntRange(0, 4).Draw(t, "sized") > 0 {
			b := rapid.Uint64Range(0, 1<<39).Draw(t, "bytes")
			h.Bytes = &b
		}
		out = append(out, h)
		switch owner := rapid.IntRange(-2, pods).Draw(t, "owner"); {
		case owner == -2:
			s.Processes[pid] = sample.Process{StartTicks: 1, Cgroup: "0::/system.slice/trainer.service", Comm: "python"}
		case owner == -1:
			s.Processes[pid] = sample.Process{StartTicks: 1, Cgroup: "0::/system.slice/nvidia-mps.service", Comm: mpsServer}
		case owner < pods:
			s.Processes[pid] = sample.Process{StartTicks: 1, Comm: "python", Cgroup: fmt.Sprintf("0::/kubepods/burstable/pod%s/%064x", podUID(owner), owner)}
		}
	}
	return out
}

func randomGrant(t *rapid.T, pod int) workload.PodResources {
	id := string(deviceUUID(rapid.IntRange(0, 5).Draw(t, "granted")))
	if rapid.Bool().Draw(t, "replica") {
		id += fmt.Sprintf("::%d", pod)
	}
	return workload.PodResources{Namespace: "ns", Name: fmt.Sprintf("p%d", pod), Containers: []workload.ContainerResources{{
		Name: "c", Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{id}}},
	}}}
}

// TestPartsSumToTheWhole is invariant 1: reserve + holders + unattributed +
// free = capacity, to the byte, at every sample.
func TestPartsSumToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(Policy{Daemons: DefaultDaemons()})
		for range rapid.IntRange(1, 4).Draw(t, "samples") {
			for _, p := range a.Attribute(randomSample(t)).Partitions {
				checkPartition(t, p)
			}
		}
	})
}

func checkPartition(t *rapid.T, p Partition) {
	if p.Capacity == nil {
		if p.Free != nil || p.Unattributed != nil || p.Reserved != nil {
			t.Fatalf("%s: parts of an unknown capacity: %+v", p.ID, p)
		}
		return
	}
	if p.State != gpu.StateOK {
		t.Fatalf("%s: a capacity in state %s", p.ID, p.State)
	}
	sum := *p.Reserved + *p.Unattributed + *p.Free
	for _, h := range p.Holdings {
		if h.Bytes == nil {
			t.Fatalf("%s: a holding without size in a balance", p.ID)
		}
		sum += *h.Bytes
	}
	if sum != *p.Capacity {
		t.Fatalf("%s: parts sum to %d, capacity is %d", p.ID, sum, *p.Capacity)
	}
}

// TestReservedNeverAboveOne is invariant D at one moment: what the grants of a
// partition keep sums to at most the whole, a shared claim counted once,
// unless the partition was handed out twice, which is a finding.
func TestReservedNeverAboveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(Policy{}).Attribute(randomSample(t))
		twice := map[string]bool{}
		for _, f := range r.Findings {
			twice[f.Partition] = twice[f.Partition] || f.Kind == DoubleOwner
		}
		for _, p := range r.Partitions {
			sum := 0.0
			for _, g := range p.Grants {
				if !g.Reserved.IsZero() {
					sum += float64(g.Reserved.Num) / float64(g.Reserved.Den)
				}
			}
			if sum > 1 && !twice[p.ID.String()] {
				t.Fatalf("%s: grants keep %v of the whole", p.ID, sum)
			}
		}
	})
}

// TestOrderDoesNotMatter: the same facts in another order, the same bytes out.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomSample(t)
		seed := rapid.Uint64().Draw(t, "seed")
		first := encode(t, New(Policy{}).Attribute(s))
		again := encode(t, New(Policy{}).Attribute(shuffled(s, seed)))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("order changed the result:\n%s", diff)
		}
	})
}

func encode(t *rapid.T, r Result) string {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func shuffled(s sample.Sample, seed uint64) sample.Sample {
	r := rand.New(rand.NewPCG(seed, 1))
	s.Devices = mixed(r, s.Devices)
	for i := range s.Devices {
		s.Devices[i].Processes = mixed(r, s.Devices[i].Processes)
		s.Devices[i].Instances = mixed(r, s.Devices[i].Instances)
	}
	s.Objects.Pods = mixed(r, s.Objects.Pods)
	s.Grants.Pods = mixed(r, s.Grants.Pods)
	return s
}

func mixed[T any](r *rand.Rand, in []T) []T {
	out := append([]T(nil), in...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
