// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// A day of 20 nodes of 8 GPUs at 3 USD per GPU-hour, in every way of handing GPUs
// out for which OpenCost was seen to charge nothing, or a multiple: replicas under
// both names, MIG under both strategies, DRA, and pods that use GPUs which nobody
// gave them. What is reserved and held is known, since it is made up.

const (
	tick  = 10 * time.Minute
	ticks = 24 * int(time.Hour/tick)
)

// kind is a way of handing out GPUs.
type kind struct {
	name  string
	nodes int
	seats func(n *Node) []seat
	// leaks: pods sit on the seats without having been given them.
	leaks bool
}

// seat is what one pod is given: cards whole, or a part of one.
type seat struct {
	devices []workload.ResourceDevices
	claim   string // name of the DRA device
	on      []Hold // where it holds memory; Bytes is all that is its
	// part is the fraction of a GPU that it keeps from others.
	part *big.Rat
}

const resourceShared = workload.ResourceGPU + ".shared"

var kinds = []kind{
	{"whole GPUs", 8, wholeSeats, false},
	{"pods that were given none", 0, nil, true}, // on the last card of whole nodes
	{"time-sliced by 4", 4, func(n *Node) []seat { return replicaSeats(n, workload.ResourceGPU) }, false},
	{"time-sliced by 4, renamed", 2, func(n *Node) []seat { return replicaSeats(n, resourceShared) }, false},
	{"MIG mixed", 3, func(n *Node) []seat { return sliceSeats(n, "nvidia.com/mig-1g.10gb", "mixed") }, false},
	{"MIG single", 1, func(n *Node) []seat { return sliceSeats(n, workload.ResourceGPU, "single") }, false},
	{"DRA", 2, claimSeats, false},
}

// wholeSeats are groups of one, two and four cards. One card is left to nobody.
func wholeSeats(n *Node) (out []seat) {
	for _, group := range [][]int{{0}, {1, 2}, {3, 4, 5, 6}} {
		s := seat{part: big.NewRat(int64(len(group)), 1)}
		var ids []string
		for _, c := range group {
			ids = append(ids, string(n.Cards[c].UUID))
			s.on = append(s.on, Hold{c, -1, n.Cards[c].Total - n.Cards[c].Reserved})
		}
		s.devices = []workload.ResourceDevices{{Resource: workload.ResourceGPU, IDs: ids}}
		out = append(out, s)
	}
	return out
}

func replicaSeats(n *Node, resource string) (out []seat) {
	all := workload.ResourceDevices{Resource: resource}
	for c := range n.Cards {
		for r := range 4 {
			id := fmt.Sprintf("%s::%d", n.Cards[c].UUID, r)
			all.IDs = append(all.IDs, id)
			out = append(out, seat{
				devices: []workload.ResourceDevices{{Resource: resource, IDs: []string{id}}},
				on:      []Hold{{c, -1, (n.Cards[c].Total - n.Cards[c].Reserved) / 4}}, part: big.NewRat(1, 4),
			})
		}
	}
	n.Allocatable = []workload.ResourceDevices{all}
	return out
}

// sliceSeats are seven instances of a card. Each costs its one memory slice of
// eight; the eighth can hold no instance of this profile.
func sliceSeats(n *Node, resource, strategy string) (out []seat) {
	n.Labels = map[string]string{workload.LabelMIGStrategy: strategy}
	for c := range n.Cards {
		for i := range uint32(7) {
			id := gpu.UUID(fmt.Sprintf("MIG-%08d-%04d-5000-8000-%012d", c, i, len(n.Name)))
			n.Cards[c].Instances = append(n.Cards[c].Instances, sample.Instance{
				ID: 7 + i, Profile: "1g.10gb", Placement: gpu.Placement{Start: i, Size: 1}, ComputeSlices: 1,
				Memory: &sample.Memory{Total: 9856 * mib, Reserved: 13 * mib}, Compute: []sample.ComputeInstance{{UUID: id, Slices: 1}},
			})
			out = append(out, seat{
				devices: []workload.ResourceDevices{{Resource: resource, IDs: []string{string(id)}}},
				on:      []Hold{{c, int(i), 9843 * mib}}, part: big.NewRat(1, 8),
			})
		}
	}
	return out
}

