// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
)

// walks counts how often 28 days of activity are read.
type walks struct {
	advising.Store
	n atomic.Int64
}

func (c *walks) Activity(ctx context.Context, q activity.Query) iter.Seq2[*activity.Hour, error] {
	if q.ToMS-q.FromMS > 14*24*3_600_000 {
		c.n.Add(1)
	}
	return c.Store.Activity(ctx, q)
}

// servers is a node with workloads of three namespaces, two of which could share a card, and
// a pod that nobody owns.
func servers() *node {
	day := func(at time.Time) bool { return at.Hour() >= 12 }
	night := func(at time.Time) bool { return at.Hour() < 12 }
	server := func(ns, kind, owner string, gpu int, asleep func(time.Time) bool) pod {
		return pod{namespace: ns, kind: kind, owner: owner, name: owner + "-5f7d8c9b6-aaaaa", gpus: []int{gpu}, held: 20 * gib, busy: 0.6, sm: 0.4, dram: 0.2, cpu: 0.5, asleep: asleep}
	}
	return &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 8, window: cell, pods: []pod{
		server("web", "Deployment", "dawn", 0, day), server("web", "Deployment", "dusk", 1, night),
		server("ops", "Deployment", "one", 2, day), server("ops", "StatefulSet", "one", 3, day),
		server("alone", "Deployment", "x", 4, day), server("alone", "", "", 5, day),
	}}
}

// keptWorld is a world with two nodes, a service that keeps, and what that reads.
func keptWorld(t *testing.T) (*world, *advising.Service, *walks) {
	w := worldUnder(t, allocation.Policy{Basis: allocation.Memory})
	w.deliver(end.AddDate(0, 0, -15), end, servers(), eight("a", 1))
	w.settle()
	store := &walks{Store: w.store}
	return w, advising.NewService(store, advising.ServiceConfig{Now: func() time.Time { return w.now }, Rules: w.rules}), store
}

// fresh is a service that has kept nothing.
func (w *world) fresh() *advising.Service {
	return advising.NewService(w.store, advising.ServiceConfig{Now: func() time.Time { return w.now }, Rules: w.rules})
}

