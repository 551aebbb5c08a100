// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
	"github.com/gputally/gputally/internal/core/pricing"
)

// packed is the cluster as a repacking sees it. The trace does not tell which models
// would do for a pod, so each keeps to that which it has; parts of a card are shared
// as in the trace. What has no list price has none here.
func packed(t *testing.T, machines []Machine, placed []Placed) (f packing.Fleet) {
	t.Helper()
	prices, err := pricing.New(pricing.DefaultPolicy(), clusterBook(t))
	if err != nil {
		t.Fatal(err)
	}
	serial := 0
	for _, m := range machines {
		n := packing.Node{Name: m.Name, Type: m.Model, CPUMilli: m.CPUMilli, MemoryBytes: m.MemoryMiB * int64(mib), Hour: hourOf(t, prices, &m)}
		for range m.GPUs {
			c := CardOf(serial, cards[m.Model].Model, cards[m.Model].Total, 0)
			n.GPUs = append(n.GPUs, packing.GPU{UUID: c.UUID, Model: c.Model, Bytes: c.Total, Shared: true})
			serial++
		}
		f.Nodes = append(f.Nodes, n)
	}
	for _, p := range placed {
		n := &f.Nodes[p.Machine]
		pod := packing.Pod{ID: p.Name, CPUMilli: p.CPUMilli, MemoryBytes: p.MemoryMiB * int64(mib), At: packing.Place{Node: n.Name}}
		for _, c := range p.Cards {
			pod.At.GPUs = append(pod.At.GPUs, n.GPUs[c].UUID)
			pod.Models = []string{n.GPUs[c].Model}
		}
		switch {
		case p.GPUs > 0 && p.GPUMilli < 1000:
			pod.Need.Milli, pod.At.Milli = p.GPUMilli, p.GPUMilli
		case p.GPUs > 0:
			pod.Need.GPUs = p.GPUs
		}
		f.Pods = append(f.Pods, pod)
	}
	return f
}

// hourOf is what a machine costs in an hour, nil where nobody lists its card.
func hourOf(t *testing.T, prices *pricing.Prices, m *Machine) *money.Nano {
	t.Helper()
	n := pricing.Node{Cluster: "openb", Name: m.Name, CPUMilli: m.CPUMilli, MemoryBytes: uint64(m.MemoryMiB) * mib}
	for i := range m.GPUs {
		n.Slots = append(n.Slots, pricing.Slot{Name: fmt.Sprintf("gpu%d", i), Model: cards[m.Model].Model})
	}
	costs, err := prices.Cost(&n, clusterHour.UnixMilli(), clusterHour.UnixMilli()+hourMS)
	if err != nil || len(costs) != 1 {
		t.Fatalf("%s: %d costs, %v", m.Name, len(costs), err)
	}
	if !costs[0].Priced {
		return nil
	}
	return &costs[0].Total
}

// spread puts the pods where most is free, as a scheduler does that is to spread
// load; what has no place is left out.
func spread(machines []Machine, asks []Ask) (placed []Placed) {
	type free struct {
		cpu, memory int64
		cards       []int
	}
	rooms := make([]free, len(machines))
	for i, m := range machines {
		rooms[i] = free{m.CPUMilli, m.MemoryMiB, slices.Repeat([]int{1000}, m.GPUs)}
	}
	for _, a := range asks {
		best, most := -1, int64(-1)
		for i := range rooms {
			r, fit, sum := &rooms[i], 0, 0
			for _, c := range r.cards {
				sum += c
				if c >= a.GPUMilli {
					fit++
				}
			}
			if rank := int64(1000*sum/max(1, machines[i].GPUs)) + 1000*r.cpu/machines[i].CPUMilli; r.cpu >= a.CPUMilli && r.memory >= a.MemoryMiB && fit >= a.GPUs && rank > most {
				best, most = i, rank
			}
		}
		if best < 0 {
			continue
		}
		r, p := &rooms[best], Placed{Ask: a, Machine: best}
		r.cpu, r.memory = r.cpu-a.CPUMilli, r.memory-a.MemoryMiB
		for range a.GPUs {
			at := -1
			for c, left := range r.cards {
				if left >= a.GPUMilli && !slices.Contains(p.Cards, c) && (at < 0 || left > r.cards[at]) {
					at = c
				}
			}
			r.cards[at] -= a.GPUMilli
			p.Cards = append(p.Cards, at)
		}
		placed = append(placed, p)
	}
	return placed
}

// TestRepackCluster: the cluster of the trace, filled in two ways, and half full:
// what is free and cannot be had, and which nodes a plan gives back.
func TestRepackCluster(t *testing.T) {
	machines, err := ReadMachines(trace(t, "openb_node_list_gpu_node.csv"))
	if err != nil {
		t.Fatal(err)
	}
	asks, err := ReadAsks(trace(t, "openb_pod_list_default.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var half []Ask
	for i := range asks {
		if i%2 == 0 {
			half = append(half, asks[i])
		}
	}
	full, _ := Place(machines, asks)
	lines := head("pods", "placed", "GPUs free", "in whole cards", "no CPU or memory for one with 8 cores, 32 GiB", "nodes that go", "without a list price", "pods that restart", "USD an hour: before, after, bound")
	for _, c := range []struct {
		name   string
		placed []Placed
	}{
		{"all, where they fill cards best", full},
		{"all, spread", spread(machines, asks)},
		{"every second, spread", spread(machines, half)},
	} {
		f := packed(t, machines, c.placed)
		p, err := packing.Solve(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := packing.Replay(f, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Pods) != len(c.placed) || len(after.Nodes)+len(p.Returns) != len(machines) || p.Bound > p.After || p.After > p.Before {
			t.Errorf("%s: %d pods on %d nodes after %d go; bound %s, after %s, before %s", c.name, len(after.Pods), len(after.Nodes), len(p.Returns), p.Bound, p.After, p.Before)
		}
		free, short := int64(0), int64(0)
		for _, s := range packing.Stranded(f, packing.Ask{CPUMilli: 8000, MemoryBytes: 32 << 30}) {
			free, short = free+s.Free, short+s.ByCPU+s.ByMemory
		}
		lines = append(lines, row(c.name, len(c.placed), thousandths(free), wholeFree(f), thousandths(short), len(p.Returns), p.Unpriced, len(p.Restarts),
			fmt.Sprintf("%.2f, %.2f, %.2f", p.Before.Float(), p.After.Float(), p.Bound.Float())))
	}
	documented(t, "cluster repacked", lines...)
}

func thousandths(n int64) string { return fmt.Sprintf("%.2f", float64(n)/1000) }

// wholeFree is how many cards nobody is on.
func wholeFree(f packing.Fleet) (n int) {
	taken := map[gpu.UUID]bool{}
	for i := range f.Pods {
		for _, c := range f.Pods[i].At.GPUs {
			taken[c] = true
		}
	}
	for i := range f.Nodes {
		for j := range f.Nodes[i].GPUs {
			if !taken[f.Nodes[i].GPUs[j].UUID] {
				n++
			}
		}
	}
	return n
}
