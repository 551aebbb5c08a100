// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

func mig(gi, ci int) gpu.UUID { return gpu.UUID(mocknvml.MIGUUID(0, gi, ci)) }

// cut is an A100 cut into 3g.20gb with two compute instances, and 2g.10gb.
func cut(n *node) *mocknvml.Line {
	g := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(g, "1c.3g.20gb", 1, 0)
	n.state.MIG(g, "2c.3g.20gb", 1, 1)
	n.state.MIG(g, "2g.10gb", 3, 0, "start=4")
	n.state.Proc(g, 10, 2*gib, "gi=1", "ci=0")
	n.state.Proc(g, 11, 1*gib, "gi=1", "ci=1")
	n.state.Proc(g, 10, 1*gib, "gi=1", "ci=1") // the same process in both
	n.state.Proc(g, 12, 3*gib, "gi=3", "ci=0", "kind=graphics")
	return g
}

func TestMIG(t *testing.T) {
	n := newNode(t)
	cut(n)
	n.open()
	d := n.one()
	first := n.at.UnixMilli()
	if !d.MIG || d.MemorySlices != 8 || d.Memory == nil || len(d.Processes) != 0 {
		t.Errorf("device %+v", d)
	}
	if d.Signals.Busy != nil {
		t.Error("a device in MIG mode has no utilization")
	}
	if len(d.Instances) != 2 {
		t.Fatalf("%d instances, want 2", len(d.Instances))
	}
	for i := range d.Instances {
		m := d.Instances[i].Memory
		if m == nil || m.Total == 0 || m.Used != 4*gib-gib*uint64(i) {
			t.Errorf("instance %d has memory %+v", i, m)
		}
		d.Instances[i].Memory = nil
	}
	equal(t, "instances", d.Instances, []sample.Instance{
		{
			ID: 1, SinceMS: first, ProfileID: 9, Profile: "3g.20gb", Placement: gpu.Placement{Start: 0, Size: 4}, ComputeSlices: 3,
			Compute: []sample.ComputeInstance{{ID: 0, UUID: mig(1, 0), Slices: 1}, {ID: 1, UUID: mig(1, 1), Slices: 2}},
			Processes: []sample.Held{
				{PID: 10, Kind: sample.KindCompute, Bytes: new(2 * gib), Compute: new(uint32(0))},
				{PID: 10, Kind: sample.KindCompute, Bytes: new(1 * gib), Compute: new(uint32(1))},
				{PID: 11, Kind: sample.KindCompute, Bytes: new(1 * gib), Compute: new(uint32(1))},
			},
		},
		{
			ID: 3, SinceMS: first, ProfileID: 14, Profile: "2g.10gb", Placement: gpu.Placement{Start: 4, Size: 2}, ComputeSlices: 2,
			Compute:   []sample.ComputeInstance{{ID: 0, UUID: mig(3, 0), Slices: 2}},
			Processes: []sample.Held{{PID: 12, Kind: sample.KindGraphics, Bytes: new(3 * gib), Compute: new(uint32(0))}},
		},
	})
}

// The possible placements are what "stranded" is computed from.
func TestPlacements(t *testing.T) {
	n := newNode(t)
	cut(n)
	n.open()
	places := map[string][]gpu.Placement{}
	for _, p := range n.one().Placements {
		places[p.Name] = p.Placements
	}
	equal(t, "3g.20gb", places["3g.20gb"], []gpu.Placement{{Start: 0, Size: 4}, {Start: 4, Size: 4}})
	equal(t, "7g.40gb", places["7g.40gb"], []gpu.Placement{{Start: 0, Size: 8}})
	equal(t, "1g.10gb", places["1g.10gb"], []gpu.Placement{{Start: 0, Size: 2}, {Start: 2, Size: 2}, {Start: 4, Size: 2}, {Start: 6, Size: 2}})
}