func claimSeats(n *Node) (out []seat) {
	slice := workload.Slice{Name: n.Name, Driver: "gpu.nvidia.com", Pool: n.Name, Generation: 1, Node: n.Name}
	for c := range n.Cards {
		name := fmt.Sprintf("gpu-%d", c)
		slice.Devices = append(slice.Devices, workload.SliceDevice{Name: name, Type: "gpu", UUID: string(n.Cards[c].UUID)})
		out = append(out, seat{claim: name, on: []Hold{{c, -1, n.Cards[c].Total - n.Cards[c].Reserved}}, part: big.NewRat(1, 1)})
	}
	n.Slices = []workload.Slice{slice}
	return out
}

// stay is a pod on a seat from one tick to another, holding a part of it.
type stay struct {
	Pod
	from, to int
	claim    *workload.Claim
}

// truth is GPUs × milliseconds of one kind.
type truth struct{ reserved, held *big.Rat }

// play fills a node's seats with pods that come and go, and adds up what they had.
func play(n *Node, seats []seat, kind string, leaks bool, rng *rand.Rand, number *int, sum *truth) (out []stay) {
	for _, s := range seats {
		for at := rng.IntN(20); at < ticks; {
			to := min(ticks, at+1+rng.IntN(45))
			*number++
			p := stay{Pod: NewPod(*number, kind, fmt.Sprintf("p%d", *number)), from: at, to: to}
			p.Devices = s.devices
			if s.claim != "" {
				p.claimOf(n, s.claim)
			}
			if leaks {
				p.Containers[0].Env = map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}
			}
			ms := new(big.Rat).SetInt64(int64(to-at) * tick.Milliseconds())
			sum.reserved.Add(sum.reserved, new(big.Rat).Mul(ms, s.part))
			for _, h := range s.on {
				h.Bytes = h.Bytes / 100 * rng.Uint64N(100)
				p.Holds = append(p.Holds, h)
				sum.held.Add(sum.held, new(big.Rat).Mul(ms, n.share(h)))
			}
			out = append(out, p)
			at = to + rng.IntN(30)
		}
	}
	return out
}

// share is the fraction of a GPU's cost that memory is: of the card, or of the
// instance's slice of it.
func (n *Node) share(h Hold) *big.Rat {
	c := &n.Cards[h.Card]
	of := func(total uint64) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).SetUint64(h.Bytes), new(big.Int).SetUint64(total))
	}
	if h.Instance < 0 {
		return of(c.Total)
	}
	one := of(c.Instances[h.Instance].Memory.Total)
	return one.Mul(one, big.NewRat(1, 8))
}

func (p *stay) claimOf(n *Node, device string) {
	name := p.Name + "-gpu"
	result := workload.ClaimResult{Request: "gpu", Driver: "gpu.nvidia.com", Pool: n.Name, Device: device}
	p.claim = &workload.Claim{
		Namespace: p.Namespace, Name: name, UID: "claim-" + p.UID, Allocated: true, Results: []workload.ClaimResult{result},
		Reserved: []workload.ClaimConsumer{{Pod: p.Name, UID: p.UID}}, Requests: []workload.ClaimRequest{{Name: "gpu"}},
	}
	p.ClaimNames = []string{name}
	p.Claims = []workload.ClaimDevices{{Namespace: p.Namespace, Name: name, Devices: []workload.ClaimDevice{{Driver: result.Driver, Pool: n.Name, Device: device}}}}
}

// watch is a node's day.
func watch(n *Node, stays []stay) Watch {
	start := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	return Watch{Cluster: n.Cluster, Node: n.Name, Samples: func(yield func(sample.Sample) bool) {
		for t := range ticks + 1 {
			var pods []Pod
			var claims []workload.Claim
			for i := range stays {
				if s := &stays[i]; s.from <= t && t < s.to {
					pods = append(pods, s.Pod)
					if s.claim != nil {
						claims = append(claims, *s.claim)
					}
				}
			}
			if !yield(n.At(start.Add(time.Duration(t)*tick), int64(t)*tick.Milliseconds(), pods, claims, nil)) {
				return
			}
		}
	}}
}

