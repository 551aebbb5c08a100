// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/usage"
)

const a100 = "NVIDIA A100-SXM4-80GB"

// big is the node of the worked examples: 8 A100.
func big() *node {
	use, hits, queries := 0.22, uint64(50), uint64(1000)
	fraction := 0.92
	var none, zero uint64
	pool, tokens, longest := 5542*gib/100, uint64(453_968), uint64(8192)
	vllm := &usage.EngineRecord{Engine: "vllm", Answered: 60, PoolUseMax: &use, PoolBytes: &pool, PoolTokens: &tokens, RequestTokens: &longest, MemoryFraction: &fraction,
		WaitingKnown: 60, WaitingMax: &zero, RunningMax: &zero, Preemptions: &none, PrefixHits: &hits, PrefixQueries: &queries}
	return &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell, pods: []pod{
		{namespace: "emb", kind: "Deployment", owner: "bge", name: "bge-7d4b9c6f5-aaaaa", gpus: []int{0}, held: 64 * gib / 10, busy: 0.4, sm: 0.10, dram: 0.06, cpu: 0.3},
		{namespace: "llm", kind: "StatefulSet", owner: "vllm", name: "vllm-0", gpus: []int{1}, held: 7282 * gib / 100, busy: 0.9, sm: 0.55, dram: 0.35, cpu: 0.3, engine: vllm},
		{namespace: "ml", kind: "Deployment", owner: "pair", name: "pair-5f7d8c9b6-bbbbb", gpus: []int{2, 3}, held: 60 * gib, idle: []int{3}, busy: 1, sm: 0.9, dram: 0.3, cpu: 0.5},
		{namespace: "web", kind: "Deployment", owner: "a", name: "a-5f7d8c9b6-ccccc", gpus: []int{4}, held: 20 * gib, busy: 0.5, sm: 0.4, dram: 0.2, cpu: 0.5, mode: gpu.ModeTimeSlicing},
		{namespace: "web", kind: "Deployment", owner: "b", name: "b-5f7d8c9b6-ddddd", gpus: []int{4}, held: 10 * gib, busy: 0.5, sm: 0.4, dram: 0.2, cpu: 0.5, mode: gpu.ModeTimeSlicing},
		{namespace: "web", kind: "Deployment", owner: "dark", name: "dark-5f7d8c9b6-eeeee", gpus: []int{5}, held: 10 * gib, busy: 1, cpu: 0.5},
		{namespace: "web", kind: "Deployment", owner: "new", name: "new-5f7d8c9b6-fffff", gpus: []int{6}, from: end.AddDate(0, 0, -5), held: 10 * gib, busy: 1, sm: 0.1, dram: 0.05, cpu: 0.5},
		{namespace: "web", kind: "Deployment", owner: "gone", name: "gone-5f7d8c9b6-ggggg", gpus: []int{7}, to: begin.AddDate(0, 0, 20), held: 10 * gib, busy: 1, sm: 0.1, dram: 0.05, cpu: 0.5},
		{namespace: "web", kind: "Deployment", owner: "unused", name: "unused-5f7d8c9b6-hhhhh", gpus: []int{7}, from: begin.AddDate(0, 0, 21), idle: []int{7}, cpu: 0.01},
	}}
}

// small is a notebook's own node. Its user works from nine to five, but not at weekends.
func small() *node {
	asleep := func(at time.Time) bool {
		return at.Hour() < 9 || at.Hour() >= 17 || at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
	}
	return &node{name: "n1", kind: "n1x", model: "NVIDIA L4", capacity: 23 * gib, gpus: 1, window: time.Minute, pods: []pod{
		{namespace: "nb", kind: "Notebook", owner: "carol", name: "carol-0", gpus: []int{0}, held: 9 * gib, busy: 0.3, cpu: 0.6, asleep: asleep},
	}}
}

