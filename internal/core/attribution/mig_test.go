// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func migUUID(n int) gpu.UUID { return gpu.UUID(fmt.Sprintf("MIG-00000000-0000-5000-8000-%012d", n)) }

// divided is a card with one GPU instance of 30 GiB, cut into compute
// instances of so many slices; 0 is not known.
func divided(second int64, of uint32, slices ...uint32) sample.Sample {
	s := node(second)
	inst := sample.Instance{ID: 1, ComputeSlices: of, Placement: gpu.Placement{Size: 4}, Memory: &sample.Memory{Total: 30 << 30}}
	for i, n := range slices {
		inst.Compute = append(inst.Compute, sample.ComputeInstance{ID: uint32(i), UUID: migUUID(i + 1), Slices: n})
	}
	s.Devices[0].MIG, s.Devices[0].Instances = true, []sample.Instance{inst}
	return s
}

// giveMIG lets pod i have the MIG device n.
func giveMIG(s *sample.Sample, i, n int) {
	s.Objects.Pods = append(s.Objects.Pods, running(i))
	s.Grants.Pods = append(s.Grants.Pods, given(i, string(migUUID(n))))
}

// What a compute instance keeps of its GPU instance, in GiB of 30; -1 is not
// known. Not knowing it makes nobody an owner beside another.
func TestComputeInstanceKeepsItsSlices(t *testing.T) {
	for name, c := range map[string]struct {
		of     uint32
		slices []uint32
		keeps  []int
		found  map[FindingKind]int
	}{
		"alone, all of it":            {3, []uint32{3}, []int{30}, nil},
		"alone, smaller":              {3, []uint32{1}, []int{10}, nil},
		"alone, slices unknown":       {3, []uint32{0}, []int{30}, nil},
		"alone, instance's unknown":   {0, []uint32{1}, []int{30}, nil},
		"alone, larger than it":       {3, []uint32{4}, []int{30}, nil},
		"two":                         {3, []uint32{1, 2}, []int{10, 20}, nil},
		"two, some left":              {3, []uint32{1, 1}, []int{10, 10}, nil},
		"two, slices unknown":         {3, []uint32{0, 0}, []int{-1, -1}, map[FindingKind]int{ComputeSlicesUnknown: 1}},
		"two, slices of one unknown":  {3, []uint32{1, 0}, []int{-1, -1}, map[FindingKind]int{ComputeSlicesUnknown: 1}},
		"two, instance's unknown":     {0, []uint32{1, 2}, []int{-1, -1}, map[FindingKind]int{ComputeSlicesUnknown: 1}},
		"two, more than there are":    {3, []uint32{2, 2}, []int{-1, -1}, map[FindingKind]int{ComputeSlicesUnknown: 1}},
		"two, larger than the number": {1, []uint32{1<<32 - 1, 1<<32 - 1}, []int{-1, -1}, map[FindingKind]int{ComputeSlicesUnknown: 1}},
	} {
		s := divided(0, c.of, c.slices...)
		for i := range c.slices {
			giveMIG(&s, i+1, i+1)
		}
		r := New(Policy{}).Attribute(s)
		var keeps []int
		for _, g := range r.Partitions[1].Grants {
			if g.ReservedBytes == nil {
				keeps = append(keeps, -1)
				continue
			}
			keeps = append(keeps, int(*g.ReservedBytes>>30))
		}
		if diff := cmp.Diff(c.keeps, keeps); diff != "" {
			t.Errorf("%s: GiB kept (-want +got):\n%s", name, diff)
		}
		if got := kinds(r); len(got)+len(c.found) > 0 && !cmp.Equal(c.found, got) {
			t.Errorf("%s: findings %v, want %v", name, got, c.found)
		}
	}
}

// Who shares a compute instance is told from who has one beside another's,
// whatever its size.
func TestDoubleOwnerOfComputeInstances(t *testing.T) {
	for name, c := range map[string]struct {
		slices  []uint32
		given   []int // the MIG device of each pod
		victims []string
	}{
		"one each":                     {[]uint32{1, 2}, []int{1, 2}, nil},
		"one of two left":              {[]uint32{1, 1}, []int{1}, nil},
		"the only one, smaller, twice": {[]uint32{1}, []int{1, 1}, []string{"ns/p1", "ns/p2"}},
		"the only one, unknown, twice": {[]uint32{0}, []int{1, 1}, []string{"ns/p1", "ns/p2"}},
		"one twice":                    {[]uint32{1, 1}, []int{1, 2, 1}, []string{"ns/p1", "ns/p3"}},
		"one of unknown size twice":    {[]uint32{0, 0}, []int{1, 2, 1}, []string{"ns/p1", "ns/p3"}},
	} {
		s := divided(0, 3, c.slices...)
		for i, n := range c.given {
			giveMIG(&s, i+1, n)
		}
		var victims []string
		for _, f := range New(Policy{}).Attribute(s).Findings {
			if f.Kind == DoubleOwner {
				victims = append(victims, f.Victims...)
			}
		}
		if !slices.Equal(victims, c.victims) {
			t.Errorf("%s: handed out twice to %v, want %v", name, victims, c.victims)
		}
	}
}