// TestEveryWayOfSharing: what pods are charged is what they reserved, or held, in
// every way of handing out GPUs: the ratio to the truth is 1.00. Idle is never
// below 0, and all together is what the GPUs cost, exactly.
func TestEveryWayOfSharing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	truths := map[string]*truth{}
	var watches []Watch
	number := 0
	for _, k := range kinds {
		truths[k.name] = &truth{new(big.Rat), new(big.Rat)}
	}
	for _, k := range kinds {
		for i := range k.nodes {
			n := &Node{Cluster: "c", Name: fmt.Sprintf("n%02d", len(watches))}
			for c := range 8 {
				n.Cards = append(n.Cards, CardOf(len(watches)*8+c, "NVIDIA H100 80GB HBM3", 81920*mib, 560*mib))
			}
			stays := play(n, k.seats(n), k.name, false, rng, &number, truths[k.name])
			if k.name == kinds[0].name && i < 3 {
				leak := seat{on: []Hold{{7, -1, 40_000 * mib}}, part: new(big.Rat)}
				stays = append(stays, play(n, []seat{leak}, kinds[1].name, true, rng, &number, truths[kinds[1].name])...)
			}
			watches = append(watches, watch(n, stays))
		}
	}
	records, err := Records(watches, Rhythm{Interval: tick, Window: tick})
	if err != nil {
		t.Fatal(err)
	}
	each := 3 * money.Unit
	prices, err := pricing.New(pricing.DefaultPolicy(), &pricing.Book{Name: "b", Grade: pricing.Listed, Rows: []pricing.Row{
		{ID: "gpu", Currency: "USD", Price: pricing.Price{GPU: &each, HostIncluded: true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pods", number)
	for _, basis := range []allocation.Basis{allocation.Reserved, allocation.Memory, allocation.Held} {
		books, err := Rate(records, prices, allocation.Policy{Basis: basis}) // checks that nothing is below 0, and each sum
		if err != nil {
			t.Fatal(err)
		}
		all := books.Of(func(*allocation.Entry) bool { return true })
		if cost := books.Cost(); cost.String() != "11520.00" || all.Money != cost {
			t.Errorf("%s: entries sum to %s, the GPUs cost %s, physically 11520", basis, all.Money, cost)
		}
		for _, k := range kinds {
			got := books.Of(func(e *allocation.Entry) bool { return e.Holder.Namespace == k.name })
			want := truths[k.name].reserved
			if basis == allocation.Memory || k.leaks {
				want = truths[k.name].held
			}
			exact, _ := new(big.Rat).Quo(new(big.Rat).Mul(want, big.NewRat(3, 1)), big.NewRat(hourMS, 1)).Float64()
			ratio := got.Money.Float() / exact
			t.Logf("%-9s %-26s charged %10.4f, truth %10.4f, ratio %.6f", basis, k.name, got.Money.Float(), exact, ratio)
			if basis != allocation.Held && (ratio < 0.999999 || ratio > 1.000001) {
				t.Errorf("%s: %s are charged %s, and should be %.6f", basis, k.name, got.Money, exact)
			}
			if kind := books.Of(func(e *allocation.Entry) bool {
				return e.Holder.Namespace == k.name && (e.Kind == allocation.Leak) != k.leaks
			}); kind != (Sum{}) {
				t.Errorf("%s: %s: %s is charged as another kind", basis, k.name, kind.Money)
			}
		}
		if lost := books.Of(func(e *allocation.Entry) bool {
			return e.Account == allocation.Unmeasured || e.Account == allocation.Unattributed || e.Account == allocation.Unavailable
		}); lost.Money != (money.Sum{}) {
			t.Errorf("%s: %s is on accounts that this fleet has no reason for", basis, lost.Money)
		}
	}
}
