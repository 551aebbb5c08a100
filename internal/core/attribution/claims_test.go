// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func dra(device string) workload.ClaimDevice {
	return workload.ClaimDevice{Driver: "gpu.nvidia.com", Pool: "n", Device: device}
}

func listedClaim(i int, claim string, devices ...workload.ClaimDevice) workload.PodResources {
	pr := given(i)
	pr.Containers = []workload.ContainerResources{{Name: "c", Dynamic: []workload.ClaimDevices{{Namespace: "ns", Name: claim, Devices: devices}}}}
	return pr
}

func allocated(name, uid string, pod int, admin bool, device string) workload.Claim {
	return workload.Claim{
		Namespace: "ns", Name: name, UID: uid, Allocated: true,
		Reserved: []workload.ClaimConsumer{{Pod: running(pod).Name, UID: podUID(pod)}},
		Results:  []workload.ClaimResult{{Driver: "gpu.nvidia.com", Pool: "n", Device: device, AdminAccess: admin}},
	}
}

func slicesOf(generation int64, cards map[string]int) []workload.Slice {
	s := workload.Slice{Name: "s", Driver: "gpu.nvidia.com", Pool: "n", Generation: generation}
	for name, card := range cards {
		s.Devices = append(s.Devices, workload.SliceDevice{Name: name, Type: "gpu", UUID: string(deviceUUID(card))})
	}
	return []workload.Slice{s}
}

// An older claim of the same name, for another pod, says nothing of the new
// one, also where it had the same device.
func TestClaimOfAnotherPod(t *testing.T) {
	for name, c := range map[string]struct {
		claim workload.Claim
		admin bool
	}{
		"its own":             {allocated("c", "new", 1, true, "gpu-0"), true},
		"an older one":        {allocated("c", "old", 2, true, "gpu-0"), false},
		"of another device":   {allocated("c", "new", 1, true, "gpu-1"), false},
		"reserved for no one": {workload.Claim{Namespace: "ns", Name: "c", Allocated: true, Results: allocated("c", "", 1, true, "gpu-0").Results}, true},
	} {
		s := cards(0, []sample.Held{holds(1, 4)})
		s.Objects.Pods, s.Objects.Claims = []workload.Pod{running(1)}, []workload.Claim{c.claim}
		s.Objects.Slices = slicesOf(1, map[string]int{"gpu-0": 0})
		s.Grants.Pods = []workload.PodResources{listedClaim(1, "c", dra("gpu-0"))}
		g := New(Policy{}).Attribute(s).Partitions[0].Grants
		if len(g) != 1 || g[0].Admin != c.admin || c.admin != g[0].Reserved.IsZero() {
			t.Errorf("%s: grants %s, want one, observing: %v", name, encoded(t, g), c.admin)
		}
	}
}

// A pod that observes a card and was also given it, by whatever of its
// containers and in whatever order, was given it.
func TestObservingTakesNothingFromAGrant(t *testing.T) {
	observe := workload.ContainerResources{Name: "a", Dynamic: []workload.ClaimDevices{{Namespace: "ns", Name: "watch", Devices: []workload.ClaimDevice{dra("gpu-0")}}}}
	byPlugin := workload.ContainerResources{Name: "b", Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{string(deviceUUID(0))}}}}
	byClaim := workload.ContainerResources{Name: "b", Dynamic: []workload.ClaimDevices{{Namespace: "ns", Name: "own", Devices: []workload.ClaimDevice{dra("gpu-0")}}}}
	for _, containers := range [][]workload.ContainerResources{{observe, byPlugin}, {byPlugin, observe}, {observe, byClaim}, {byClaim, observe}} {
		s := cards(0, []sample.Held{holds(1, 4)})
		s.Objects.Pods = []workload.Pod{running(1)}
		s.Objects.Claims = []workload.Claim{allocated("watch", "w", 1, true, "gpu-0"), allocated("own", "o", 1, false, "gpu-0")}
		s.Objects.Slices = slicesOf(1, map[string]int{"gpu-0": 0})
		pr := given(1)
		pr.Containers = containers
		s.Grants.Pods = []workload.PodResources{pr}
		g := New(Policy{}).Attribute(s).Partitions[0].Grants
		if len(g) != 1 || g[0].Admin || g[0].Reserved != gpu.One || g[0].Mode != gpu.ModeExclusive {
			t.Errorf("%s: grants %s, want all of the card", encoded(t, containers), encoded(t, g))
		}
	}
}