// Two spellings of one compute instance are seen through where the slices tell.
func TestDoubleOwnerUnderTwoNames(t *testing.T) {
	s := divided(0, 3, 1, 2)
	giveMIG(&s, 1, 1)
	giveMIG(&s, 2, 2)
	s.Objects.Pods = append(s.Objects.Pods, running(3))
	s.Grants.Pods = append(s.Grants.Pods, given(3, fmt.Sprintf("MIG-%s/1/0", deviceUUID(1))))
	if n := kinds(New(Policy{}).Attribute(s))[DoubleOwner]; n != 1 {
		t.Errorf("%d findings of a double owner, want 1", n)
	}
}

// claims gives each compute instance to two pods through a claim.
func claims(s *sample.Sample, of int) {
	for c := range of {
		name := fmt.Sprintf("c%d", c)
		device := workload.ClaimDevice{Driver: "gpu.nvidia.com", Pool: "n", Device: fmt.Sprintf("mig-%d", c)}
		claim := workload.Claim{Namespace: "ns", Name: name, Allocated: true, Results: []workload.ClaimResult{{
			Driver: device.Driver, Pool: device.Pool, Device: device.Device,
		}}}
		s.Objects.Slices = append(s.Objects.Slices, workload.Slice{Driver: device.Driver, Pool: "n", Devices: []workload.SliceDevice{{
			Name: device.Device, UUID: string(migUUID(c + 1)),
		}}})
		for i := 2 * c; i < 2*c+2; i++ {
			s.Objects.Pods = append(s.Objects.Pods, running(i))
			claim.Reserved = append(claim.Reserved, workload.ClaimConsumer{Pod: fmt.Sprintf("p%d", i), UID: podUID(i)})
			s.Grants.Pods = append(s.Grants.Pods, workload.PodResources{Namespace: "ns", Name: fmt.Sprintf("p%d", i), Containers: []workload.ContainerResources{{
				Name: "c", Dynamic: []workload.ClaimDevices{{Namespace: "ns", Name: name, Devices: []workload.ClaimDevice{device}}},
			}}})
		}
		s.Objects.Claims = append(s.Objects.Claims, claim)
	}
}

// A shared claim of a compute instance is a claim on its part, not on the
// GPU instance.
func TestSharedClaimsOfComputeInstances(t *testing.T) {
	s := divided(0, 3, 1, 2)
	claims(&s, 2)
	r := New(Policy{}).Attribute(s)
	if len(r.Findings) != 0 {
		t.Errorf("findings %s, want none", encoded(t, r.Findings))
	}
	var got []gpu.Ratio
	for _, g := range r.Partitions[1].Grants {
		if g.Mode != gpu.ModeSharedClaim {
			t.Errorf("mode %s, want %s", g.Mode, gpu.ModeSharedClaim)
		}
		got = append(got, g.Reserved)
	}
	third, two := gpu.Ratio{Num: 1, Den: 3}, gpu.Ratio{Num: 2, Den: 3}
	if want := []gpu.Ratio{third, third, two, two}; !slices.Equal(got, want) {
		t.Errorf("reserved %v, want %v", got, want)
	}
}

// Ids of one instance add up to the same in any order, known or not.
func TestSharesDoNotDependOnTheOrderOfIDs(t *testing.T) {
	for _, of := range []uint32{0, 3} {
		a, b, all := string(migUUID(1)), string(migUUID(2)), "nvidia0/gi1"
		var first string
		for _, ids := range [][]string{{a, b, all}, {a, all, b}, {b, a, all}, {b, all, a}, {all, a, b}, {all, b, a}} {
			s := divided(0, of, 1, 1)
			s.Objects.Pods = []workload.Pod{running(1)}
			s.Grants.Pods = []workload.PodResources{given(1, ids...)}
			got := encoded(t, grantsOf(New(Policy{}).Attribute(s)))
			if first == "" {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("instance of %d slices, ids %v: another grant:\n%s", of, ids, diff)
			}
		}
	}
}