// own is a model's own node: an A100 of which it uses a fifth of the bandwidth.
func own() *node {
	return &node{name: "n2", kind: "n1a", model: a100, capacity: 80 * gib, gpus: 1, window: cell, pods: []pod{
		{namespace: "llm", kind: "Deployment", owner: "small", name: "small-5f7d8c9b6-zzzzz", gpus: []int{0}, held: 156 * gib / 10, busy: 0.9, sm: 0.30, dram: 0.2157, cpu: 0.5},
	}}
}

// of finds a workload's recommendation of a kind.
func of(t *testing.T, a *inquiry.Advice, workload string, kind advice.Kind) advice.Recommendation {
	t.Helper()
	for i := range a.Workloads {
		w := &a.Workloads[i]
		if w.Target.Namespace+"/"+w.Target.Owner != workload {
			continue
		}
		for _, r := range w.Recommendations {
			if r.Kind == kind {
				return r
			}
		}
	}
	t.Fatalf("nothing of %s for %s in %+v", kind, workload, a.Workloads)
	return advice.Recommendation{}
}

func codes(r *advice.Recommendation) (out []advice.Code) {
	for _, f := range r.Refusals {
		out = append(out, f.Code)
	}
	return out
}

// TestAdvice: the worked examples, from records to money.
func TestAdvice(t *testing.T) {
	w := newWorld(t)
	n8, n1, n2 := big(), small(), own()
	w.deliver(begin, end, n8, n1, n2)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	if a.Behind != 0 || a.ToMS != end.UnixMilli() || a.FromMS != end.AddDate(0, 0, -28).UnixMilli() {
		t.Errorf("%d hours behind, from %d to %d", a.Behind, a.FromMS, a.ToMS)
	}

	t.Run("a MIG profile: the charge falls, the invoice does not", func(t *testing.T) {
		r := of(t, &a, "emb/Deployment/bge", advice.KindMIG)
		if r.State != advice.Advised || r.Proposed.Profile != "1g.10gb" || r.Class != signal.LaunchBound && r.Class != signal.Mixed {
			t.Fatalf("%s %+v %v, class %s", r.State, r.Proposed, codes(&r), r.Class)
		}
		if m := r.Money; m == nil || m.ChargeDelta == nil || m.ChargeDelta.String() != "1916.25" || m.CashMean != 0 || m.Class != advice.Capacity {
			t.Errorf("%+v", r.Money)
		}
		if r.Confidence != advice.Low || !slices.Contains(codes(&r), advice.LatencyUnknown) {
			t.Errorf("%s, %v", r.Confidence, codes(&r))
		}
	})
	t.Run("a pool of an engine: an enabler", func(t *testing.T) {
		r := of(t, &a, "llm/StatefulSet/vllm", advice.KindPool)
		if r.State != advice.Advised || r.Proposed.Fraction != "0.41" || r.Money.Class != advice.Enabler || *r.Money.ChargeDelta != 0 {
			t.Fatalf("%s %+v %v %+v", r.State, r.Proposed, r.Refusals, r.Money)
		}
		if r := of(t, &a, "llm/StatefulSet/vllm", advice.KindMIG); r.State != advice.Refused || !slices.Contains(codes(&r), advice.NoFit) {
			t.Errorf("a slice: %s, %v", r.State, codes(&r))
		}
	})
	t.Run("granted and never used", func(t *testing.T) {
		r := of(t, &a, "ml/Deployment/pair", advice.KindFewer)
		if r.State != advice.Advised || len(r.Proposed.With) != 1 || !strings.HasSuffix(r.Proposed.With[0], "n8-3") || r.Money.ChargeDelta.String() != "2190.00" || r.Money.CashMean != 0 {
			t.Fatalf("%s %+v %v %+v", r.State, r.Proposed, codes(&r), r.Money)
		}
		if r := of(t, &a, "ml/Deployment/pair", advice.KindMIG); !slices.Contains(codes(&r), advice.MultiGPU) {
			t.Errorf("a slice: %v", codes(&r))
		}
	})
	t.Run("another machine", func(t *testing.T) {
		r := of(t, &a, "llm/Deployment/small", advice.KindShape)
		// (3.67 - 1.90) × 730; L4 has too little bandwidth, T4 no bf16.
		if r.State != advice.Advised || r.Proposed.Model != "n1l" || r.Money.Class != advice.Cash || r.Money.CashMean.String() != "1292.10" {
			t.Fatalf("%s %+v %v %+v", r.State, r.Proposed, r.Refusals, r.Money)
		}
		if r.Money.PriceRef != "book n1l" || r.Risk.SlowdownBound < 2.3 || r.Risk.SlowdownBound > 2.4 {
			t.Errorf("%+v, %+v", r.Money, r.Risk)
		}
	})
	t.Run("a notebook that sleeps: the node goes", func(t *testing.T) {
		r := of(t, &a, "nb/Notebook/carol", advice.KindReclaim)
		if r.State != advice.Advised || r.Money.Class != advice.Cash || len(r.Options) != 4 {
			t.Fatalf("%s %v %+v", r.State, r.Refusals, r.Money)
		}
		// The night before the first Monday, then four weeks of four nights and a
		// weekend. The last has no morning after it. Two hours of each are the wait, and
		// ten minutes more the node stays.
		o := r.Options[2]
		if o.Stops != 21 || o.ColdStarts != 20 || o.StoppedMS != (9+4*(4*16+64)-9-21*2)*time.Hour.Milliseconds() || r.Money.CashMean <= 0 || r.Money.CashMean >= *r.Money.ChargeDelta {
			t.Errorf("%+v, %+v", o, r.Money)
		}
		if r.Money.CashLow > r.Money.CashMean {
			t.Errorf("the worst day saves more than the mean: %+v", r.Money)
		}
	})
	t.Run("an instance that nobody ever used", func(t *testing.T) {
		if r := of(t, &a, "web/Deployment/unused", advice.KindReclaim); r.State != advice.Refused || !slices.Contains(codes(&r), advice.NotEnoughHistory) {
			t.Errorf("8 days are enough: %s, %v", r.State, codes(&r))
		}
	})
	for _, c := range []struct {
		workload string
		kind     advice.Kind
		code     advice.Code
	}{
		{"web/Deployment/a", advice.KindMIG, advice.Indivisible},
		{"web/Deployment/b", advice.KindMIG, advice.Indivisible},
		{"web/Deployment/dark", advice.KindMIG, advice.NoSignal},
		{"web/Deployment/new", advice.KindMIG, advice.NotEnoughHistory},
		{"emb/Deployment/bge", advice.KindReclaim, advice.NoSignal}, // a server's requests are not told
		{"nb/Notebook/carol", advice.KindMIG, advice.MIGUnsupported},
	} {
		if r := of(t, &a, c.workload, c.kind); r.State != advice.Refused || !slices.Contains(codes(&r), c.code) {
			t.Errorf("%s %s: %s, %v, want %s", c.workload, c.kind, r.State, codes(&r), c.code)
		}
	}
	for i := range a.Workloads {
		if a.Workloads[i].Target.Owner == "Deployment/gone" {
			t.Error("a workload that is gone has advice")
		}
	}
	t.Run("what is printed is no change", func(t *testing.T) {
		r := of(t, &a, "emb/Deployment/bge", advice.KindMIG)
		if text := strings.Join(advice.Apply(&r), "\n"); !strings.Contains(text, "nvidia.com/mig-1g.10gb: 1") || !strings.Contains(text, "cordon") {
			t.Error(text)
		}
		r = of(t, &a, "web/Deployment/dark", advice.KindMIG)
		if lines := advice.Apply(&r); lines != nil {
			t.Errorf("a refusal is applied: %v", lines)
		}
	})
	t.Run("the same records say the same", func(t *testing.T) { sameAgain(t, []*node{n1, n2, n8}, &a) })
	t.Run("narrower questions", func(t *testing.T) { narrower(t, w, &a) })
	t.Run("what people say", func(t *testing.T) { said(t, w, &a) })
}