// The device of a pod whose claim cannot be read stays what it was, also over a
// sample in which the kubelet does not list the pod.
func TestDeviceStaysWhatItWas(t *testing.T) {
	a := New(Policy{})
	at := func(second int64, names map[string]int, listed bool) []Grant {
		s := cards(second, []sample.Held{holds(1, 4)}, nil)
		s.Objects.Pods, s.Objects.Slices = []workload.Pod{running(1)}, slicesOf(second+1, names)
		if listed {
			s.Grants.Pods = []workload.PodResources{listedClaim(1, "c", dra("gpu-0"))}
		}
		return a.Attribute(s).Partitions[0].Grants
	}
	for i, step := range []struct {
		names  map[string]int
		listed bool
	}{
		{map[string]int{"gpu-0": 0, "gpu-1": 1}, true}, {map[string]int{"gpu-0": 1, "gpu-1": 0}, true},
		{map[string]int{"gpu-0": 1, "gpu-1": 0}, false}, {map[string]int{"gpu-1": 0}, true}, {map[string]int{"gpu-0": 1}, true},
	} {
		if g := at(int64(5*i), step.names, step.listed); len(g) != 1 || g[0].Claim != "ns/c" {
			t.Errorf("step %d: grants %s, want the one of before", i, encoded(t, g))
		}
	}
}

// away is a sample in which the API server cannot be reached.
func away(s sample.Sample) sample.Sample {
	s.Sources = map[string]sample.SourceStatus{sample.SourceObjects: {Error: "no route to host"}}
	return s
}

// While the API server is away, a HAMi pod that the kubelet lists with other
// slots than before is another pod of its name, and one that it does not list
// and that nothing shows to run is not there.
func TestAnnotationOfAPodThatEndedUnheard(t *testing.T) {
	slot := string(deviceUUID(1))
	for name, c := range map[string]struct {
		listed []workload.PodResources
		held   []sample.Held
		away   bool
		grants int
	}{
		"as before":           {[]workload.PodResources{given(1, slot+"-3")}, nil, true, 1},
		"other slots":         {[]workload.PodResources{given(1, slot+"-4")}, nil, true, 0},
		"no slots":            {[]workload.PodResources{given(1)}, nil, true, 0},
		"not listed":          {nil, nil, true, 0},
		"not listed, runs":    {nil, []sample.Held{holds(1, 4)}, true, 1},
		"other slots, heard":  {[]workload.PodResources{given(1, slot+"-4")}, nil, false, 1},
		"not listed, no word": {nil, nil, false, 0},
	} {
		a := New(Policy{})
		at := func(second int64, listed []workload.PodResources, held []sample.Held) sample.Sample {
			s := cards(second, held, nil)
			s.Objects.Pods, s.Grants.Pods = []workload.Pod{hamiPod(1, shareOf(0, 8192))}, listed
			return s
		}
		a.Attribute(at(0, []workload.PodResources{given(1, slot+"-3")}, []sample.Held{holds(1, 4)}))
		s := at(5, c.listed, c.held)
		if c.away {
			s = away(s)
		}
		if g := a.Attribute(s).Partitions[0].Grants; len(g) != c.grants {
			t.Errorf("%s: grants %s, want %d", name, encoded(t, g), c.grants)
		}
	}
}

// Two owners of which one is known by an object alone are no finding while the
// API server is away; two that the kubelet lists are.
func TestDoubleOwnerWhileObjectsAreStale(t *testing.T) {
	card := string(deviceUUID(0))
	for want, listed := range map[int][]workload.PodResources{
		0: {given(1, string(deviceUUID(1))+"-3"), given(2, card)},
		1: {given(2, card), given(3, card)},
	} {
		s := cards(0, []sample.Held{holds(1, 4)}, nil)
		s.Objects.Pods = []workload.Pod{hamiPod(1, shareOf(0, 8192)), running(2), running(3)}
		s.Grants.Pods = listed
		if got := kinds(New(Policy{}).Attribute(away(s)))[DoubleOwner]; got != want {
			t.Errorf("%s: %d double owners, want %d", encoded(t, listed), got, want)
		}
		if got := kinds(New(Policy{}).Attribute(s))[DoubleOwner]; got != 1 {
			t.Errorf("heard of all, %s: %d double owners, want 1", encoded(t, listed), got)
		}
	}
}
