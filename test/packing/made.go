// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

// made is a fleet of which the cheapest packing is known: it was made from it.
type made struct {
	packing.Fleet
	// Cheapest is what the nodes of the cheapest packing cost in an hour.
	Cheapest money.Nano
	GPUs     int
	asked    map[string]room
	whole    map[gpu.UUID]bool
}

// room is CPU and memory.
type room struct{ cpu, memory int64 }

// kind of fleet to make.
type kind struct {
	gpus int
	// tight: CPU and memory of the nodes of the cheapest packing are used up, too.
	tight bool
	// spread is over how many nodes the pods lie, in per cent of the cheapest.
	spread int
}

// makeFleet makes a fleet. For each model, nodes are filled until every card is used
// up: in some models all memory slices, in others all compute slices. So no fewer
// cards can hold these pods, which must have that model, and no node of the model
// is cheaper. Then the pods are strewn over more nodes, and those
// beyond the number of the cheapest are dearer.
func makeFleet(k kind, r *rand.Rand) made {
	out := made{asked: map[string]room{}, whole: map[gpu.UUID]bool{}}
	each := k.gpus * 100 / k.spread / len(models)
	for i := range models {
		m := &models[i]
		nodes := max(1, each/m.cards)
		var pods []ask
		for range nodes {
			pods = append(pods, m.full(k, r, i%2 == 1)...)
		}
		out.Cheapest += money.Nano(nodes) * *m.hour(100)
		out.strew(m, pods, nodes, k, r)
	}
	return out
}

// ask is a pod that is to be placed, and what part of a card it takes, in 840ths.
type ask struct {
	packing.Pod
	weight int64
}

// full is the pods of one node with every card used up.
func (m *model) full(k kind, r *rand.Rand, compute bool) (pods []ask) {
	for left := m.cards; left > 0; {
		if n := 1 << r.IntN(4); r.IntN(4) == 0 && n <= left {
			pods = append(pods, m.ask(packing.Need{GPUs: n}, int64(n)*840))
			left -= n
			continue
		}
		for _, profile := range m.fullCard(r, compute) {
			need := packing.Need{Bytes: m.tenths[profile]*(1<<30)/10 - uint64(r.IntN(1<<30))}
			if r.IntN(4) > 0 || m.ambiguous(need, profile) {
				need = packing.Need{Profile: m.names[profile]}
			}
			pods = append(pods, m.ask(need, 840*int64(m.size(profile))/int64(m.slices)))
		}
		left--
	}
	m.share(pods, k, r)
	return pods
}

// ambiguous: another profile of no more slices would serve the bytes, too, so that
// fewer cards than the packing was made of might do.
func (m *model) ambiguous(n packing.Need, profile int) bool {
	if n.Bytes == 0 {
		return false
	}
	for i := range m.names {
		if i != profile && m.tenths[i]*(1<<30)/10 >= n.Bytes && m.size(i) <= m.size(profile) {
			return true
		}
	}
	return false
}

func (m *model) size(profile int) uint32 {
	return gpu.LegalPlacements(m.slices)[profile].Placements[0].Size
}

// fullCard is the profiles of a random layout that uses a card up.
func (m *model) fullCard(r *rand.Rand, compute bool) (out []int) {
	legal := gpu.LegalPlacements(m.slices)
	weights := []int{1, 1, 2, 3, 4, 7} // compute slices
	if m.slices == 4 {
		weights = []int{1, 2, 4}
	}
	full := 7
	if m.slices == 4 || !compute {
		full = int(m.slices)
	}
	for {
		var taken []gpu.Placement
		out = out[:0]
		sum := 0
		for range 24 {
			i := r.IntN(len(legal))
			at := legal[i].Placements[r.IntN(len(legal[i].Placements))]
			if slices.ContainsFunc(taken, func(o gpu.Placement) bool { return at.Start < o.Start+o.Size && o.Start < at.Start+at.Size }) {
				continue
			}
			taken, out = append(taken, at), append(out, i)
			if m.slices == 8 && compute {
				sum += weights[i]
			} else {
				sum += int(at.Size)
			}
		}
		if sum == full {
			return out
		}
	}
}

func (m *model) ask(n packing.Need, weight int64) ask {
	return ask{packing.Pod{Need: n, Models: []string{m.name}}, weight}
}

