// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/workload"
)

const gib = uint64(1) << 30

// days is the time looked at: 28 of them.
const days = 28

// hour is an hour of a pod on a card, all of it granted and measured.
func hour(n int, pod, owner string, g int) *activity.Hour {
	size, peak := 80*gib, 6*gib
	h := &activity.Hour{Cluster: "prod", Node: "n1", HourMS: int64(n) * hourMS, Holder: workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + pod, Namespace: "ml", Pod: pod},
		Owner: workload.Owner{Kind: "Deployment", Name: owner}, Partition: gpu.Whole(gpu.UUID(fmt.Sprint("GPU-", g))), Model: "NVIDIA A100-SXM4-80GB", Mode: gpu.ModeExclusive,
		CapacityBytes: &size, DurationMS: hourMS, MeasuredMS: hourMS, GrantedMS: hourMS, Holders: 1, PeakBytes: &peak, Grade: gpu.Measured, Verdict: signal.Verdict{Class: signal.Mixed}}
	v := 0.05
	for _, s := range []*signal.Spread{&h.Active, &h.SM, &h.DRAM, &h.Tensor} {
		s.Add(&v, hourMS)
	}
	return h
}

func hours(from, to int, pod, owner string, g int) (out []*activity.Hour) {
	for n := from; n < to; n++ {
		out = append(out, hour(n, pod, owner, g))
	}
	return out
}

func one(t *testing.T, list []*activity.Hour) *Case {
	t.Helper()
	cases := Cases(list, 0, days*24*hourMS)
	if len(cases) != 1 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases[0]
}

// TestTemplate: hours of an older template are no evidence for the newer one.
func TestTemplate(t *testing.T) {
	old := hours(0, 20*24, "web-aaaa-11111", "web", 0)
	now := hours(20*24, days*24, "web-bbbb-22222", "web", 0)
	c := one(t, append(old, now...))
	if !c.Changed || c.FromMS != 20*24*hourMS || c.GrantedMS != 8*24*hourMS {
		t.Errorf("changed %v, from %d, %d granted", c.Changed, c.FromMS/hourMS, c.GrantedMS/hourMS)
	}
	same := one(t, append(hours(0, 20*24, "web-bbbb-11111", "web", 0), now...))
	if same.Changed || same.FromMS != 0 {
		t.Errorf("another pod of one template: %v, %d", same.Changed, same.FromMS)
	}
}

// TestGone: what nobody has seen for three days makes no case, a training for a week.
func TestGone(t *testing.T) {
	end := days * 24
	for _, c := range []struct {
		kind string
		last int
		n    int
	}{{"Deployment", end, 1}, {"Deployment", end - 71, 1}, {"Deployment", end - 73, 0}, {"Job", end - 73, 1}, {"Job", end - 8*24, 0}} {
		list := hours(0, c.last, "web-aaaa-11111", "web", 0)
		for _, h := range list {
			h.Owner.Kind = c.kind
		}
		if got := Cases(list, 0, days*24*hourMS); len(got) != c.n {
			t.Errorf("%s, last seen %d hours before the end: %d cases", c.kind, end-c.last, len(got))
		}
	}
}

// TestHoles: hours of which nothing is recorded were granted and not measured.
func TestHoles(t *testing.T) {
	list := append(hours(0, 10*24, "a-b-c", "a", 0), hours(18*24, days*24, "a-b-c", "a", 0)...)
	c := one(t, list)
	if c.GrantedMS != days*24*hourMS || c.MeasuredMS != 20*24*hourMS {
		t.Errorf("granted %d, measured %d hours", c.GrantedMS/hourMS, c.MeasuredMS/hourMS)
	}
	r, err := c.Advise(&Fleet{})
	if err != nil || !refuses(r, advice.KindMIG, advice.Coverage) {
		t.Errorf("%+v, %v", r, err)
	}
}

func refuses(list []advice.Recommendation, kind advice.Kind, code advice.Code) bool {
	for _, r := range list {
		for _, f := range r.Refusals {
			if r.Kind == kind && r.State == advice.Refused && f.Code == code {
				return true
			}
		}
	}
	return false
}

// TestReplicas: a need is that of all replicas, money that of each by its node's price;
// one without a price is said.
func TestReplicas(t *testing.T) {
	var list []*activity.Hour
	for i := range 3 {
		of := hours(0, days*24, fmt.Sprintf("a-b-%d", i), "a", i)
		for _, h := range of {
			h.Node = fmt.Sprint("n", i)
		}
		list = append(list, of...)
	}
	*list[5].PeakBytes = 8 * gib
	c := one(t, list)
	if pods, parts := c.Size(); pods != 3 || parts != 3 || *c.PeakBytes != 8*gib || c.Target.Node != "" || c.GPUs != 1 {
		t.Errorf("%d pods, %d partitions, %+v", pods, parts, c.Subject)
	}
	price := func(_, node string) *advice.Price {
		return map[string]*advice.Price{"n0": {Currency: "USD", DeviceHour: 3 * money.Unit, NodeHour: 24 * money.Unit}, "n1": {Currency: "USD", DeviceHour: money.Unit, NodeHour: 8 * money.Unit}}[node]
	}
	list2, err := c.Advise(&Fleet{Price: price})
	if err != nil {
		t.Fatal(err)
	}
	r := list2[0]
	// 8 × 1.15 = 9.2 GiB fit the smallest. Seven eighths of 3.00 and of 1.00.
	if r.State != advice.Advised || r.Proposed.Profile != "1g.10gb" || r.Money.ChargeDelta.String() != "2555.00" {
		t.Errorf("%s %+v %+v", r.State, r.Proposed, r.Money)
	}
	if last := r.Refusals[len(r.Refusals)-1]; last.Code != advice.NoPrice {
		t.Errorf("one of three has no price: %+v", r.Refusals)
	}
}

