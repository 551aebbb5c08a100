// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"slices"
	"testing"
)

const minuteMS = 60_000

// quiet is a minute in which nothing speaks against idleness.
func quiet() Minute {
	return Minute{DurationMS: minuteMS, Active: p(0.0), CPU: p(0.01), Requests: p(int64(0)), Terminal: p(false)}
}

// day is hours of use and of idleness, in turn, beginning with use.
func timeline(work Minute, hours ...int) (out []Minute) {
	for i, n := range hours {
		m := quiet()
		if i%2 == 0 {
			m = work
			m.DurationMS = minuteMS
		}
		for range n * 60 {
			m.StartMS = int64(len(out)) * minuteMS
			out = append(out, m)
		}
	}
	return out
}

// notebook is example 7's: 336 hours on a node of its own, of which thirteen
// idle stretches, each two hours longer than what a wait of two hours saves.
func notebook(t *testing.T) (Subject, []Minute) {
	s := subject(t)
	s.Work, s.ToMS, s.GrantedMS, s.MeasuredMS = Notebook, 14*dayMS, 14*dayMS, 14*dayMS
	s.Price.DeviceHour, s.Price.NodeHour = usd(t, "0.80"), usd(t, "0.80")
	var hours []int
	for range 12 {
		hours = append(hours, 4, 21)
	}
	// 12 × 21 + 24 = 276 idle hours, of which 13 × 2 are waited; 336 - 276 = 60 used
	hours = append(hours, 8, 24, 4)
	return s, timeline(Minute{Active: p(0.4), CPU: p(0.5)}, hours...)
}

var waits = Reclaim{StopAfterMS: []int64{30 * minuteMS, 60 * minuteMS, 120 * minuteMS, 240 * minuteMS}, Propose: 120 * minuteMS, NodeGoes: true}

// TestExample7: the replay of recorded time, in hours, stops and cash.
func TestExample7(t *testing.T) {
	s, minutes := notebook(t)
	if len(minutes) != 336*60 {
		t.Fatalf("%d minutes", len(minutes))
	}
	r, err := IdleReclaim(s, minutes, waits)
	advised(t, r, err)
	o := r.Options[2]
	if o.StoppedMS != 250*hourMS || o.Stops != 13 || o.ColdStarts != 13 {
		t.Errorf("%d h, %d stops, %d cold starts", o.StoppedMS/hourMS, o.Stops, o.ColdStarts)
	}
	if r.Money.Class != Cash || r.Money.CashMean < usd(t, "434.52") || r.Money.CashMean > usd(t, "434.53") || r.Risk.Notes[0] != "13 restarts in 14 days" {
		t.Errorf("%v %s, %v", r.Money.CashMean, r.Money.Class, r.Risk.Notes)
	}
	if r.Money.CashLow <= 0 || r.Money.CashLow > r.Money.CashMean {
		t.Errorf("worst day %v, mean %v", r.Money.CashLow, r.Money.CashMean)
	}
	slow := waits
	slow.ScaleDownMS = 10 * minuteMS
	late, _ := IdleReclaim(s, minutes, slow)
	// 13 × 10 minutes of the node are paid
	paid, _ := part(usd(t, "584"), 13*10, 336*60)
	if d := r.Money.CashMean - late.Money.CashMean - paid; d < -1 || d > 1 {
		t.Errorf("a slow node costs %v, want %v", r.Money.CashMean-late.Money.CashMean, paid)
	}
	stays := waits
	stays.NodeGoes = false
	kept, _ := IdleReclaim(s, minutes, stays)
	if kept.Money.Class != Capacity || kept.Money.CashMean != 0 || kept.Money.FreedIdle != *kept.Money.ChargeDelta {
		t.Errorf("the node stays and %+v", kept.Money)
	}
	for i := 1; i < len(r.Options); i++ {
		if r.Options[i].StoppedMS >= r.Options[i-1].StoppedMS {
			t.Error("a longer wait saves no less")
		}
	}
}

// TestWhatIsNotIdle: reports in which somebody's work was stopped because one
// sign was quiet.
func TestWhatIsNotIdle(t *testing.T) {
	s, _ := notebook(t)
	for _, c := range []struct {
		name string
		code Code
		set  func(*Minute)
	}{
		{"CPU below 10 %, no telemetry of the GPU", NoSignal, func(m *Minute) { m.Active = nil }},
		{"a GPU at rest, nothing known of the CPU", NoSignal, func(m *Minute) { m.CPU = nil }},
		{"a download: the GPU waits, the CPU works", NoFit, func(m *Minute) { m.CPU = p(0.3) }},
		{"a cell runs, the browser is closed", NoFit, func(m *Minute) { m.Active = p(0.01) }},
		{"a terminal is open", NoFit, func(m *Minute) { m.Terminal = p(true) }},
		{"requests come in", NoFit, func(m *Minute) { m.Requests = p(int64(1)) }},
	} {
		minutes := timeline(quiet(), 336)
		for i := range minutes {
			c.set(&minutes[i])
		}
		r, err := IdleReclaim(s, minutes, waits)
		if err != nil || r.State != Refused || !slices.Contains(codes(r), c.code) {
			t.Errorf("%s: %s %v, want %s", c.name, r.State, codes(r), c.code)
		}
	}
	server := s
	server.Work = Serving
	minutes := timeline(quiet(), 336)
	for i := range minutes {
		minutes[i].Requests = nil
	}
	r, err := IdleReclaim(server, minutes, waits)
	refused(t, r, err, NoSignal)
	r, err = IdleReclaim(s, minutes, waits)
	advised(t, r, err)
	if r.Options[0].ColdStarts != 0 || r.Options[0].Stops != 1 {
		t.Errorf("one stop without a start: %+v", r.Options[0])
	}
	min2 := waits
	min2.MinReplicas = 2
	r, err = IdleReclaim(s, minutes, min2)
	refused(t, r, err, OptedOut)
}

// TestGapsAreNotIdle: time without a record ends idleness.
func TestGapsAreNotIdle(t *testing.T) {
	s, _ := notebook(t)
	minutes := timeline(quiet(), 336)
	whole, _ := IdleReclaim(s, minutes, waits)
	minutes = slices.Delete(minutes, 100*60, 100*60+1)
	holed, err := IdleReclaim(s, minutes, waits)
	advised(t, holed, err)
	want := whole.Options[2].StoppedMS - 120*minuteMS - minuteMS
	if got := holed.Options[2]; got.StoppedMS != want || got.Stops != 2 {
		t.Errorf("stopped %d ms in %d stops, want %d in 2", got.StoppedMS, got.Stops, want)
	}
}
