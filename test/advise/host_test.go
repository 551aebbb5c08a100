// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/workload"
)

// hungry is worked example 11: four pods ask for 24 of a node's 96 CPUs each and use 6,
// so that nobody can have its other four GPUs. The fourth is made anew every day: it
// waits from midnight to 20:00 for the one before to end.
func hungry() *node {
	n := &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell, allocatable: 96_000, others: &attribution.OtherPods{}}
	add := func(name string, g int, from, to time.Time, about attribution.PodAbout) {
		n.pods = append(n.pods, pod{namespace: "train", kind: "Deployment", owner: "loader", name: "loader-5f7d8c9b6-" + name, gpus: []int{g}, from: from, to: to,
			held: 40 * gib, busy: 0.9, sm: 0.8, dram: 0.5, cpu: 0.25, asks: 24_000, about: about})
	}
	for g := range 3 {
		add(fmt.Sprintf("aaaa%d", g), g, time.Time{}, time.Time{}, attribution.PodAbout{Template: "5f7d8c9b6"})
	}
	for d := begin; d.Before(end); d = d.AddDate(0, 0, 1) {
		at := d.Add(20 * time.Hour)
		add("b"+d.Format("0102"), 3, at, at.AddDate(0, 0, 1), attribution.PodAbout{Template: "5f7d8c9b6", CreatedMS: d.UnixMilli(), ScheduledMS: at.UnixMilli()})
	}
	return n
}

// TestExample11 is it from records to money: 7 CPUs are enough, four GPUs are no longer
// stranded, and for 20 of 24 hours somebody waited.
func TestExample11(t *testing.T) {
	w := newWorld(t)
	w.deliver(begin, end, hungry())
	w.settle()
	a := w.advice(inquiry.AdviceQuery{Namespace: "train"})
	r := of(t, &a, "train/Deployment/loader", advice.KindHostDemand)
	if r.State != advice.Advised || r.Proposed.CPUMilli != 7000 || r.Proposed.HostBytes != 0 || r.Current.CPUMilli != 24_000 {
		t.Fatalf("%s: %+v, %+v", r.State, r.Proposed, r.Refusals)
	}
	m := r.Money
	if m.Class != advice.Avoidable || m.Avoidable.String() != "7300.00" || m.CashMean != 0 || m.FreedIdle.String() != "8760.00" || m.FreedStranded != -m.FreedIdle || m.ChargeDelta == nil || *m.ChargeDelta != 0 {
		t.Errorf("%+v", m)
	}
	if text := strings.Join(advice.Apply(&r), "\n"); !strings.Contains(text, `cpu: "7"`) || strings.Contains(text, "memory") {
		t.Error(text)
	}
}

// TestHostUnknown: an agent that does not tell what other pods ask for leaves the
// question open, and says so; a node without a free GPU raises none.
func TestHostUnknown(t *testing.T) {
	w := newWorld(t)
	silent := hungry()
	silent.others = nil
	full := eight("full", 7)
	full.allocatable, full.others = 96_000, &attribution.OtherPods{}
	w.deliver(end.AddDate(0, 0, -2), end, silent, full)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	r := of(t, &a, "train/Deployment/loader", advice.KindHostDemand)
	if !slices.ContainsFunc(r.Refusals, func(r advice.Refusal) bool {
		return r.Code == advice.NoSignal && strings.Contains(r.Missing, "other pods")
	}) {
		t.Errorf("%+v", r.Refusals)
	}
	for _, x := range a.Workloads {
		for _, r := range x.Recommendations {
			if x.Target.Node == "full" && r.Kind == advice.KindHostDemand {
				t.Errorf("%s has no free GPU: %+v", x.Target.Owner, r)
			}
		}
	}
}