// TestLeak: what others hold without a grant is not sized for, and said.
func TestLeak(t *testing.T) {
	list := hours(0, days*24, "a-b-c", "a", 0)
	list[7].LeakBytes = 20 * gib
	r, err := one(t, list).Advise(&Fleet{})
	if err != nil || r[0].Proposed == nil || r[0].Proposed.Profile != "1g.10gb" || r[0].Refusals[0].Code != advice.LeakPresent {
		t.Errorf("%+v, %v", r[0], err)
	}
}

// TestStopsOfOneNode: a node that goes is paid once, however many of its GPUs the
// workload has.
func TestStopsOfOneNode(t *testing.T) {
	var list []*activity.Hour
	for g := range 2 {
		for _, h := range hours(0, days*24, "jupyter-ann", "ann", g) {
			h.Owner.Kind = "Notebook"
			all := ^uint64(0) >> 4
			h.Minutes = activity.Minutes{Seen: all, Told: all}
			if (h.HourMS/hourMS)%24 < 12 {
				h.Minutes.Quiet = all
			}
			list = append(list, h)
		}
	}
	c := one(t, list)
	price := func(string, string) *advice.Price {
		return &advice.Price{Currency: "USD", DeviceHour: money.Unit, NodeHour: 2 * money.Unit}
	}
	all, err := c.Advise(&Fleet{Price: price, Alone: func(string, string, string, string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Kind != advice.KindReclaim {
			continue
		}
		// Twelve hours a night less two of waiting: ten of 24 hours, of two cards; the
		// node goes ten minutes later.
		if r.State != advice.Advised || r.Money.ChargeDelta.String() != "608.333333332" && r.Money.ChargeDelta.String() != "608.333333334" || r.Money.CashMean >= *r.Money.ChargeDelta || r.Money.CashMean < 590*money.Unit {
			t.Errorf("%s %v %+v", r.State, r.Refusals, r.Money)
		}
	}
}

// TestWorkOf: who trains, who has a notebook, and who serves: all others.
func TestWorkOf(t *testing.T) {
	for _, c := range []struct {
		kind, pod string
		want      advice.Work
	}{{"Job", "x", advice.Training}, {"PyTorchJob", "x", advice.Training}, {"Notebook", "x", advice.Notebook}, {"StatefulSet", "jupyter-ann", advice.Notebook}, {"", "jupyter-ann", advice.Notebook},
		{"Deployment", "x", advice.Serving}, {"", "x", advice.Serving}, {"Rollout", "x", advice.Serving}} {
		if got := WorkOf(workload.Owner{Kind: c.kind, Name: "n"}, workload.Holder{Pod: c.pod}); got != c.want {
			t.Errorf("%s %s: %s", c.kind, c.pod, got)
		}
	}
}

// TestEngineThatIsSilent: a pool is sized only where the engine tells all that takes: one
// that does not say whether requests wait is not one where none do.
func TestEngineThatIsSilent(t *testing.T) {
	use, pool, tokens, longest, none := 0.2, 50*gib, uint64(400_000), uint64(8192), uint64(0)
	hits, queries, fraction := uint64(1), uint64(100), 0.92
	for _, c := range []struct {
		name    string
		waiting int64
		advised bool
	}{{"it tells", 60, true}, {"it does not tell", 0, false}} {
		list := hours(0, days*24, "a-b-c", "a", 0)
		for _, h := range list {
			*h.PeakBytes = 72 * gib
			h.Engine = &demand.Evidence{Engine: demand.VLLM, Answered: 60, AnsweredMS: hourMS, WaitingKnown: c.waiting, UseMax: &use, Preempted: &none, Hits: &hits, Queries: &queries, Fraction: &fraction,
				PoolBytes: demand.Range{Least: &pool, Most: &pool}, PoolTokens: demand.Range{Least: &tokens, Most: &tokens}, RequestTokens: demand.Range{Least: &longest, Most: &longest}}
		}
		r, err := one(t, list).Advise(&Fleet{})
		if err != nil {
			t.Fatal(err)
		}
		if c.advised == refuses(r, advice.KindPool, advice.Saturated) || c.advised == refuses(r, advice.KindMIG, advice.Saturated) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
