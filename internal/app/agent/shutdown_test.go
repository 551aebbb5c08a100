// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

func TestShutdownClosesTheOpenWindow(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		at(72300 * time.Millisecond)
		windows := r.end()
		if diff := cmp.Diff([]int64{60000, 12300}, durations(windows)); diff != "" {
			t.Errorf("windows (-want +got):\n%s", diff)
		}
	})
}

func TestShutdownInTheMiddleOfASample(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.held[1] = gib
		r := begin(t, w, nil)
		at(61 * time.Second)
		block := make(chan struct{})
		w.set(func() { w.block = block })
		at(5 * time.Second) // a read hangs
		windows := r.end()
		if diff := cmp.Diff([]int64{60000, 6000}, durations(windows)); diff != "" {
			t.Errorf("windows (-want +got):\n%s", diff)
		}
		if _, _, unmeasured := sumMS(windows); unmeasured != 0 {
			t.Errorf("%d ms unmeasured: the sample that was cut short counts", unmeasured)
		}
		close(block)
	})
}

func TestStartRecordsTheTimeSinceTheLastRecord(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		last := time.Now().Add(-10 * time.Minute)
		r := begin(t, w, func(c *Config) { c.LastEnd = last })
		at(time.Second)
		r.end()
		want := usage.Gap{Reason: "agent_down", Span: usage.Span{StartMS: last.UnixMilli(), DurationMS: 600000}}
		if diff := cmp.Diff(&want, r.batches[0].Gap); diff != "" {
			t.Errorf("gap (-want +got):\n%s", diff)
		}
	})
}

func TestStartWithTheClockBehindTheLastRecord(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		r := begin(t, w, func(c *Config) { c.LastEnd = time.Now().Add(time.Hour) })
		at(time.Second)
		r.end()
		if g := r.batches[0].Gap; g == nil || g.DurationMS != 0 {
			t.Errorf("gap %+v, want one of length 0", g)
		}
		if r.log.count("behind the last record") != 1 {
			t.Error("nothing was logged about the clock")
		}
	})
}

func TestShutdownSaysWhatItCouldNotWrite(t *testing.T) {
	story(t, func(t *testing.T) {
		r := begin(t, newWorld(), nil)
		at(time.Second)
		r.drawer.set(errBroken)
		r.stop()
		if err := <-r.done; err == nil {
			t.Error("no error though the last window was not written")
		}
	})
}
