// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// asked remembers whom it was told to watch, and answers with what it is given.
type asked struct {
	mu      sync.Mutex
	watched []demand.Target
	answers []sample.Engine
}

func (a *asked) Watch(targets []demand.Target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched = targets
}

func (a *asked) Take() []sample.Engine {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.answers
	a.answers = nil
	return out
}

func (a *asked) answer(e ...sample.Engine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers = e
}

func (a *asked) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, t := range a.watched {
		out = append(out, t.PodUID+"/"+t.Container+"/"+t.Problem)
	}
	slices.Sort(out)
	return out
}

func testLog(to *syncBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func engineLook(uid, problem string) sample.Engine {
	return sample.Engine{PodUID: uid, Container: "main", Problem: problem, Reading: sample.EngineReading{Engine: demand.VLLM}}
}

// TestWhoIsAsked: pods with a grant or memory on this node whose owner or operator
// wants it; nobody else, whatever is written on them.
func TestWhoIsAsked(t *testing.T) {
	out := &asked{}
	log := &syncBuffer{}
	e := newEngines(out, []demand.Selector{{Engine: demand.VLLM, Namespace: "ai", Labels: map[string]string{"app": "llm"}}}, newNotes(testLog(log)))
	pod := func(name string, annotations map[string]string) workload.Pod {
		return workload.Pod{Namespace: "ai", Name: name, UID: name, IP: "10.0.0.1", Phase: workload.PhaseRunning, Annotations: annotations,
			Containers: []workload.Container{{Name: "main", Running: true}}}
	}
	wants := map[string]string{demand.AnnotationScrape: demand.VLLM}
	holder := func(uid, container string) workload.Holder {
		return workload.Holder{Kind: workload.KindPod, Namespace: "ai", Pod: uid, PodUID: uid, Container: container}
	}
	ended := pod("ended", wants)
	ended.Phase = workload.PhaseSucceeded
	chosen := pod("chosen", nil)
	chosen.Labels = map[string]string{"app": "llm"}
	objects := &sample.Objects{Pods: []workload.Pod{pod("granted", wants), pod("holds", wants), pod("without", wants), pod("unasked", nil), ended, chosen,
		pod("two", wants), pod("watcher", wants), pod("wrong", map[string]string{demand.AnnotationScrape: "vLLM"})}}
	r := &attribution.Result{Partitions: []attribution.Partition{{ID: gpu.Whole(card),
		Grants: []attribution.Grant{{Holder: holder("granted", ""), Containers: []string{"main"}}, {Holder: holder("unasked", "")}, {Holder: holder("ended", "")},
			{Holder: holder("chosen", ""), Containers: []string{"main"}}, {Holder: holder("two", ""), Containers: []string{"a", "b"}},
			{Holder: holder("watcher", ""), Admin: true}, {Holder: holder("wrong", "")}},
		Holdings: []attribution.Holding{{Holder: holder("holds", "server")}}}}}
	for range 3 {
		e.see(r, objects)
	}
	want := []string{"chosen/main/", "granted/main/", "holds/server/", "two//", "wrong//" + demand.BadAnnotation}
	if got := out.names(); !slices.Equal(got, want) {
		t.Errorf("asked are %v, want %v", got, want)
	}
	if n := log.count("write true, false or one of"); n != 1 {
		t.Errorf("what is wrong with the annotation was logged %d times", n)
	}
}

// TestLooksComeIntoRecordsAndPicture: each look counts once, in the window in which
// it ended; the picture shows the last one until the pod is gone.
func TestLooksComeIntoRecordsAndPicture(t *testing.T) {
	story(t, func(t *testing.T) {
		w, out := newWorld(), &asked{}
		w.held[1] = gib
		w.annotate = map[string]string{demand.AnnotationScrape: demand.VLLM}
		r := begin(t, w, nil, func(s *Sources) { s.Engines = out })
		at(7 * time.Second)
		if got := out.names(); len(got) != 1 || got[0] != podUID(1)+"/main/" {
			t.Fatalf("asked are %v", got)
		}
		out.answer(engineLook(podUID(1), ""))
		at(10 * time.Second)
		out.answer(engineLook(podUID(1), "timeout"))
		at(20 * time.Second)
		looks := r.agent.Snapshot().Result.Engines
		if len(looks) != 1 || looks[0].Problem != "timeout" || looks[0].Holder.Account() != "team/p1" || looks[0].Holder.Container != "main" {
			t.Errorf("the picture shows %+v", looks)
		}
		w.set(func() { delete(w.held, 1) })
		at(10 * time.Second)
		if looks := r.agent.Snapshot().Result.Engines; len(looks) != 0 || len(out.names()) != 0 {
			t.Errorf("of a pod that is gone the picture shows %+v, and %v is asked", looks, out.names())
		}
		windows := r.end()
		answered, failed := int64(0), int64(0)
		for _, b := range windows {
			for _, e := range b.Engines {
				answered, failed = answered+e.Answered, failed+e.Problems["timeout"]
			}
		}
		if answered != 1 || failed != 1 {
			t.Errorf("records have %d looks that were answered and %d that were not", answered, failed)
		}
		if n := r.log.count("engine cannot be read"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// TestRepeatsAreNotLogged: an engine that stays as it is says nothing.
func TestRepeatsAreNotLogged(t *testing.T) {
	log := &syncBuffer{}
	n := newNotes(testLog(log))
	for _, problem := range []string{"timeout", "timeout", "", "", "unreachable", "timeout"} {
		n.engine("team/p", problem)
	}
	if failing, sound := log.count("cannot be read"), log.count("engine is read"); failing != 3 || sound != 1 {
		t.Errorf("logged %d and %d times, want 3 and 1", failing, sound)
	}
	n.forgetEngines(nil)
	if len(n.engines) != 0 {
		t.Error("what was noted of pods that are gone stays")
	}
}
