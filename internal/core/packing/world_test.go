// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// a100 and a30 are the profiles of a card with 8 memory slices and 80 GB, and of
// one with 4 and 24 GB.
var (
	a100 = profilesOf(8, 10, "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
	a30  = profilesOf(4, 6, "1g.6gb", "2g.12gb", "4g.24gb")
)

func profilesOf(slices uint32, perSlice uint64, names ...string) (out []Profile) {
	for i, p := range gpu.LegalPlacements(slices) {
		out = append(out, Profile{Name: names[i], Bytes: perSlice * uint64(p.Placements[0].Size) << 30, Placements: p.Placements})
	}
	return out
}

func usd(n int64) *money.Nano { return new(money.Nano(n) * money.Unit) }

// machine is a node with so many cards of a model.
func machine(name string, hour *money.Nano, cards int, model string) Node {
	n := Node{Name: name, Type: model, Hour: hour, CPUMilli: 16_000 * int64(cards), MemoryBytes: 64 << 30 * int64(cards)}
	for i := range cards {
		g := GPU{UUID: gpu.UUID(fmt.Sprintf("GPU-%s-%d", name, i)), Model: model, Bytes: 80 << 30}
		switch model {
		case "A100":
			g.Slices, g.Profiles = 8, a100
		case "A30":
			g.Slices, g.Profiles, g.Bytes = 4, a30, 24<<30
		case "T4":
			g.Shared, g.Bytes = true, 16<<30
		}
		n.GPUs = append(n.GPUs, g)
	}
	if cards == 0 {
		n.CPUMilli, n.MemoryBytes = 32_000, 128<<30
	}
	return n
}

// small is a random fleet of few nodes and pods, in which all pods fit where
// they are.
func small(r *rand.Rand) Fleet {
	f := Fleet{NowMS: 1000}
	models := []string{"A100", "A100", "A30", "T4", "L4"}
	pool := models[r.IntN(len(models))]
	for i := range 2 + r.IntN(4) {
		model := pool
		if r.IntN(5) == 0 {
			model = models[r.IntN(len(models))]
		}
		n := machine(fmt.Sprintf("n%d", i), usd(1+r.Int64N(5)), 1+r.IntN(2), model)
		switch r.IntN(12) {
		case 0:
			n.Keep = "control plane"
		case 1:
			n.CommittedUntilMS = 2000
		case 2:
			n.MostPods = 3
		case 3:
			n.Taints = []string{"gpu"}
		case 4:
			n.Hour = nil
		}
		f.Nodes = append(f.Nodes, n)
	}
	for i := range 2 + r.IntN(7) {
		place(&f, somePod(r, i), r)
	}
	return f
}

func somePod(r *rand.Rand, i int) Pod {
	p := Pod{ID: fmt.Sprintf("pod-%d", i), CPUMilli: 1000 * r.Int64N(8), MemoryBytes: r.Int64N(32) << 30, Tolerates: []string{"gpu"}, Domain: "a"}
	switch r.IntN(6) {
	case 0:
		p.Need.GPUs = 1 + r.IntN(2)
	case 1, 2:
		p.Need.Profile = a100[r.IntN(len(a100))].Name
	case 3:
		p.Need.Profile = a30[r.IntN(len(a30))].Name
	case 4:
		p.Need.Milli = 1 + r.IntN(1000)
	case 5:
		p.Need.Bytes = uint64(1+r.IntN(60)) << 30
	}
	if r.IntN(8) == 0 {
		p.Need = Need{}
	}
	switch r.IntN(14) {
	case 0:
		p.Pinned = "local disk"
	case 1:
		p.Domain = "b"
	case 2, 3:
		p.Gang = "job"
	case 4:
		p.Models = []string{"A100", "T4"}
	case 5:
		p.Tolerates = nil
	}
	return p
}

// place puts a pod on a random node where it fits, or leaves it out.
func place(f *Fleet, pod Pod, r *rand.Rand) {
	for range 8 {
		n := &f.Nodes[r.IntN(len(f.Nodes))]
		for _, to := range placesOn(f, n, &pod, true) {
			pod.At = to
			f.Pods = append(f.Pods, pod)
			return
		}
	}
}

// placesOn is every place that a pod can have on a node, by the rules of Replay.
// relay: an instance may be added to a card's layout for it.
func placesOn(f *Fleet, n *Node, pod *Pod, relay bool) (out []Place) {
	try := func(to Place) {
		ghost := *pod
		ghost.ID, ghost.At = "ghost", to
		r, err := newReplay(*f, Plan{})
		if err == nil && r.fits(&ghost, to) == nil {
			out = append(out, to)
		}
	}
	switch need := pod.Need; {
	case need == Need{}:
		try(Place{Node: n.Name})
	case need.GPUs == 2 && len(n.GPUs) == 2:
		try(Place{Node: n.Name, GPUs: []gpu.UUID{n.GPUs[0].UUID, n.GPUs[1].UUID}})
	case need.GPUs < 2:
		for j := range n.GPUs {
			g := &n.GPUs[j]
			here := []gpu.UUID{g.UUID}
			if need.GPUs == 1 || need.Bytes > 0 {
				try(Place{Node: n.Name, GPUs: here})
			}
			if need.Milli > 0 {
				try(Place{Node: n.Name, GPUs: here, Milli: need.Milli})
			}
			for _, p := range g.Profiles {
				for _, at := range p.Placements {
					in := Instance{p.Name, at}
					had, mig := g.Layout, g.MIG
					if relay && len(out) == 0 && (g.MIG || free(g, pod, Place{}, holdersOf(f, g.UUID)) == nil) {
						if more := append(had[:len(had):len(had)], in); legal(g, more) == nil {
							g.Layout, g.MIG = more, true
						}
					}
					before := len(out)
					try(Place{Node: n.Name, GPUs: here, Instance: &in})
					if len(out) == before {
						g.Layout, g.MIG = had, mig
					}
				}
			}
		}
	}
	return out
}

func holdersOf(f *Fleet, id gpu.UUID) (out []*Pod) {
	for i := range f.Pods {
		for _, c := range f.Pods[i].At.GPUs {
			if c == id {
				out = append(out, &f.Pods[i])
			}
		}
	}
	return out
}

func plan(t *testing.T, f Fleet) Plan {
	t.Helper()
	p, err := Solve(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