// share divides a node's CPU and memory among its pods by their part of its cards,
// more or less: all of it, or 50 to 95 per cent.
func (m *model) share(pods []ask, k kind, r *rand.Rand) {
	part := func(all int64, give func(*ask, int64)) {
		if !k.tight {
			all = all / 100 * int64(50+r.IntN(46))
		}
		weights, sum, left := make([]int64, len(pods)), int64(0), all
		for i := range pods {
			weights[i] = pods[i].weight * int64(75+r.IntN(51))
			sum += weights[i]
		}
		for i := range pods {
			n := int64(float64(all) * float64(weights[i]) / float64(sum))
			if i == len(pods)-1 {
				n = left
			}
			left -= n
			give(&pods[i], n)
		}
	}
	part(cpuMilli*int64(m.cards), func(p *ask, n int64) { p.CPUMilli = n })
	part(memoryBytes*int64(m.cards), func(p *ask, n int64) { p.MemoryBytes = n })
}

// strew puts pods on more nodes than they need, each on a random one that has
// room, the largest first. Where none has any a node is added.
func (f *made) strew(m *model, pods []ask, nodes int, k kind, r *rand.Rand) {
	slices.SortStableFunc(pods, func(a, b ask) int { return cmp.Compare(b.weight, a.weight) })
	first := len(f.Nodes)
	for i := range max(nodes+1, (nodes*k.spread+99)/100) {
		f.addNode(m, i >= nodes)
	}
	for i := range pods {
		p := pods[i].Pod
		p.ID = fmt.Sprintf("pod-%06d", len(f.Pods))
		placed := false
		for range 3 * (len(f.Nodes) - first) {
			n := &f.Nodes[first+r.IntN(len(f.Nodes)-first)]
			if placed = f.put(m, n, &p, r); placed {
				break
			}
		}
		for !placed {
			f.addNode(m, true)
			placed = f.put(m, &f.Nodes[len(f.Nodes)-1], &p, r)
		}
		f.Pods = append(f.Pods, p)
	}
}

// addNode adds a node; a dear one costs a tenth more.
func (f *made) addNode(m *model, dear bool) {
	n := packing.Node{Name: fmt.Sprintf("node-%05d", len(f.Nodes)), Type: "own-" + m.name, Hour: m.hour(100), CPUMilli: cpuMilli * int64(m.cards), MemoryBytes: memoryBytes * int64(m.cards)}
	if dear {
		n.Type, n.Hour = "dear-"+m.name, m.hour(110)
	}
	for range m.cards {
		n.GPUs = append(n.GPUs, packing.GPU{
			UUID: gpu.UUID(fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", f.GPUs)), Model: m.name, Bytes: m.gib << 30, Slices: m.slices, Profiles: m.profiles(),
		})
		f.GPUs++
	}
	f.Nodes = append(f.Nodes, n)
}

// put places a pod on a node where there is room, an instance where it can lie.
func (f *made) put(m *model, n *packing.Node, p *packing.Pod, r *rand.Rand) bool {
	if p.CPUMilli > n.CPUMilli-f.asked[n.Name].cpu || p.MemoryBytes > n.MemoryBytes-f.asked[n.Name].memory {
		return false
	}
	at := packing.Place{Node: n.Name}
	for _, j := range r.Perm(len(n.GPUs)) {
		g := &n.GPUs[j]
		if p.Need.GPUs > 0 {
			if !f.whole[g.UUID] && !g.MIG && len(at.GPUs) < p.Need.GPUs {
				at.GPUs = append(at.GPUs, g.UUID)
			}
		} else if in, ok := m.cut(g, p.Need, r); ok && !f.whole[g.UUID] && at.Instance == nil {
			at.GPUs, at.Instance = []gpu.UUID{g.UUID}, &in
			g.MIG, g.Layout = true, append(g.Layout, in)
		}
	}
	if p.Need.GPUs > 0 && len(at.GPUs) < p.Need.GPUs || len(at.GPUs) == 0 {
		return false
	}
	if at.Instance == nil {
		for _, id := range at.GPUs {
			f.whole[id] = true
		}
	}
	p.At = at
	had := f.asked[n.Name]
	f.asked[n.Name] = room{had.cpu + p.CPUMilli, had.memory + p.MemoryBytes}
	return true
}

// cut finds where another instance for a need can lie on a card.
func (m *model) cut(g *packing.GPU, need packing.Need, r *rand.Rand) (packing.Instance, bool) {
	for _, p := range g.Profiles {
		if p.Name != need.Profile && (need.Bytes == 0 || p.Bytes < need.Bytes) {
			continue
		}
		for _, i := range r.Perm(len(p.Placements)) {
			at := p.Placements[i]
			if !slices.ContainsFunc(g.Layout, func(o packing.Instance) bool {
				return at.Start < o.Placement.Start+o.Placement.Size && o.Placement.Start < at.Start+at.Size
			}) {
				return packing.Instance{Profile: p.Name, Placement: at}, true
			}
		}
		return packing.Instance{}, false
	}
	return packing.Instance{}, false
}
