// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/fleets"
)

// labelType is the label by which the book knows a node.
const labelType = "node.kubernetes.io/instance-type"

// pricesOf is a book with each type's price of a whole node.
func pricesOf(t *testing.T, f packing.Fleet) *pricing.Prices {
	t.Helper()
	book := &pricing.Book{Name: "types", Grade: pricing.Listed}
	seen := map[string]bool{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !seen[n.Type] {
			book.Rows = append(book.Rows, pricing.Row{ID: n.Type, Currency: "USD",
				Selector: pricing.Selector{Labels: map[string]string{labelType: n.Type}}, Price: pricing.Price{Node: n.Hour}})
		}
		seen[n.Type] = true
	}
	p, err := pricing.New(pricing.DefaultPolicy(), book)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cardOf is a card as NVML tells of it.
func cardOf(g *packing.GPU) fleets.Card {
	c := fleets.Card{UUID: g.UUID, Model: g.Model, Total: g.Bytes, Slices: g.Slices}
	for i, in := range g.Layout {
		var bytes uint64
		for _, p := range g.Profiles {
			if p.Name == in.Profile {
				bytes = p.Bytes
			}
		}
		compute := uint32(in.Profile[0] - '0') // 3g.40gb
		c.Instances = append(c.Instances, sample.Instance{ID: uint32(i + 1), Profile: in.Profile, Placement: in.Placement, ComputeSlices: compute,
			Memory: &sample.Memory{Total: bytes}, Compute: []sample.ComputeInstance{{UUID: instanceUUID(g.UUID, i), Slices: compute}}})
	}
	return c
}

func instanceUUID(card gpu.UUID, i int) gpu.UUID {
	return gpu.UUID(fmt.Sprintf("MIG-%08d%s", i, strings.TrimPrefix(string(card), "GPU-00000000")))
}

// watchesOf are an hour of each node: its pods hold half of what they were given.
func watchesOf(t *testing.T, f packing.Fleet) (out []fleets.Watch) {
	t.Helper()
	start := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	pods := map[string][]fleets.Pod{}
	at := map[string]*packing.Node{}
	for i := range f.Nodes {
		at[f.Nodes[i].Name] = &f.Nodes[i]
	}
	for i := range f.Pods {
		p := &f.Pods[i]
		pods[p.At.Node] = append(pods[p.At.Node], podOn(t, i, p, at[p.At.Node]))
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		node := &fleets.Node{Cluster: "c", Name: n.Name, CPUMilli: n.CPUMilli, MemoryBytes: uint64(n.MemoryBytes),
			Labels: map[string]string{labelType: n.Type, workload.LabelMIGStrategy: "mixed"}}
		for j := range n.GPUs {
			node.Cards = append(node.Cards, cardOf(&n.GPUs[j]))
		}
		out = append(out, fleets.Watch{Cluster: "c", Node: n.Name, Samples: func(yield func(sample.Sample) bool) {
			for minute := int64(0); minute <= 60; minute += 10 {
				if !yield(node.At(start.Add(time.Duration(minute)*time.Minute), minute*60_000, pods[n.Name], nil, nil)) {
					return
				}
			}
		}})
	}
	return out
}

// podOn is a pod where it is, with the devices that it was given there.
func podOn(t *testing.T, number int, p *packing.Pod, n *packing.Node) fleets.Pod {
	t.Helper()
	out := fleets.NewPod(number+1, "team", p.ID)
	for _, id := range p.At.GPUs {
		for j := range n.GPUs {
			g := &n.GPUs[j]
			if g.UUID != id {
				continue
			}
			if p.At.Instance == nil {
				out.Devices = append(out.Devices, workload.ResourceDevices{Resource: workload.ResourceGPU, IDs: []string{string(id)}})
				out.Holds = append(out.Holds, fleets.Hold{Card: j, Instance: -1, Bytes: g.Bytes / 2})
				continue
			}
			for k, in := range g.Layout {
				if in == *p.At.Instance {
					out.Devices = append(out.Devices, workload.ResourceDevices{Resource: "nvidia.com/mig-" + in.Profile, IDs: []string{string(instanceUUID(id, k))}})
					out.Holds = append(out.Holds, fleets.Hold{Card: j, Instance: k, Bytes: 1 << 30})
				}
			}
		}
	}
	if len(out.Devices) == 0 {
		t.Fatalf("%s is on nothing of %s: %+v", p.ID, n.Name, p.At)
	}
	return out
}

// booked is an hour of a fleet: what its nodes cost, and who bears it.
func booked(t *testing.T, f packing.Fleet, prices *pricing.Prices) (cost money.Nano, by map[string]money.Nano) {
	t.Helper()
	records, err := fleets.Records(watchesOf(t, f), fleets.Rhythm{Interval: 10 * time.Minute, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	books, err := fleets.Rate(records, prices, allocation.Policy{Basis: allocation.Held})
	if err != nil {
		t.Fatal(err)
	}
	sum := books.Cost()
	if cost, err = sum.Nano(); err != nil {
		t.Fatal(err)
	}
	by = map[string]money.Nano{}
	pods := map[string]bool{}
	for i := range books.Entries {
		if e := &books.Entries[i]; e.Amount != nil {
			account := e.Account
			if strings.Contains(account, "/") {
				pods[account], account = true, "tenants"
			}
			by[account] += *e.Amount
		}
	}
	if len(pods) != len(f.Pods) {
		t.Errorf("%d of %d pods are charged", len(pods), len(f.Pods))
	}
	return cost, by
}

// TestLedgerHasThePlansCash: the hour before a plan and the hour after it go through
// metering, allocation and rating. The nodes cost less by what the plan says, to the
// billionth, and what tenants, idle and stranded bear differs by the same.
func TestLedgerHasThePlansCash(t *testing.T) {
	for _, k := range []kind{{gpus: 400, spread: 140}, {gpus: 400, spread: 140, tight: true}} {
		f := makeFleet(k, rand.New(rand.NewPCG(3, uint64(k.gpus))))
		plan, err := packing.Solve(f.Fleet, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := packing.Replay(f.Fleet, plan)
		if err != nil {
			t.Fatal(err)
		}
		prices := pricesOf(t, f.Fleet)
		costBefore, before := booked(t, f.Fleet, prices)
		costAfter, then := booked(t, after, prices)
		if costBefore != plan.Before || costAfter != plan.After || plan.After >= plan.Before {
			t.Errorf("%+v: the nodes cost %s, then %s; the plan says %s, then %s", k, costBefore, costAfter, plan.Before, plan.After)
		}
		left := plan.Before - plan.After
		for account, amount := range before {
			left -= amount - then[account]
		}
		for account, amount := range then {
			if _, was := before[account]; !was {
				left += amount
			}
		}
		if left != 0 {
			t.Errorf("%+v: %s of the plan's cash is in no account", k, left)
		}
		t.Logf("%+v: %d nodes go; before %v, after %v", k, len(plan.Returns), before, then)
	}
}
