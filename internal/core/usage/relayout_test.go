// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// cutting is a node with one card whose MIG layout changes under the pods: GPU
// instances come and go, and each new one has the smallest free id. Nobody ever
// has what is not theirs.
type cutting struct {
	d         draw
	mono      int64
	instances []*madeInstance
	pods      map[int]*cutPod
	made      int // pods, processes and compute instances so far
	readable  bool
}

// madeInstance is a GPU instance from its making to its end.
type madeInstance struct {
	sample.Instance
	owners map[uint32]int // of compute instances, by their id
}

type cutPod struct {
	ids       []string
	on        *madeInstance
	ci        uint32
	processes map[int]uint64 // bytes by PID
	gone      map[int]bool   // from /proc
}

const cutCard = gpu.UUID("GPU-00000000-0000-4000-8000-000000000001")

func (c *cutting) number() int { c.made++; return c.made }

// step changes something, mostly.
func (c *cutting) step() {
	c.mono += int64(4000 + c.d(2000))
	switch c.d(8) {
	case 0:
		c.makeInstance()
	case 1:
		c.destroyInstance()
	case 2, 3:
		c.startPod()
	case 4:
		c.endPod()
	case 5, 6:
		c.churnProcesses()
	case 7:
		c.readable = !c.readable || !c.d.one(3)
	}
}

func (c *cutting) makeInstance() {
	if len(c.instances) == 3 {
		return
	}
	id := uint32(1)
	for slices.ContainsFunc(c.instances, func(i *madeInstance) bool { return i.ID == id }) {
		id++
	}
	i := &madeInstance{owners: map[uint32]int{}, Instance: sample.Instance{
		ID: id, SinceMS: start + c.mono, Placement: gpu.Placement{Start: id, Size: 1}, ComputeSlices: uint32(1 + c.d(3)),
	}}
	for ci := range i.ComputeSlices {
		i.Compute = append(i.Compute, sample.ComputeInstance{
			ID: ci, Slices: 1, UUID: gpu.UUID(fmt.Sprintf("MIG-00000000-0000-5000-8000-%012d", c.number())),
		})
	}
	c.instances = append(c.instances, i)
}

// destroyInstance ends one on which nothing runs. Its pods stay listed with it.
func (c *cutting) destroyInstance() {
	c.instances = slices.DeleteFunc(c.instances, func(i *madeInstance) bool {
		return c.d.one(2) && len(c.processesOf(i)) == 0
	})
}

// startPod gives a free compute instance to a new pod, by one of its names.
func (c *cutting) startPod() {
	if len(c.instances) == 0 {
		return
	}
	i := c.instances[c.d(len(c.instances))]
	for _, ci := range i.Compute {
		if _, taken := i.owners[ci.ID]; taken {
			continue
		}
		n, id := c.number(), string(ci.UUID)
		switch {
		case !c.readable: // which instance a number was then, nobody saw
		case c.d.one(3):
			id = fmt.Sprintf("MIG-%s/%d/%d", cutCard, i.ID, ci.ID)
		case len(i.Compute) == 1 && c.d.one(2):
			id = fmt.Sprintf("nvidia0/gi%d", i.ID)
		}
		i.owners[ci.ID] = n
		c.pods[n] = &cutPod{ids: []string{id}, on: i, ci: ci.ID, processes: map[int]uint64{}, gone: map[int]bool{}}
		return
	}
}

func (c *cutting) endPod() {
	for _, n := range slices.Sorted(maps.Keys(c.pods)) {
		if p := c.pods[n]; len(p.processes) == 0 && c.d.one(3) {
			delete(p.on.owners, p.ci)
			delete(c.pods, n)
			return
		}
	}
}

func (c *cutting) churnProcesses() {
	for _, n := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[n]
		if !slices.Contains(c.instances, p.on) {
			continue
		}
		for _, pid := range slices.Sorted(maps.Keys(p.processes)) {
			switch c.d(4) {
			case 0:
				delete(p.processes, pid)
			case 1:
				p.gone[pid] = true
			}
		}
		if c.d.one(2) {
			p.processes[c.number()] = c.d.bytes(1 << 30)
		}
	}
}

// processesOf are the pods by the PIDs of the processes on an instance.
func (c *cutting) processesOf(i *madeInstance) map[int]int {
	out := map[int]int{}
	for n, p := range c.pods {
		for pid := range p.processes {
			if p.on == i {
				out[pid] = n
			}
		}
	}
	return out
}

func cutUID(n int) string { return fmt.Sprintf("00000000-0000-4000-a000-%012d", n) }

