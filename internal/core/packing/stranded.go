// SPDX-License-Identifier: Apache-2.0

package packing

import "github.com/gputally/gputally/internal/core/gpu"

// Ask is what comes with one GPU.
type Ask struct {
	CPUMilli    int64
	MemoryBytes int64
}

// Stranding is what of a node's GPUs is free, and why it cannot be handed out.
// All are thousandths of a GPU.
type Stranding struct {
	Node string
	// Free is what nobody has.
	Free int64
	// Slices of it no legal MIG instance could cover any more.
	Slices int64
	// ByCPU and ByMemory of it nobody can have, since the node's CPU or memory is
	// asked for by others. Where both are short, the one that is shorter counts.
	ByCPU    int64
	ByMemory int64
}

// Stranded is what is free and cannot be had on each node, in the order of the
// fleet, for pods that ask for so much with each GPU. A free part of a GPU takes
// that part of it.
func Stranded(f Fleet, ask Ask) []Stranding {
	at := map[string]int{}
	out := make([]Stranding, len(f.Nodes))
	cpu, memory := make([]int64, len(f.Nodes)), make([]int64, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		at[n.Name], out[i].Node = i, n.Name
		cpu[i], memory[i] = n.CPUMilli, n.MemoryBytes
	}
	taken := map[gpu.UUID]int64{}
	for i := range f.Pods {
		p := &f.Pods[i]
		n := at[p.At.Node]
		cpu[n], memory[n] = cpu[n]-p.CPUMilli, memory[n]-p.MemoryBytes
		for _, c := range p.At.GPUs {
			taken[c] += takenMilli(&f.Nodes[n], c, p)
		}
	}
	for i := range f.Nodes {
		s := &out[i]
		for j := range f.Nodes[i].GPUs {
			g := &f.Nodes[i].GPUs[j]
			s.Free += max(0, 1000-taken[g.UUID])
			if g.MIG && g.Slices > 0 {
				s.Slices += 1000 * int64(gpu.Stranded(g.Slices, g.legal(), placements(g.Layout))) / int64(g.Slices)
			}
		}
		s.limit(cpu[i], memory[i], ask)
	}
	return out
}

func placements(layout []Instance) (out []gpu.Placement) {
	for _, in := range layout {
		out = append(out, in.Placement)
	}
	return out
}

func takenMilli(n *Node, c gpu.UUID, p *Pod) int64 {
	switch {
	case p.At.Instance != nil:
		for i := range n.GPUs {
			if n.GPUs[i].UUID == c && n.GPUs[i].Slices > 0 {
				return 1000 * int64(p.At.Instance.Placement.Size) / int64(n.GPUs[i].Slices)
			}
		}
		return 0
	case p.At.Milli > 0:
		return int64(p.At.Milli)
	}
	return 1000
}

// limit finds how much of what is free CPU and memory suffice for.
func (s *Stranding) limit(cpu, memory int64, ask Ask) {
	can := s.Free - s.Slices
	byCPU, byMemory := serves(cpu, ask.CPUMilli, can), serves(memory, ask.MemoryBytes, can)
	switch lost := can - min(byCPU, byMemory); {
	case lost <= 0:
	case byCPU <= byMemory:
		s.ByCPU = lost
	default:
		s.ByMemory = lost
	}
}

// serves is for how many thousandths of a GPU what is left suffices.
func serves(left, ask, most int64) int64 {
	if ask <= 0 {
		return most
	}
	return min(most, int64(float64(max(left, 0))/float64(ask)*1000))
}

// Least is the least that any pod asks for with one GPU: what is stranded for it
// is stranded for all. It is false in a fleet in which nobody asks for a GPU.
func Least(f Fleet) (ask Ask, ok bool) {
	for i := range f.Pods {
		p := &f.Pods[i]
		gpus := int64(p.Need.GPUs)
		if gpus == 0 && p.Need != (Need{}) {
			gpus = 1
		}
		if gpus == 0 {
			continue
		}
		c, m := p.CPUMilli/gpus, p.MemoryBytes/gpus
		if !ok {
			ask, ok = Ask{c, m}, true
		}
		ask.CPUMilli, ask.MemoryBytes = min(ask.CPUMilli, c), min(ask.MemoryBytes, m)
	}
	return ask, ok
}

func allStranded(f Fleet, ask Ask) (n int64) {
	for _, s := range Stranded(f, ask) {
		n += s.Slices + s.ByCPU + s.ByMemory
	}
	return n
}
