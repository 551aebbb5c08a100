// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
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
			Phase:       rapid.SampledFrom([]string{workload.PhaseRunning, workload.PhaseSucceeded, workload.PhasePending}).Draw(t, "phase"),
			Annotations: randomAnnotations(t), Labels: map[string]string{"runai-gpu-group": rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")},
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

// randomAnnotations are what a scheduler, or the pod itself, may have written.
func randomAnnotations(t *rapid.T) map[string]string {
	device := deviceUUID(rapid.IntRange(0, 5).Draw(t, "annotated"))
	mib := rapid.IntRange(0, 1<<18).Draw(t, "mib")
	return rapid.SampledFrom([]map[string]string{
		nil, nil,
		{"hami.io/vgpu-devices-allocated": fmt.Sprintf("%s,NVIDIA,%d,0:;", device, mib)},
		{"hami.io/vgpu-devices-allocated": "nonsense"},
		{"gpu-fraction": "0.5"},
	}).Draw(t, "annotations")
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
	d.ComputeMode = rapid.SampledFrom([]string{"", "default", "exclusive_process"}).Draw(t, "compute mode")
	d.Processes = randomHeld(t, pods, s)
	if rapid.Bool().Draw(t, "mig") {
		d.MIG = true
		for g := range rapid.IntRange(0, 3).Draw(t, "instances") {
			d.Instances = append(d.Instances, randomInstance(t, i, g, pods, s))
		}
	}
	return d
}

// randomInstance has up to three compute instances, whose slices need not add
// up. Its ids are those of other layouts, too.
func randomInstance(t *rapid.T, device, i, pods int, s *sample.Sample) sample.Instance {
	slices := rapid.Uint32Range(0, 3)
	inst := sample.Instance{
		ID: uint32(i + 1), SinceMS: rapid.Int64Range(0, 2).Draw(t, "since"), Placement: gpu.Placement{Start: uint32(i), Size: 1},
		ComputeSlices: slices.Draw(t, "instance slices"), Processes: randomHeld(t, pods, s),
	}
	if rapid.IntRange(0, 9).Draw(t, "memory") > 0 {
		inst.Memory = randomMemory(t)
	}
	for c := range rapid.IntRange(0, 3).Draw(t, "compute instances") {
		inst.Compute = append(inst.Compute, sample.ComputeInstance{ID: uint32(c), UUID: computeUUID(device, i, c), Slices: slices.Draw(t, "slices")})
	}
	return inst
}

func computeUUID(device, instance, compute int) gpu.UUID {
	return gpu.UUID(fmt.Sprintf("MIG-00000000-0000-5000-8000-%04d%04d%04d", device, instance, compute))
}

func randomMemory(t *rapid.T) *sample.Memory {
	size := rapid.Uint64Range(0, 1<<38)
	m := &sample.Memory{Total: size.Draw(t, "total"), Used: size.Draw(t, "used")}
	if m.ReserveUnknown = rapid.IntRange(0, 9).Draw(t, "old driver") == 0; !m.ReserveUnknown {
		m.Reserved = size.Draw(t, "reserved") >> 6
	}
	return m
}

func randomHeld(t *rapid.T, pods int, s *sample.Sample) []sample.Held {
	var out []sample.Held
	for range rapid.IntRange(0, 6).Draw(t, "processes") {
		pid := rapid.IntRange(1, 40).Draw(t, "pid")
		h := sample.Held{PID: pid, Kind: rapid.SampledFrom([]sample.ProcessKind{sample.KindCompute, sample.KindMPS, sample.KindGraphics}).Draw(t, "kind")}
		if ci := rapid.Uint32Range(0, 3).Draw(t, "ci"); ci > 0 {
			h.Compute = &ci
		}
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
			comm := rapid.SampledFrom([]string{"python", mpsServer}).Draw(t, "comm")
			s.Processes[pid] = sample.Process{StartTicks: 1, Comm: comm, Cgroup: fmt.Sprintf("0::/kubepods/burstable/pod%s/%064x", podUID(owner), owner)}
		}
	}
	return out
}

func randomGrant(t *rapid.T, pod int) workload.PodResources {
	var ids, other []string
	for range rapid.IntRange(1, 3).Draw(t, "ids") {
		id := randomID(t)
		if rapid.Bool().Draw(t, "replica") {
			id += fmt.Sprintf("::%d", pod)
		}
		if rapid.Bool().Draw(t, "in the other entry") {
			other = append(other, id)
			continue
		}
		ids = append(ids, id)
	}
	return workload.PodResources{Namespace: "ns", Name: fmt.Sprintf("p%d", pod), Containers: []workload.ContainerResources{{
		Name: "c", Devices: []workload.ResourceDevices{
			{Resource: "nvidia.com/gpu", IDs: ids}, // one entry for each NUMA node
			{Resource: rapid.SampledFrom([]string{"nvidia.com/gpu", "nvidia.com/mig-1c.3g.20gb"}).Draw(t, "resource"), IDs: other},
		},
	}}}
}