// TestPodsWithoutGPUsKeepANode: a GPU node with nothing but web pods goes where they fit
// elsewhere, and stays where they do not. DaemonSets' pods hold up nothing.
func TestPodsWithoutGPUsKeepANode(t *testing.T) {
	for _, c := range []struct {
		name    string
		movable int64
		goes    bool
	}{{"they fit", 30_000, true}, {"they do not", 60_000, false}, {"there are none", 0, true}} {
		w := newWorld(t)
		from := end.AddDate(0, 0, -1)
		a, b := eight("a", 7), &node{name: "b", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell}
		a.allocatable, a.others = 95_000, &attribution.OtherPods{Requests: attribution.Requests{Pods: 3, CPUMilli: 9_000}}
		b.allocatable, b.others = 95_000, &attribution.OtherPods{Requests: attribution.Requests{Pods: 5, CPUMilli: c.movable + 9_000}}
		if c.movable > 0 {
			b.others.Movable = attribution.Requests{Pods: 2, CPUMilli: c.movable}
		}
		w.deliver(from, end, a, b) // a: 8 pods of 4 CPUs, 95 - 9 - 32 = 54 are left
		w.settle()
		p, err := w.service.Plans(t.Context(), inquiry.AdviceQuery{AtMS: w.now.UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		plan := p.Clusters[0]
		if got := plan.Plan != nil && slices.Equal(plan.Plan.Returns, []string{"b"}); got != c.goes {
			t.Errorf("%s: %+v, %+v", c.name, plan.Plan, plan.Refusals)
		}
		if noted := strings.Contains(strings.Join(plan.Risk.Notes, "; "), "without GPUs"); c.goes && noted != (c.movable > 0) {
			t.Errorf("%s: %v", c.name, plan.Risk.Notes)
		}
	}
}

// TestSizesAsTheDriverTells: the profiles that NVML told of a model count before those of
// the tables: here the smallest one is too small, by the driver's word alone.
func TestSizesAsTheDriverTells(t *testing.T) {
	w := newWorld(t)
	told := big()
	profile := func(name string, id uint32, gibs float64, sms uint32, at ...gpu.Placement) gpu.ProfilePlacements {
		return gpu.ProfilePlacements{ProfileID: id, Name: name, Bytes: uint64(gibs * float64(gib)), SMs: sms, Placements: at}
	}
	told.cards = []attribution.Card{{Model: a100, CapacityBytes: 80 * gib, MemorySlices: 8, Profiles: []gpu.ProfilePlacements{
		profile("1g.10gb", 19, 7.25, 14, gpu.Placement{Start: 0, Size: 1}, gpu.Placement{Start: 1, Size: 1}), // 6.4 × 1.15 = 7.36
		profile("1g.10gb+me", 20, 60, 14, gpu.Placement{Start: 0, Size: 1}),
		profile("2g.20gb", 14, 19.5, 28, gpu.Placement{Start: 0, Size: 2}, gpu.Placement{Start: 2, Size: 2}),
	}}}
	w.deliver(begin, end, told)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
	if r := of(t, &a, "emb/Deployment/bge", advice.KindMIG); r.State != advice.Advised || r.Proposed.Profile != "2g.20gb" {
		t.Errorf("%s %+v %+v", r.State, r.Proposed, r.Refusals)
	}
}

// TestWishesOfAPod: its owner wants no advice, or says what latency is wanted.
func TestWishesOfAPod(t *testing.T) {
	w := newWorld(t)
	n := big()
	n.pods[0].about = attribution.PodAbout{Latency: "p99 200 ms"}
	n.pods[2].about = attribution.PodAbout{Advice: "off until 2026-12-31: moving"}
	w.deliver(begin, end, n)
	w.settle()
	a := w.advice(inquiry.AdviceQuery{})
	if r := of(t, &a, "emb/Deployment/bge", advice.KindMIG); r.State != advice.Advised || r.Confidence != advice.High || len(r.Refusals) != 0 {
		t.Errorf("%s %s %+v", r.State, r.Confidence, r.Refusals)
	}
	r := of(t, &a, "ml/Deployment/pair", advice.KindFewer)
	if r.State != advice.Refused || !slices.ContainsFunc(r.Refusals, func(x advice.Refusal) bool { return x.Code == advice.OptedOut && strings.Contains(x.Missing, "moving") }) {
		t.Errorf("%s %+v", r.State, r.Refusals)
	}
}

// TestPlansHeedWherePodsMayBe: node a has room for b's only pod, which goes there unless
// its selector, its affinity or a taint says no.
func TestPlansHeedWherePodsMayBe(t *testing.T) {
	for _, c := range []struct {
		name, taint string
		place       workload.Placement
		goes        bool
	}{
		{"asks for nothing", "", workload.Placement{}, true},
		{"asks for what both are", "", workload.Placement{Selector: "node.kubernetes.io/instance-type=n8a"}, true},
		{"asks for its own pool", "", workload.Placement{Selector: "pool=b"}, false},
		{"asks for either pool", "", workload.Placement{Affinity: "pool In a|b"}, true},
		{"asks for any but that", "", workload.Placement{Affinity: "pool NotIn a"}, false},
		{"does not stand the taint", "team=x:NoSchedule", workload.Placement{}, false},
		{"stands the taint", "team=x:NoSchedule", workload.Placement{Tolerations: "team"}, true},
	} {
		w := newWorld(t)
		a, b := eight("a", 3), eight("b", 0)
		a.pool, b.pool, a.taint = "a", "b", c.taint
		b.pods[0].about = attribution.PodAbout{Place: c.place}
		// a's own pods stay where they are: nobody is to come to b instead.
		for i := range a.pods {
			a.pods[i].about = attribution.PodAbout{Place: workload.Placement{Selector: "pool=a"}}
		}
		w.deliver(end.Add(-26*time.Hour), end, a, b)
		w.settle()
		p, err := w.service.Plans(t.Context(), inquiry.AdviceQuery{AtMS: w.now.UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		plan := p.Clusters[0]
		if got := plan.Plan != nil && slices.Equal(plan.Plan.Returns, []string{"b"}); got != c.goes {
			t.Errorf("%s: %+v, %+v", c.name, plan.Plan, plan.Refusals)
		}
	}
}
