// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func TestHungGPUSourceLeavesTheRestWorking(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		at(31 * time.Second)
		block := make(chan struct{})
		w.set(func() { w.block = block })
		at(3 * time.Minute)
		s := r.agent.Snapshot()
		if p := s.Result.Partitions[0]; p.State != gpu.StateHung || p.Used != nil {
			t.Errorf("partition %+v, want hung and no figures", p)
		}
		if s.Result.NVML.OK || s.Result.Sources[SourceNVML].OK || !s.Result.Sources[SourceGrants].OK {
			t.Errorf("sources %+v, want nvml failing and the others not", s.Result.Sources)
		}
		if w.reading != 1 {
			t.Errorf("%d reads hang, want one", w.reading)
		}
		if err := r.agent.Healthy(); err != nil {
			t.Errorf("the loop comes round, but: %v", err)
		}
		w.set(func() { w.block = nil })
		close(block)
		at(30 * time.Second)
		if p := r.agent.Snapshot().Result.Partitions[0]; p.State != gpu.StateOK {
			t.Errorf("state after the call came back: %s", p.State)
		}
		windows := r.end()
		total, measured, unmeasured := sumMS(windows)
		if total != 241000 || measured+unmeasured != total || unmeasured < 175000 || unmeasured > 190000 {
			t.Errorf("%d ms: %d measured, %d unmeasured; want about 180000 unmeasured", total, measured, unmeasured)
		}
		if n := r.log.count("source fails"); n != 1 {
			t.Errorf("the failure was logged %d times, want once", n)
		}
	})
}

func TestHungProcLeavesOwnersAsTheyWere(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		at(12 * time.Second)
		block := make(chan struct{})
		w.set(func() { w.blockProc = block })
		at(time.Minute)
		w.set(func() { w.held[2] = gib })
		at(10 * time.Second)
		s := r.agent.Snapshot()
		p := s.Result.Partitions[0]
		if len(p.Holdings) == 0 || p.Holdings[0].Holder.Account() != "team/p1" {
			t.Errorf("holdings %+v, want team/p1 as before", p.Holdings)
		}
		if len(p.Holdings) != 2 || p.Holdings[1].Holder.Kind != workload.KindUnknown {
			t.Errorf("holdings %+v, want the process that nobody could ask about as unknown", p.Holdings)
		}
		if s.Result.Sources[SourceProcesses].OK {
			t.Error("the source counts as sound")
		}
		w.set(func() { w.blockProc = nil })
		close(block)
		at(10 * time.Second)
		if p := r.agent.Snapshot().Result.Partitions[0]; len(p.Holdings) != 2 || p.Holdings[1].Holder.Account() != "team/p2" {
			t.Errorf("afterwards %+v, want both pods", p.Holdings)
		}
		r.end()
	})
}

func TestAPIOutageKeepsTheCacheAndSaysItsAge(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		at(12 * time.Second)
		w.set(func() { w.objects = sample.SourceStatus{Error: "no route", StaleMS: 90000} })
		at(48 * time.Second)
		s := r.agent.Snapshot()
		if got := s.Result.Partitions[0].Holdings[0].Holder.Account(); got != "team/p1" {
			t.Errorf("holder %s during the outage, want team/p1", got)
		}
		if st := s.Result.Sources[SourceObjects]; st.OK || st.StaleMS != 90000 {
			t.Errorf("status %+v, want failing and 90 s old", st)
		}
		if s.Stats.Failures[SourceObjects] == 0 {
			t.Error("failures were not counted")
		}
		r.end()
	})
}

func TestUnreadableGrantsAreUnknownNotEmpty(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1], w.grants = gib, errBroken
		r := begin(t, w, nil)
		at(61 * time.Second)
		p := r.agent.Snapshot().Result.Partitions[0]
		if p.GrantsKnown {
			t.Error("grants count as known though the socket cannot be read")
		}
		for _, f := range r.agent.Snapshot().Result.Findings {
			t.Errorf("finding %s without knowing grants", f.Kind)
		}
		windows := r.end()
		if got := windows[0].Partitions[0].GrantsUnknownMS; got != 60000 {
			t.Errorf("grants unknown for %d ms of the window, want 60000", got)
		}
	})
}

func TestFlappingSourceIsLoggedOnce(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		r := begin(t, w, nil)
		for i := range 60 {
			w.set(func() { w.grants = map[bool]error{true: errBroken}[i%2 == 0] })
			at(5 * time.Second)
		}
		if n := r.log.count("source fails"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		if n := r.log.count("sound again"); n != 0 {
			t.Errorf("called sound %d times while flapping", n)
		}
		w.set(func() { w.grants = nil })
		at(20 * time.Second)
		if n := r.log.count("sound again"); n != 1 {
			t.Errorf("called sound %d times after it was, want once", n)
		}
		r.end()
	})
}

func TestFailingSpoolIsTriedAgainAndLoggedOnce(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		r.drawer.set(errBroken)
		at(5 * time.Minute)
		if n := r.log.count("write usage records fails"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		r.drawer.set(nil)
		at(5 * time.Second)
		if n := r.log.count("write usage records works again"); n != 1 {
			t.Errorf("recovery logged %d times, want once", n)
		}
		if total, _, _ := sumMS(r.end()); total != 305000 {
			t.Errorf("%d ms recorded, want 305000", total)
		}
	})
}

func TestReplacedDriverEndsTheAgentAfterAMinute(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.restart = true
		r := begin(t, w, nil)
		at(59 * time.Second)
		select {
		case err := <-r.done:
			t.Fatalf("ended too early: %v", err)
		default:
		}
		at(10 * time.Second)
		if err := <-r.done; err == nil {
			t.Error("ended without saying why")
		}
		if len(r.batches) == 0 {
			t.Error("the open window was not written")
		}
		r.stop()
	})
}