// Without the calls that name profiles the names are put together from sizes.
func TestProfileNamesWithoutTheDriver(t *testing.T) {
	n := newNode(t)
	n.state.GPU("h200", "mig=1")
	n.open()
	want := map[string]bool{}
	for _, p := range n.one().Placements {
		want[strings.SplitN(p.Name, "+", 2)[0]] = true
	}
	n.src.Close()
	n.state.Fault(nil, "missing", "nvmlDeviceGetGpuInstanceProfileInfoV")
	n.open()
	got := map[string]bool{}
	for _, p := range n.one().Placements {
		got[p.Name] = true
	}
	if len(got) < 6 {
		t.Errorf("only %v", got)
	}
	equal(t, "profile names of an H200", got, want)
}

func TestNominalGB(t *testing.T) {
	tests := []struct{ mib, total, want uint64 }{
		{4864, 40 * gib, 5},    // A100 40 GB 1g
		{9856, 80 * gib, 10},   // H100 80 GB 1g
		{16384, 141 * gib, 18}, // H200 1g: 16.00 GiB is called 18gb
		{33024, 141 * gib, 35},
		{40192, 40 * gib, 40},
		{4864, 0, 5}, // the device does not tell its memory
	}
	for _, test := range tests {
		if got := nominalGB(test.mib*mib, test.total); got != test.want {
			t.Errorf("%d MiB of %d: %d, want %d", test.mib, test.total, got, test.want)
		}
	}
}

// events are the kinds of what happened.
func events(d sample.Device) (kinds []string) {
	for _, e := range d.Events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func sinces(d sample.Device) map[uint32]int64 {
	out := map[uint32]int64{}
	for _, i := range d.Instances {
		out[i.ID] = i.SinceMS
	}
	return out
}

func TestMIGLayoutChanges(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb")
	n.open()
	if d := n.one(); d.MIG || len(d.Events) != 0 {
		t.Fatalf("at first: %+v", d)
	}
	g.Set("mig", 1)
	n.rewrite()
	d := n.one()
	equal(t, "MIG on", events(d), []string{"mig_layout"})
	equal(t, "detail", d.Events[0].Detail, "before: MIG off; now: MIG on, no instances")

	a := n.state.MIG(g, "1g.5gb", 7, 0, "start=0")
	n.rewrite()
	d = n.one()
	t0 := n.at.UnixMilli()
	equal(t, "one instance", events(d), []string{"mig_layout"})
	equal(t, "since", sinces(d), map[uint32]int64{7: t0})

	n.state.MIG(g, "2g.10gb", 3, 0, "start=2")
	n.rewrite()
	d = n.one()
	t1 := n.at.UnixMilli()
	equal(t, "two instances", events(d), []string{"mig_layout"})
	equal(t, "since", sinces(d), map[uint32]int64{7: t0, 3: t1})
	equal(t, "nothing new", events(n.one()), nil)

	// The first is destroyed and made anew, with the same ids and UUID.
	a.Remove()
	n.rewrite()
	equal(t, "one is gone", events(n.one()), []string{"mig_layout"})
	n.state.MIG(g, "1g.5gb", 7, 0, "start=0")
	n.rewrite()
	d = n.one()
	equal(t, "it is back", events(d), []string{"mig_layout"})
	equal(t, "since", sinces(d), map[uint32]int64{7: n.at.UnixMilli(), 3: t1})
	equal(t, "to be kept", n.src.Instances(), map[gpu.UUID]int64{mig(7, 0): n.at.UnixMilli(), mig(3, 0): t1})
}

// An instance is destroyed after it was listed and before all of it was read.
func TestInstanceVanishesWhileRead(t *testing.T) {
	for call, code := range map[string]string{
		"nvmlDeviceGetComputeRunningProcesses_v3": "error:2", "nvmlDeviceGetMemoryInfo*": "error:6",
		"nvmlDeviceGetGpuInstanceById": "error:2", "nvmlDeviceGetAttributes*": "error:2", "nvmlGpuInstanceGetInfo": "not_found",
	} {
		t.Run(call, func(t *testing.T) {
			n := newNode(t)
			cut(n)
			n.state.Fault(nil, code, call, "times=3")
			n.open()
			for _, i := range n.one().Instances {
				if i.Placement.Size == 0 || i.ComputeSlices == 0 || len(i.Compute) == 0 || i.Memory == nil || len(i.Processes) == 0 {
					t.Errorf("instance %+v", i)
				}
			}
		})
	}
}

func TestInstancesVanishAllTheTime(t *testing.T) {
	n := newNode(t)
	cut(n)
	n.state.Fault(nil, "error:2", "nvmlDeviceGetComputeRunningProcesses_v3")
	n.open()
	_, devices := n.sample()
	if d := devices[0]; d.State != gpu.StateUnreadable || d.Reason != reasonTooFast {
		t.Errorf("device is %s: %s", d.State, d.Reason)
	}
}

// What a driver never tells of an instance does not make the device unreadable.
func TestPlacementNeverTold(t *testing.T) {
	n := newNode(t)
	cut(n)
	n.state.Fault(nil, "error:2", "nvmlDeviceGetGpuInstanceById")
	n.state.Fault(nil, "no_permission", "nvmlDeviceGetGpuInstances")
	n.open()
	d := n.one()
	if len(d.Instances) != 2 || d.Instances[0].Placement.Size != 0 || d.Instances[0].Profile != "3g.20gb" {
		t.Errorf("instances %+v", d.Instances)
	}
}

func TestMIGOff(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("h100", "mig=1")
	i := n.state.MIG(g, "1g.10gb", 7, 0)
	n.open()
	n.one()
	i.Remove()
	g.Set("mig", 0)
	n.rewrite()
	d := n.one()
	equal(t, "events", events(d), []string{"mig_layout"})
	if d.MIG || len(d.Instances) != 0 || len(n.src.Instances()) != 0 {
		t.Errorf("device %+v, to be kept %v", d, n.src.Instances())
	}
}

// A compute instance more or less does not make another instance.
func TestComputeInstancesComeAndGo(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "mig=1")
	first := n.state.MIG(g, "1c.3g.20gb", 1, 0)
	n.open()
	since := sinces(n.one())
	n.state.MIG(g, "1c.3g.20gb", 1, 1)
	n.rewrite()
	d := n.one()
	equal(t, "one more", sinces(d), since)
	equal(t, "events", events(d), []string{"mig_layout"})
	first.Remove()
	n.rewrite()
	equal(t, "the first is gone", sinces(n.one()), since)
}