// randomID is an id of a device, a GPU instance or a compute instance in one of
// their spellings; they need not be there.
func randomID(t *rapid.T) string {
	number := rapid.IntRange(0, 4)
	device := number.Draw(t, "granted")
	switch rapid.IntRange(0, 4).Draw(t, "spelling") {
	case 0:
		return fmt.Sprintf("nvidia%d/gi%d", device, number.Draw(t, "gi"))
	case 1:
		return fmt.Sprintf("MIG-%s/%d/%d", deviceUUID(device), number.Draw(t, "gi"), number.Draw(t, "ci"))
	case 2, 3:
		return string(computeUUID(device, number.Draw(t, "gi"), number.Draw(t, "ci")))
	}
	return string(deviceUUID(device))
}

// TestPartsSumToTheWhole is invariant 1: reserve + holders + unattributed +
// free = capacity, to the byte, at every sample.
func TestPartsSumToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(Policy{Daemons: DefaultDaemons()})
		for range rapid.IntRange(1, 4).Draw(t, "samples") {
			s := randomSample(t)
			r := a.Attribute(s)
			for _, p := range r.Partitions {
				checkPartition(t, p)
			}
			checkLeaks(t, r)
			checkProcesses(t, s, r)
		}
	})
}

// checkLeaks: nothing is a leak of a pod that has a grant there, or one that
// leads nowhere.
func checkLeaks(t *rapid.T, r Result) {
	excused := map[string]bool{}
	for _, f := range r.Findings {
		if f.Kind == InventoryConflict {
			excused[f.Holder.PodKey()] = true
		}
	}
	for _, p := range r.Partitions {
		granted := map[string]bool{}
		for _, g := range p.Grants {
			granted[g.Holder.PodKey()] = true
		}
		for _, h := range p.Holdings {
			if key := h.Holder.PodKey(); h.Leak && (granted[key] || excused[key]) {
				t.Fatalf("%s: %+v is called a leak", p.ID, h.Holder)
			}
		}
	}
}

// checkProcesses: of a device that answers, every process that NVML lists is
// with a holder, once on each instance that lists it; one that only the device
// lists is on the device.
func checkProcesses(t *rapid.T, s sample.Sample, r Result) {
	where := map[gpu.PartitionID][]int{}
	for _, p := range r.Partitions {
		for _, h := range p.Holdings {
			where[p.ID] = append(where[p.ID], h.PIDs...)
		}
	}
	for _, d := range s.Devices {
		if d.State != gpu.StateOK {
			continue
		}
		var inside []int
		for _, inst := range d.Instances {
			id := gpu.PartitionID{Device: d.UUID, Instance: inst.ID, SinceMS: inst.SinceMS}
			mustHold(t, id, pidsOf(inst.Processes), where[id])
			inside = append(inside, pidsOf(inst.Processes)...)
		}
		mustHold(t, gpu.Whole(d.UUID), slices.DeleteFunc(pidsOf(d.Processes), func(pid int) bool {
			return d.MIG && slices.Contains(inside, pid)
		}), where[gpu.Whole(d.UUID)])
	}
}

func pidsOf(held []sample.Held) []int {
	var pids []int
	for _, h := range held {
		pids = append(pids, h.PID)
	}
	return pids
}

func mustHold(t *rapid.T, id gpu.PartitionID, listed, held []int) {
	for _, pids := range []*[]int{&listed, &held} {
		slices.Sort(*pids)
		*pids = slices.Compact(*pids)
	}
	if !slices.Equal(listed, held) {
		t.Fatalf("%s: NVML lists processes %v, holders have %v", id, listed, held)
	}
}

// TestEqualHistories: the same samples, the same bytes, also where a list was
// unreadable in between.
func TestEqualHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history []sample.Sample
		for range rapid.IntRange(2, 5).Draw(t, "samples") {
			history = append(history, randomSample(t))
		}
		a, b := New(Policy{Daemons: DefaultDaemons()}), New(Policy{Daemons: DefaultDaemons()})
		for i, s := range history {
			if diff := cmp.Diff(encode(t, a.Attribute(s)), encode(t, b.Attribute(s))); diff != "" {
				t.Fatalf("sample %d differs:\n%s", i, diff)
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
	if p.ReserveUnknown && *p.Reserved != 0 {
		t.Fatalf("%s: an unknown reserve of %d bytes", p.ID, *p.Reserved)
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
			parts := true // fractions alone may be oversubscribed
			for _, g := range p.Grants {
				parts = parts && g.Mode == gpu.ModeFraction
			}
			for _, g := range p.Grants {
				if !g.Reserved.IsZero() {
					sum += float64(g.Reserved.Num) / float64(g.Reserved.Den)
				}
			}
			if sum > 1+1e-9 && !parts && !twice[p.ID.String()] {
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
		for j := range s.Devices[i].Instances {
			inst := &s.Devices[i].Instances[j]
			inst.Processes, inst.Compute = mixed(r, inst.Processes), mixed(r, inst.Compute)
		}
	}
	s.Objects.Pods = mixed(r, s.Objects.Pods)
	s.Grants.Pods = mixed(r, s.Grants.Pods)
	for i := range s.Grants.Pods {
		c := s.Grants.Pods[i].Containers[0]
		c.Devices = mixed(r, c.Devices)
		for j := range c.Devices {
			c.Devices[j].IDs = mixed(r, c.Devices[j].IDs)
		}
		s.Grants.Pods[i].Containers = []workload.ContainerResources{c}
	}
	return s
}

func mixed[T any](r *rand.Rand, in []T) []T {
	out := append([]T(nil), in...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
