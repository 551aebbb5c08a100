// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	at0      = int64(1793700000000) // an hour
	minuteMS = int64(60_000)
	gib      = uint64(1) << 30
)

// tenant is a pod on cards of a node, with what it holds on the first of them.
type tenant struct {
	name  string
	cards []int
	held  uint64
	milli int64 // CPU that it asks for
	leak  bool  // it has no grant
}

func (t tenant) holder() workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + t.name, Namespace: "ns", Pod: t.name}
}

func podsOf(names ...string) Pods {
	p := Pods{}
	for _, n := range names {
		p[tenant{name: n}.holder().PodKey()] = true
	}
	return p
}

// usd is an amount.
func usd(t testing.TB, text string) money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nodeOf is an hour of a node of so many cards of 80 GiB, in windows of 15 minutes. Its
// price is the GPUs', but for cpu.
func nodeOf(t testing.TB, name, price, cpu string, cards int, tenants ...tenant) Node {
	c := pricing.NodeCost{Cluster: "c", Node: name, StartMS: at0, DurationMS: 60 * minuteMS, Priced: true, Currency: "USD", CPU: usd(t, cpu), CPUMilli: 96_000, Total: usd(t, price)}
	each := (c.Total - c.CPU) / money.Nano(cards)
	for g := range cards {
		c.Slots = append(c.Slots, pricing.SlotCost{Slot: fmt.Sprintf("%02d", g), Cost: each})
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	n := Node{Costs: []pricing.NodeCost{c}}
	for w := range int64(4) {
		b := windowOf(name, at0+w*15*minuteMS, uint64(w)+1, cards, tenants)
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		n.Batches = append(n.Batches, b)
	}
	return n
}

func windowOf(name string, start int64, seq uint64, cards int, tenants []tenant) usage.Batch {
	ms := 15 * minuteMS
	span := usage.Span{StartMS: start, DurationMS: ms}
	b := usage.Batch{Version: usage.BatchVersion, Cluster: "c", Node: name, Agent: "a-" + name, Boot: "b", Seq: seq, StartMS: start, DurationMS: ms, IntervalMS: 5000}
	for g := range cards {
		size := 80 * gib
		id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%s-%d", name, g)))
		p := usage.PartitionRecord{Partition: id, Span: span, Slot: fmt.Sprintf("%02d", g), Model: "A100", Mode: gpu.ModeExclusive, MeasuredMS: ms, CapacityBytes: &size, CapacityByteMS: size * uint64(ms), Grade: gpu.Measured}
		for _, x := range tenants {
			for i, on := range x.cards {
				if on != g {
					continue
				}
				if !x.leak {
					b.Grants = append(b.Grants, usage.GrantRecord{Partition: id, Span: span, GrantedMS: ms, Grant: attribution.Grant{Holder: x.holder(), Source: "kubelet", Mode: gpu.ModeExclusive, Replicas: 1, Reserved: gpu.One}})
				}
				if i == 0 && x.held > 0 {
					b.Holders = append(b.Holders, usage.Record{Partition: id, Span: span, Holder: x.holder(), Leak: x.leak, PresentMS: ms, KnownMS: ms, ByteMS: x.held * uint64(ms), PeakBytes: x.held, Grade: gpu.Measured})
					p.UsedByteMS += x.held * uint64(ms)
				}
			}
		}
		p.FreeByteMS = p.CapacityByteMS - p.UsedByteMS
		b.Partitions = append(b.Partitions, p)
	}
	for _, x := range tenants {
		b.Pods = append(b.Pods, usage.PodRecord{Span: span, Holder: x.holder(), PresentMS: ms, CPURequestMilliMS: x.milli * ms})
	}
	return b
}

// policies are those of the worked examples, by name.
var policies = map[string]allocation.Policy{
	"held":               {},
	"reserved":           {Basis: allocation.Reserved},
	"memory":             {Basis: allocation.Memory},
	"turns":              {TurnsReserve: true},
	"held, proportion":   {Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Proportional}}},
	"held, even":         {Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Even}}},
	"held, owner":        {Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Owner, Shares: []allocation.Share{{To: "platform", Weight: 1}}}}},
	"memory, proportion": {Basis: allocation.Memory, Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Proportional}}},
	"held, cluster":      {Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Proportional}}},
}

// outcome is what a change does to a workload's charge, and to all accounts together.
type outcome struct {
	fell, all string
	ms        int64
}

// try divides the hour before and after a change. rest is another node, which only counts
// where accounts are passed on beyond the node.
func try(t *testing.T, policy string, of Pods, change Change, nodes []Node, others ...Node) outcome {
	t.Helper()
	p, known := policies[policy]
	if !known {
		t.Fatalf("no policy %q", policy)
	}
	var rest []allocation.Entry
	for _, n := range others {
		base, err := Base(n, p)
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, base...)
	}
	divide := func(nodes []Node) []allocation.Entry {
		entries, err := Divide(nodes, rest, p)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	before := divide(nodes)
	altered, ms := change(nodes)
	after := divide(altered)
	for i := range altered {
		for k := range altered[i].Batches {
			if err := altered[i].Batches[k].Check(); err != nil {
				t.Errorf("what would have been recorded cannot be: %v", err)
			}
		}
	}
	charge := func(entries []allocation.Entry) money.Sum {
		sum, currency, known := Charge(entries, of)
		if !known || currency != "USD" && currency != "" {
			t.Fatalf("a charge in %q, known %v", currency, known)
		}
		return sum
	}
	fell := charge(before)
	fell.AddSum(charge(after).Neg())
	all := total(before)
	all.AddSum(total(after).Neg())
	return outcome{fell.String(), all.String(), ms}
}

// total is all accounts'.
func total(entries []allocation.Entry) (sum money.Sum) {
	for i := range entries {
		sum.Add(*entries[i].Amount)
	}
	return sum
}
