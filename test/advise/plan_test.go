// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/packing"
)

// eight is a node of 8 A100 with pods on the first of them: so many that need a slice,
// and one that needs all of a card.
func eight(name string, light int) *node {
	n := &node{name: name, kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell}
	for i := range light {
		owner := fmt.Sprintf("bge-%s%d", name, i)
		n.pods = append(n.pods, pod{namespace: "emb", kind: "Deployment", owner: owner, name: owner + "-7d4b9c6f5-aaaaa", gpus: []int{i}, held: 64 * gib / 10, busy: 0.4, sm: 0.10, dram: 0.06, cpu: 0.3})
	}
	n.pods = append(n.pods, pod{namespace: "train", kind: "Job", owner: "big-" + name, name: "big-" + name, gpus: []int{7}, held: 70 * gib, busy: 1, sm: 0.9, dram: 0.5, cpu: 0.5})
	return n
}

// TestPlan: seven slices on one card make room for the only pod of the other node. The
// plan has the money of that node, and the seven have none of it.
func TestPlan(t *testing.T) {
	w := newWorld(t)
	w.deliver(begin, end, eight("a", 7), eight("b", 0))
	w.settle()
	p, err := w.service.Plans(t.Context(), inquiry.AdviceQuery{AtMS: w.now.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Clusters) != 1 || p.Clusters[0].Plan == nil {
		t.Fatalf("%+v", p.Clusters)
	}
	c := p.Clusters[0]
	if c.Plan.Cash.String() != "17520.00" || len(c.Plan.Returns) != 1 || c.Plan.Class != advice.Cash || c.Nodes != 2 {
		t.Errorf("%+v", c.Plan)
	}
	moved := 0
	for _, s := range c.Packing.Steps {
		if s.Action == packing.Move {
			moved++
		}
	}
	if moved == 0 || c.Confidence != advice.Low || len(c.Risk.Notes) < 3 {
		t.Errorf("%d moves, %s, %v", moved, c.Confidence, c.Risk.Notes)
	}
	// As the pods are, b's one pod fits nowhere but on the card of a that is free: all
	// of a's are taken, so the plan rests on the slices.
	if len(c.Plan.Members) != 7 {
		t.Errorf("%d members", len(c.Plan.Members))
	}
	a := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
	for i := range a.Workloads {
		if r := of(t, &a, "emb/Deployment/"+fmt.Sprintf("bge-a%d", i), advice.KindMIG); r.Money.CashMean != 0 {
			t.Errorf("a single one has cash: %+v", r.Money)
		}
	}
}

// TestPlanWithoutAdvice: pods move as they are where that is enough, and shared cards
// keep their node.
func TestPlanWithoutAdvice(t *testing.T) {
	w := newWorld(t)
	from := end.AddDate(0, 0, -2)
	shared := eight("c", 0)
	shared.pods[0].mode = gpu.ModeTimeSlicing
	w.deliver(from, end, eight("a", 3), eight("b", 2), shared)
	w.settle()
	p, err := w.service.Plans(t.Context(), inquiry.AdviceQuery{AtMS: w.now.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	c := p.Clusters[0]
	if c.Plan == nil || len(c.Plan.Members) != 0 || len(c.Plan.Returns) != 2 || c.Plan.Cash.String() != "35040.00" {
		t.Fatalf("%+v, %+v", c.Plan, c.Refusals)
	}
	for _, name := range c.Plan.Returns {
		if name == "c" {
			t.Error("a node with a shared card goes")
		}
	}
}
