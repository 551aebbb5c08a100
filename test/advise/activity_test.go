// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/signal"
)

// kept are the hours that the store has of a time, as text.
func (w *world) kept(from, to time.Time) (out []string) {
	w.t.Helper()
	for h, err := range w.store.Activity(w.t.Context(), activity.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}) {
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := json.Marshal(h)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func (w *world) due() int {
	w.t.Helper()
	d, err := w.store.ActivityDue(w.t.Context(), begin.AddDate(0, 0, -1), advising.Rules, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(d)
}

// TestLateRecords: an hour whose records come in two parts is made again, and is then
// as if they had come at once. Others are left alone.
func TestLateRecords(t *testing.T) {
	w := newWorld(t)
	n := big()
	to := begin.Add(30 * time.Hour)
	hour := begin.Add(3 * time.Hour)
	w.now = to.Add(3 * time.Hour)
	w.deliver(begin, hour.Add(20*time.Minute), n)
	w.deliver(hour.Add(time.Hour), to, n)
	w.settle()
	before := w.recorder.Status().Hours
	if w.due() != 0 {
		t.Errorf("%d hours are due", w.due())
	}
	w.deliver(hour.Add(20*time.Minute), hour.Add(time.Hour), n)
	w.settle()
	if made := w.recorder.Status().Hours - before; made < 1 || made > 2 {
		t.Errorf("%d hours were made again for one", made)
	}
	whole := newWorld(t)
	whole.now = w.now
	whole.deliver(begin, to, n)
	whole.settle()
	if got, want := w.kept(begin, to), whole.kept(begin, to); !slices.Equal(got, want) {
		t.Errorf("%d hours, want %d, or others", len(got), len(want))
	}
}

// TestRecordsThatAreGone: when records end at their retention, what was made of them
// stays, whatever the rules are by then, until its own end.
func TestRecordsThatAreGone(t *testing.T) {
	w := newWorld(t)
	to := begin.Add(30 * time.Hour)
	w.now = to.Add(3 * time.Hour)
	w.deliver(begin, to, big())
	w.settle()
	have := w.kept(begin, to)
	if _, err := w.store.Drop(t.Context(), begin.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	due, err := w.store.ActivityDue(t.Context(), begin.AddDate(0, 0, -1), "other rules", 10_000)
	if err != nil || len(due) == 0 || due[0].HourMS < begin.Add(24*time.Hour).UnixMilli() {
		t.Errorf("hours without records are due: %v, %v", due, err)
	}
	w.settle()
	if got := w.kept(begin, to); !slices.Equal(got, have) {
		t.Errorf("%d hours of %d are left", len(got), len(have))
	}
	if err := w.store.DropActivity(t.Context(), begin.Add(6*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := w.kept(begin, begin.Add(6*time.Hour)); len(got) != 0 {
		t.Errorf("%d hours are left after their end", len(got))
	}
}

// TestIdlePowerComesLate: a day that tells of a device's idle power for the first time
// has the days after it made again: what was only busy is a hang.
func TestIdlePowerComesLate(t *testing.T) {
	w := newWorld(t)
	n := &node{name: "n8", kind: "n8a", model: a100, capacity: 80 * gib, gpus: 1, window: cell, idleMW: 60_000, limitMW: 400_000, pods: []pod{
		{namespace: "ml", kind: "Job", owner: "hang", name: "hang-0", gpus: []int{0}, from: begin.AddDate(0, 0, 1), held: 20 * gib, busy: 1, sm: 0.01, dram: 0.01, cpu: 1, powerMW: 70_000},
	}}
	second := begin.AddDate(0, 0, 1)
	w.now = begin.AddDate(0, 0, 3)
	w.deliver(second, begin.AddDate(0, 0, 2), n)
	w.settle()
	if c := w.classes(second); c[signal.SuspectStall] != 0 || c[signal.Busy] == 0 {
		t.Errorf("without idle power: %v", c)
	}
	w.deliver(begin, second, n) // the node was empty on that day
	w.settle()
	w.settle()
	if c := w.classes(second); c[signal.SuspectStall] == 0 || c[signal.Busy] != 0 {
		t.Errorf("with idle power: %v", c)
	}
}

func (w *world) classes(day time.Time) map[signal.Class]int64 {
	w.t.Helper()
	out := map[signal.Class]int64{}
	times, err := w.store.ClassTimes(w.t.Context(), day, day.AddDate(0, 0, 1))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range times {
		out[c.Class] += c.MS
	}
	return out
}
