// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// fullHour is an hour of records of a node with two GPUs: a pod has the first.
func fullHour(node string) []usage.Batch {
	var out []usage.Batch
	pod := workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + node, Namespace: "ml", Pod: "train"}
	for i := range int64(60) {
		b := usage.Batch{
			Version: 1, Cluster: "c", Node: node, Agent: "a-" + node, Boot: "b", Seq: uint64(i + 1), ProviderID: "x:///" + node,
			StartMS: noon + i*minute, DurationMS: minute, IntervalMS: 5000,
		}
		span := usage.Span{StartMS: b.StartMS, DurationMS: minute}
		capacity := uint64(1000)
		for g, slot := range []string{"00:1", "00:2"} {
			id := gpu.Whole(gpu.UUID("GPU-" + node + slot))
			p := usage.PartitionRecord{
				Partition: id, Span: span, Slot: slot, Model: "NVIDIA H100", Mode: gpu.ModeExclusive, MeasuredMS: minute, CapacityBytes: &capacity,
				CapacityByteMS: capacity * uint64(minute), FreeByteMS: capacity * uint64(minute), Grade: gpu.Measured,
			}
			if g == 0 {
				p.UsedByteMS, p.FreeByteMS = 250*uint64(minute), 750*uint64(minute)
				b.Holders = append(b.Holders, usage.Record{
					Partition: id, Span: span, Holder: pod, PresentMS: minute, KnownMS: minute, ByteMS: p.UsedByteMS, PeakBytes: 250, Grade: gpu.Measured,
				})
				b.Grants = append(b.Grants, usage.GrantRecord{Partition: id, Span: span, GrantedMS: minute, Grant: attribution.Grant{
					Holder: pod, Source: "kubelet", Resource: "nvidia.com/gpu", Mode: gpu.ModeExclusive, Replicas: 1, Reserved: gpu.One,
				}})
			}
			b.Partitions = append(b.Partitions, p)
		}
		owner := workload.Owner{}
		if i > 10 {
			owner = workload.Owner{Kind: "Job", Name: "train"}
		}
		b.Pods = []usage.PodRecord{{Span: span, Holder: pod, Owner: owner, Labels: map[string]string{"team": "t"}, PresentMS: minute, CPUNanos: uint64(minute) * 1_000_000, MemoryByteMS: 1}}
		if i >= 30 {
			b.Unschedulable = []usage.Span{span}
		}
		out = append(out, b)
	}
	return out
}