// TestKeptIsTheSame: whatever is asked, what is kept answers as if it was worked out now, and
// the fleet's hours are read once.
func TestKeptIsTheSame(t *testing.T) {
	w, service, store := keptWorld(t)
	ask := func(s *advising.Service, q inquiry.AdviceQuery) string {
		t.Helper()
		a, err := s.Advice(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return mustJSON(a)
	}
	all := ask(service, inquiry.AdviceQuery{Share: true})
	if all != ask(w.fresh(), inquiry.AdviceQuery{Share: true}) {
		t.Error("the fleet's advice is another one when it is asked for first")
	}
	parts := 0
	for name, c := range map[string]struct {
		q     inquiry.AdviceQuery
		alone int64 // how often is read
	}{
		"all":               {inquiry.AdviceQuery{}, 0},
		"all, again":        {inquiry.AdviceQuery{Share: true}, 0},
		"later that day":    {inquiry.AdviceQuery{AtMS: w.now.Add(3 * time.Hour).UnixMilli()}, 0},
		"cluster":           {inquiry.AdviceQuery{Cluster: "prod"}, 0},
		"no such cluster":   {inquiry.AdviceQuery{Cluster: "other"}, 0},
		"namespace":         {inquiry.AdviceQuery{Namespace: "web"}, 0},
		"node":              {inquiry.AdviceQuery{Node: "a"}, 0},
		"no such node":      {inquiry.AdviceQuery{Node: "other"}, 0},
		"workload":          {inquiry.AdviceQuery{Namespace: "ops", OwnerKind: "StatefulSet", OwnerName: "one"}, 0},
		"kind alone":        {inquiry.AdviceQuery{Namespace: "ops", OwnerKind: "StatefulSet"}, 1},
		"pod of a workload": {inquiry.AdviceQuery{Namespace: "web", OwnerKind: "Pod", OwnerName: "dawn-5f7d8c9b6-aaaaa"}, 1},
		"who could share":   {inquiry.AdviceQuery{Namespace: "web", Share: true}, 1},
		"the day before":    {inquiry.AdviceQuery{AtMS: w.now.AddDate(0, 0, -1).UnixMilli()}, 1},
	} {
		before := store.n.Load()
		kept := ask(service, c.q)
		if read := store.n.Load() - before; read != c.alone {
			t.Errorf("%s: read %d times", name, read)
		}
		if now := ask(w.fresh(), c.q); kept != now {
			t.Errorf("%s:\n%s\n%s", name, kept, now)
		}
		if kept != all {
			parts++
		}
	}
	if parts < 9 {
		t.Errorf("only %d questions have answers of their own", parts)
	}
	t.Run("plans", func(t *testing.T) { keptPlans(t, w, service, store) })
}

func keptPlans(t *testing.T, w *world, service *advising.Service, store *walks) {
	before := store.n.Load()
	for _, cluster := range []string{"", "", "prod", "other"} {
		kept, err := service.Plans(t.Context(), inquiry.AdviceQuery{Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		now, err := w.fresh().Plans(t.Context(), inquiry.AdviceQuery{Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		if mustJSON(kept) != mustJSON(now) {
			t.Errorf("cluster %q:\n%s\n%s", cluster, mustJSON(kept), mustJSON(now))
		}
	}
	if n := store.n.Load() - before; n != 1 {
		t.Errorf("read %d times", n)
	}
}

// TestWhatMakesAdviceStale: late records, other prices, hours made again and the next day are
// looked at; what people say is there without looking again.
func TestWhatMakesAdviceStale(t *testing.T) {
	w, service, store := keptWorld(t)
	whole := func() (inquiry.Advice, int64) {
		t.Helper()
		before := store.n.Load()
		a, err := service.Advice(t.Context(), inquiry.AdviceQuery{})
		if err != nil {
			t.Fatal(err)
		}
		now, err := w.fresh().Advice(t.Context(), inquiry.AdviceQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if mustJSON(a) != mustJSON(now) {
			t.Errorf("%s\n%s", mustJSON(a), mustJSON(now))
		}
		return a, store.n.Load() - before
	}
	first, _ := whole()
	slice := of(t, &first, "emb/Deployment/bge-a0", advice.KindMIG)
	for _, c := range []struct {
		name  string
		do    func()
		reads int64
	}{
		{"nothing", func() {}, 0},
		{"accepted", func() { w.say(service, inquiry.Decision{ID: slice.ID, State: advice.Accepted}) }, 0},
		{"dismissed", func() { w.say(service, inquiry.Decision{ID: slice.ID, State: advice.Dismissed, Reason: "no"}) }, 0},
		{"records of the day under way", func() { w.deliver(end, end.Add(time.Hour), servers()); w.settle() }, 0},
		{"late records", func() { w.deliver(end.AddDate(0, 0, -1), end.AddDate(0, 0, -1).Add(time.Hour), eight("late", 1)) }, 1},
		{"which are rated", w.settle, 1},
		{"another price", func() { w.book["n8a"] = 48 * money.Unit; w.settle() }, 1},
		{"activity that is to be made again", func() {
			if err := w.store.AskActivity(t.Context(), "prod", "a", end.AddDate(0, 0, -3), end); err != nil {
				t.Fatal(err)
			}
		}, 1},
		{"activity that is deleted", func() {
			if err := w.store.DropActivity(t.Context(), end.AddDate(0, 0, -10)); err != nil {
				t.Fatal(err)
			}
		}, 1},
		{"the next day", func() { w.now = w.now.AddDate(0, 0, 1) }, 1},
	} {
		c.do()
		a, reads := whole()
		if reads != c.reads {
			t.Errorf("%s: read %d times", c.name, reads)
		}
		if r := of(t, &a, "emb/Deployment/bge-a0", advice.KindMIG); c.name == "accepted" && r.State != advice.Accepted || c.name == "dismissed" && r.State != advice.Dismissed {
			t.Errorf("%s: it is %s", c.name, r.State)
		}
	}
}

func (w *world) say(s *advising.Service, d inquiry.Decision) {
	w.t.Helper()
	if _, err := s.Decide(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}