// An instance of another size under the same ids and UUID, made between two
// readings, is another instance.
func TestInstanceRemadeBetweenReadings(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "mig=1")
	i := n.state.MIG(g, "1g.5gb", 7, 0, "start=0")
	n.open()
	before := sinces(n.one())
	i.Set("profile", "2g.10gb")
	n.rewrite()
	d := n.one()
	equal(t, "profile", d.Instances[0].Profile, "2g.10gb")
	if sinces(d)[7] == before[7] {
		t.Error("it is taken for the old one")
	}
	equal(t, "events", events(d), []string{"mig_layout"})
}

// What an earlier process knew is taken over, once.
func TestInstancesAcrossRestarts(t *testing.T) {
	n := newNode(t)
	n.opts.Instances = map[gpu.UUID]int64{mig(1, 0): 1000, mig(1, 1): 2000, "MIG-gone": 3000}
	cut(n)
	n.open()
	equal(t, "before the first sample", n.src.Instances(), n.opts.Instances)
	equal(t, "since", sinces(n.one()), map[uint32]int64{1: 1000, 3: n.at.UnixMilli()})
	equal(t, "to be kept", n.src.Instances(), map[gpu.UUID]int64{mig(1, 0): 1000, mig(1, 1): 1000, mig(3, 0): n.at.UnixMilli()})
}

// A GPU instance without compute instances has no MIG device, and takes room.
func TestBareInstance(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(g, "2g.10gb", 3, 0, "start=2")
	n.state.Add("gi", "gpu=0", "gi=5", "profile=2g.10gb", "start=4")
	n.open()
	d := n.one()
	if len(d.Instances) != 2 || d.Instances[1].ID != 5 || d.Instances[1].Placement != (gpu.Placement{Start: 4, Size: 2}) ||
		d.Instances[1].Profile != "2g.10gb" || len(d.Instances[1].Compute) != 0 {
		t.Errorf("instances %+v", d.Instances)
	}
}

func TestFourSliceDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a30", "mig=1")
	n.open()
	if got := n.one().MemorySlices; got != 4 {
		t.Errorf("%d memory slices, want 4", got)
	}
}