func prices(t *testing.T) *pricing.Prices {
	t.Helper()
	node := money.Nano(10_000_000_001)
	policy := pricing.DefaultPolicy()
	policy.Rule = pricing.RuleAllGPU
	p, err := pricing.New(policy, &pricing.Book{Name: "book", Grade: pricing.Listed, Rows: []pricing.Row{
		{ID: "r", Selector: pricing.Selector{InstanceType: "p5"}, Currency: "USD", Price: pricing.Price{Node: &node}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func inputOf(t *testing.T, node string, p allocation.Policy) Input {
	t.Helper()
	m := machine("x:///"+node, noon-hour, noon+2*hour, shape(noon-hour, "p5", 8000, "00:1", "00:2"))
	m.Node = node
	m.Shapes[0].MemoryBytes = 1 << 30
	return Input{NodeHour: ledger.NodeHour{Cluster: "c", Node: node, HourMS: noon}, Machines: []Machine{m}, Batches: fullHour(node), Prices: prices(t), Policy: p}
}

func sum(es []allocation.Entry) (s money.Sum) {
	for i := range es {
		if es[i].Amount != nil {
			s.Add(*es[i].Amount)
		}
	}
	return s
}

func TestRate(t *testing.T) {
	in := inputOf(t, "n", allocation.Policy{})
	got, err := Rate(in)
	if err != nil {
		t.Fatal(err)
	}
	if s := sum(got.Entries); s.String() != "10.000000001" || !got.Complete || len(got.Nodes) != 1 || len(got.Remarks) != 0 {
		t.Errorf("entries come to %s, complete %v, pieces %d, remarks %v", s, got.Complete, len(got.Nodes), got.Remarks)
	}
	if d := got.Pods["uid-n"]; d.Owner.Kind != "Job" || d.Labels["team"] != "t" {
		t.Errorf("the pod is %+v", d)
	}
	if !slices.ContainsFunc(got.Entries, func(e allocation.Entry) bool {
		return e.Account == allocation.Idle && e.Note == allocation.Unschedulable
	}) {
		t.Error("half an hour was cordoned and no idle entry says so")
	}
	// The order of the records changes nothing.
	slices.Reverse(in.Batches)
	again, err := Rate(in)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(again)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("another order of records gives another outcome: %v %v\n%s\n%s", errA, errB, a, b)
	}
}

// TestNoMachineNoCost: an hour of which nothing is known comes to nothing.
func TestNoMachineNoCost(t *testing.T) {
	in := inputOf(t, "n", allocation.Policy{})
	in.Machines, in.Batches = nil, nil
	got, err := Rate(in)
	if err != nil || len(got.Entries) != 0 || len(got.Costs) != 0 || got.Complete {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRatingTwiceBooksNothing: the second booking of the same outcome is empty,
// and one with other records books the difference.
func TestRatingTwiceBooksNothing(t *testing.T) {
	in := inputOf(t, "n", allocation.Policy{})
	out, err := Rate(in)
	if err != nil {
		t.Fatal(err)
	}
	first, err := out.Book(nil, ledger.Revision{Prices: "p1", AtMS: noon}, ledger.Periods{})
	if err != nil || len(first.Lines) == 0 || first.Rated.Booking != 1 || first.After != 0 {
		t.Fatalf("first booking: %d lines, %+v, %v", len(first.Lines), first.Rated, err)
	}
	second, err := out.Book(first.Lines, ledger.Revision{Prices: "p2", AtMS: noon + 1}, ledger.Periods{})
	if err != nil || len(second.Lines) != 0 || second.Rated.Booking != 1 || second.After != 1 {
		t.Errorf("second booking: %d lines, %+v, %v", len(second.Lines), second.Rated, err)
	}
	in.Batches = in.Batches[:50]
	less, err := Rate(in)
	if err != nil || less.Records == out.Records {
		t.Fatalf("other records have the same digest, %v", err)
	}
	third, err := less.Book(first.Lines, ledger.Revision{AtMS: noon + 2}, ledger.Periods{})
	if err != nil || len(third.Lines) == 0 || third.Rated.Booking != 2 {
		t.Errorf("third booking: %d lines, %+v, %v", len(third.Lines), third.Rated, err)
	}
	var moved money.Sum
	for i := range third.Lines {
		moved.Add(*third.Lines[i].Amount)
	}
	if moved != (money.Sum{}) {
		t.Errorf("ten minutes without records changed what the node costs by %s", moved)
	}
}

// TestShare: accounts that are passed on within the cluster leave what all its
// nodes cost together as it was.
func TestShare(t *testing.T) {
	p := allocation.Policy{Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Proportional}}}
	var outs []Outcome
	for _, node := range []string{"n", "empty"} {
		in := inputOf(t, node, p)
		if node == "empty" {
			for i := range in.Batches {
				b := &in.Batches[i]
				b.Holders, b.Grants, b.Pods = nil, nil, nil
				b.Partitions[0].UsedByteMS, b.Partitions[0].FreeByteMS = 0, b.Partitions[0].CapacityByteMS
			}
		}
		o, err := Rate(in)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, o)
	}
	if err := Share(outs, p); err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		if s := sum(o.Entries); s.String() != "10.000000001" {
			t.Errorf("node %s comes to %s", o.Node, s)
		}
	}
	if !slices.ContainsFunc(outs[1].Entries, func(e allocation.Entry) bool { return e.Account == "ml/train" && e.Kind == allocation.Shared }) {
		t.Error("the idle node is on nobody's account, though another node of the cluster has a workload")
	}
}