// An id that names an instance by its number means the one that had it when the
// pod was first listed, unless the pod's container was made anew and runs on
// the one that has it now.
func TestReusedNumberIsAnotherInstance(t *testing.T) {
	for _, id := range []string{"nvidia0/gi1", fmt.Sprintf("MIG-%s/1/0", deviceUUID(1))} {
		a := New(Policy{})
		at := func(since int64, readable bool, held ...sample.Held) Result {
			s := divided(since, 1, 1)
			i := &s.Devices[0].Instances[0]
			i.SinceMS, i.Processes, i.Compute[0].UUID = since, held, migUUID(int(since))
			for _, h := range held {
				s.Processes[h.PID] = sample.Process{StartTicks: 7, Cgroup: cgroupOf(h.PID)}
			}
			s.Objects.Pods, s.Grants.Readable = []workload.Pod{running(1), running(2)}, readable
			if readable {
				s.Grants.Pods = []workload.PodResources{given(1, id)}
			}
			if since > 1 {
				s.Grants.Pods = append(s.Grants.Pods, given(2, id))
			}
			return a.Attribute(s)
		}
		owners := func(r Result) (pods string) {
			for _, g := range r.Partitions[1].Grants {
				pods += g.Holder.Pod
			}
			return pods
		}
		if got := owners(at(1, true)); got != "p1" {
			t.Errorf("%s: the first instance is given to %q, want p1", id, got)
		}
		at(1, false)
		for range 2 {
			r := at(2, true)
			if got := owners(r); got != "p2" || kinds(r)[StaleDeviceID] != 1 || kinds(r)[DoubleOwner] != 0 {
				t.Errorf("%s: the second instance is given to %q, findings %s; want p2, and p1's id stale", id, got, encoded(t, r.Findings))
			}
		}
		if got := owners(at(2, true, holds(1, 0))); got != "p1p2" {
			t.Errorf("%s: with a process of p1 on it, the second instance is given to %q, want both", id, got)
		}
		if got := owners(at(2, true)); got != "p1p2" {
			t.Errorf("%s: after that process, the second instance is given to %q, want both", id, got)
		}
	}
}

// beside is a card in MIG mode on which NVML lists processes of the card.
func beside(second int64, held ...sample.Held) sample.Sample {
	s := divided(second, 1, 1)
	s.Devices[0].Processes = held
	for _, h := range held {
		s.Processes[h.PID] = sample.Process{StartTicks: 7, Comm: "python", Cgroup: cgroupOf(h.PID)}
	}
	return s
}

// What a pod holds beside the instances is a leak only if it has nothing on
// the card, and stays what it was while the list cannot be read.
func TestLeaksBesideTheInstances(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, readable bool) Result {
		s := beside(second, holds(1, 2), holds(2, 3), sample.Held{PID: 3, Kind: sample.KindCompute})
		giveMIG(&s, 1, 1)
		s.Objects.Pods = append(s.Objects.Pods, running(2), running(3))
		s.Grants.Readable = readable
		if !readable {
			s.Grants.Pods = nil
		}
		return a.Attribute(s)
	}
	for second, readable := range []bool{true, false, true} {
		r := at(int64(second), readable)
		card := r.Partitions[0]
		if card.Capacity != nil || len(card.Holdings) != 3 {
			t.Fatalf("the card: %s", encoded(t, card))
		}
		if h := card.Holdings; h[0].Leak || !h[1].Leak || !h[2].Leak || deref(h[1].Bytes) != 3<<30 || h[2].Bytes != nil {
			t.Errorf("readable %v: holdings %s; want leaks of p2 and p3, the size of p3 unknown", readable, encoded(t, h))
		}
		if got := kinds(r); got[UnallocatedUse] != 2 || got[OutsideInstances] != 3 {
			t.Errorf("readable %v: findings %v; want 2 leaks and 3 beside the instances", readable, got)
		}
	}
}

// A pod whose grant leads nowhere is in the right somewhere, also beside the
// instances, and nothing says that it cannot see the card.
func TestUnresolvedPodBesideTheInstances(t *testing.T) {
	s := beside(0, holds(1, 2))
	pod := running(1)
	pod.Containers = []workload.Container{{Name: "c", Env: map[string]string{visibleDevices: string(migUUID(1))}}}
	s.Objects.Pods = []workload.Pod{pod}
	s.Grants.Pods = []workload.PodResources{given(1, "no-such-id", string(deviceUUID(1)))}
	r := New(Policy{}).Attribute(s)
	if got := kinds(r); got[UnallocatedUse] != 0 || got[AllocatedNotVisible] != 0 || got[InventoryConflict] == 0 {
		t.Errorf("findings %s; want a conflict, and neither a leak nor a card that cannot be seen", encoded(t, r.Findings))
	}
}

// A process listed on an instance and on the card is where the instance is,
// and a card that does not answer holds nothing.
func TestProcessIsInsideOrBeside(t *testing.T) {
	s := beside(0, holds(1, 2), holds(2, 3))
	s.Devices[0].Instances[0].Processes = []sample.Held{holds(1, 2)}
	s.Devices[0].Instances[0].Memory.Used = 2 << 30
	r := New(Policy{}).Attribute(s)
	if c, i := r.Partitions[0].Holdings, r.Partitions[1].Holdings; len(c) != 1 || !slices.Equal(c[0].PIDs, []int{2}) || len(i) != 1 || !slices.Equal(i[0].PIDs, []int{1}) {
		t.Errorf("card %s, instance %s; want process 2 beside and 1 inside", encoded(t, c), encoded(t, i))
	}
	s.Devices[0].State = gpu.StateHung
	if h := New(Policy{}).Attribute(s).Partitions[0].Holdings; len(h) != 0 {
		t.Errorf("a card that hangs holds %s", encoded(t, h))
	}
}