// sample is what the sources say of it.
func (c *cutting) sample() sample.Sample {
	s := sample.Sample{
		Node: "n", At: time.UnixMilli(start + c.mono).UTC(), MonoMS: c.mono, NVML: sample.Library{OK: true},
		Processes: map[int]sample.Process{}, Grants: sample.Grants{Readable: c.readable}, Objects: sample.Objects{Known: true},
		Devices: []sample.Device{{UUID: cutCard, State: gpu.StateOK, MIG: true, MemorySlices: 8}},
	}
	for n, p := range c.pods {
		name := fmt.Sprintf("p%d", n)
		s.Objects.Pods = append(s.Objects.Pods, workload.Pod{Namespace: "ns", Name: name, UID: cutUID(n), Phase: workload.PhaseRunning})
		if c.readable {
			s.Grants.Pods = append(s.Grants.Pods, workload.PodResources{Namespace: "ns", Name: name, Containers: []workload.ContainerResources{{
				Name: "c", Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: p.ids}},
			}}})
		}
		for pid := range p.processes {
			s.Processes[pid] = sample.Process{StartTicks: uint64(pid), Comm: "python", Cgroup: fmt.Sprintf("0::/kubepods/pod%s/%064x", cutUID(n), n)}
			if p.gone[pid] {
				delete(s.Processes, pid)
			}
		}
	}
	for _, i := range c.instances {
		inst := i.Instance
		inst.Memory = &sample.Memory{Total: 64 << 30, Used: 1 << 20}
		for pid, n := range c.processesOf(i) {
			bytes, ci := c.pods[n].processes[pid], c.pods[n].ci
			inst.Processes = append(inst.Processes, sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: &bytes, Compute: &ci})
			inst.Memory.Used += bytes
		}
		s.Devices[0].Instances = append(s.Devices[0].Instances, inst)
	}
	return s
}

// check compares a result with what is so. While the kubelet's list cannot be
// read some grants may be missing, and none may be another's.
func (c *cutting) check(t *testing.T, r attribution.Result) {
	t.Helper()
	for _, f := range r.Findings {
		if stale := f.Kind == attribution.StaleDeviceID || f.Kind == attribution.InventoryConflict; !stale || c.alive(f.Holder) {
			t.Fatalf("at %d: finding %+v, and nothing is wrong", c.mono, f)
		}
	}
	byID := map[gpu.PartitionID]*madeInstance{}
	for _, i := range c.instances {
		byID[gpu.PartitionID{Device: cutCard, Instance: i.ID, SinceMS: i.SinceMS}] = i
	}
	for _, p := range r.Partitions[1:] {
		i := byID[p.ID]
		holds, has := map[string]uint64{}, map[string]uint64{}
		for pid, n := range c.processesOf(i) {
			holds[cutUID(n)] += c.pods[n].processes[pid]
		}
		for _, h := range p.Holdings {
			has[h.Holder.PodUID] += *h.Bytes
		}
		if diff := cmp.Diff(holds, has); diff != "" {
			t.Fatalf("at %d: bytes on %s are with others (-want +got):\n%s", c.mono, p.ID, diff)
		}
		c.checkGrants(t, i, p)
	}
}

// alive: the instance that the pod was given is still there.
func (c *cutting) alive(pod workload.Holder) bool {
	for n, p := range c.pods {
		if cutUID(n) == pod.PodUID {
			return slices.Contains(c.instances, p.on)
		}
	}
	return true
}

func (c *cutting) checkGrants(t *testing.T, i *madeInstance, p attribution.Partition) {
	t.Helper()
	var owners, given []string
	for _, n := range i.owners {
		owners = append(owners, cutUID(n))
	}
	for _, g := range p.Grants {
		given = append(given, g.Holder.PodUID)
		if !slices.Contains(owners, g.Holder.PodUID) {
			t.Fatalf("at %d: %s is given to %s (%v), whose instance it is not", c.mono, p.ID, g.Holder.Pod, g.DeviceIDs)
		}
	}
	slices.Sort(owners)
	slices.Sort(given)
	if c.readable && !slices.Equal(owners, given) {
		t.Fatalf("at %d: %s is given to %v, want %v", c.mono, p.ID, given, owners)
	}
}

// TestLayoutsMayChange: over any history of layouts, bytes and grants stay with
// their owners, windows balance, and equal histories give equal bytes.
func TestLayoutsMayChange(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		c := &cutting{d: seeded(7000 + seed), pods: map[int]*cutPod{}, readable: true}
		a, b := attribution.New(attribution.Policy{}), attribution.New(attribution.Policy{})
		var rs []attribution.Result
		for range 120 {
			c.step()
			r := a.Attribute(c.sample())
			c.check(t, r)
			if one, two := shown(t, r), shown(t, b.Attribute(c.sample())); one != two {
				t.Fatalf("seed %d: two results of one history:\n%s", seed, cmp.Diff(strings.Split(one, ","), strings.Split(two, ",")))
			}
			rs = append(rs, r)
		}
		checkHistory(t, rs)
	}
}

func shown(t *testing.T, r attribution.Result) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