// sameAgain delivers the same in another order to another store.
func sameAgain(t *testing.T, nodes []*node, want *inquiry.Advice) {
	other := newWorld(t)
	for day := 28; day >= 0; day-- { // the newest day first, rated on the way
		other.deliver(begin.AddDate(0, 0, day), begin.AddDate(0, 0, day+1), nodes...)
		if day%7 == 3 {
			other.settle()
		}
	}
	other.settle()
	got := other.advice(inquiry.AdviceQuery{})
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("other advice of the same records:\n%s\n%s", a, b)
	}
}

func narrower(t *testing.T, w *world, all *inquiry.Advice) {
	for _, c := range []struct {
		q inquiry.AdviceQuery
		n int
	}{
		{inquiry.AdviceQuery{Namespace: "web"}, 5},
		{inquiry.AdviceQuery{Namespace: "emb", OwnerKind: "Deployment", OwnerName: "bge"}, 1},
		{inquiry.AdviceQuery{Node: "n1"}, 1},
		{inquiry.AdviceQuery{Cluster: "none"}, 0},
		{inquiry.AdviceQuery{}, len(all.Workloads)},
	} {
		if got := w.advice(c.q); len(got.Workloads) != c.n {
			t.Errorf("%+v: %d workloads, want %d", c.q, len(got.Workloads), c.n)
		}
	}
	one := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
	a, b := of(t, &one, "emb/Deployment/bge", advice.KindMIG), of(t, all, "emb/Deployment/bge", advice.KindMIG)
	if x, y := mustJSON(a), mustJSON(b); x != y {
		t.Errorf("asked alone it is other advice:\n%s\n%s", x, y)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// said: accepted, dismissed until a day, and what cannot be said.
func said(t *testing.T, w *world, a *inquiry.Advice) {
	ctx := t.Context()
	bge, vllm, dark := of(t, a, "emb/Deployment/bge", advice.KindMIG), of(t, a, "llm/StatefulSet/vllm", advice.KindPool), of(t, a, "web/Deployment/dark", advice.KindMIG)
	until := w.now.AddDate(0, 0, 10)
	for _, d := range []inquiry.Decision{
		{ID: bge.ID, State: advice.Dismissed, Reason: "launch in December", By: "ann", UntilMS: until.UnixMilli()},
		{ID: vllm.ID, State: advice.Accepted, By: "bob"},
	} {
		if _, err := w.service.Decide(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	var wrong *inquiry.Wrong
	var missing *inquiry.NotFound
	var refused *inquiry.Refused
	for _, c := range []struct {
		d  inquiry.Decision
		is any
	}{
		{inquiry.Decision{ID: bge.ID, State: advice.Dismissed}, &wrong},
		{inquiry.Decision{ID: bge.ID, State: advice.Verified}, &wrong},
		{inquiry.Decision{ID: "0000", State: advice.Accepted}, &missing},
		{inquiry.Decision{ID: dark.ID, State: advice.Accepted}, &refused},
	} {
		if _, err := w.service.Decide(ctx, c.d); !errors.As(err, c.is) {
			t.Errorf("%+v: %v", c.d, err)
		}
	}
	now := w.advice(inquiry.AdviceQuery{})
	if r := of(t, &now, "emb/Deployment/bge", advice.KindMIG); r.State != advice.Dismissed {
		t.Errorf("dismissed is %s", r.State)
	}
	if r := of(t, &now, "llm/StatefulSet/vllm", advice.KindPool); r.State != advice.Accepted {
		t.Errorf("accepted is %s", r.State)
	}
	before := w.now
	defer func() { w.now = before }()
	w.now = until.Add(time.Hour)
	all, err := w.service.Decisions(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, d := range all {
		if d.ID == bge.ID && d.State != advice.Expired {
			t.Errorf("after its day it is %s", d.State)
		}
	}
	w.now = time.UnixMilli(vllm.ExpiresMS).Add(time.Hour)
	if all, err = w.service.Decisions(ctx); err != nil || !slices.ContainsFunc(all, func(d inquiry.Decision) bool { return d.ID == vllm.ID && d.State == advice.Expired }) {
		t.Errorf("accepted and never made: %+v, %v", all, err)
	}
}
