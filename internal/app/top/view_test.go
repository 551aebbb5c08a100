// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

func viewOf(gpus int) *View {
	r := attribution.Result{Node: "node-a", NVML: okLibrary}
	for i := range gpus {
		p := partition(100*gpu.MiB, []attribution.Holding{{Holder: pod(fmt.Sprint("p", i)), Bytes: bytes(gpu.MiB), Grade: gpu.Measured}}, nil)
		p.ID, p.Index = gpu.Whole(gpu.UUID(fmt.Sprint("GPU-", i))), i
		r.Partitions = append(r.Partitions, p)
	}
	v := &View{Glyphs: ASCII}
	v.Show([]Reading{{Source: "test", Result: &r}})
	return v
}

var okLibrary = attribution.Result{}.NVML

func init() { okLibrary.OK = true }

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// TestFrameFits: a frame has the screen's height and no line is wider, for
// every table.
func TestFrameFits(t *testing.T) {
	for _, keys := range []string{"", "g", "f", "?", "c", "s", "gs"} {
		for _, size := range [][2]int{{40, 8}, {80, 24}, {80, 40}, {120, 50}, {300, 100}} {
			v := viewOf(9)
			for _, k := range keys {
				v.Key(string(k), string(k))
			}
			frame := v.Frame(size[0], size[1])
			if len(frame) != size[1] {
				t.Errorf("keys %q at %v: %d lines", keys, size, len(frame))
			}
			for _, l := range frame {
				if l.width() > size[0] {
					t.Errorf("keys %q at %v: %d columns: %q", keys, size, l.width(), l)
				}
			}
		}
	}
}

func TestScrollStaysInside(t *testing.T) {
	v := viewOf(9)
	v.Frame(80, 20)
	for _, k := range []string{"up", "pgup"} {
		v.Key(k, "")
		if v.scroll != 0 {
			t.Errorf("%s: scrolled to %d above the top", k, v.scroll)
		}
	}
	v.Key("end", "")
	if bottom := v.length - v.page; v.scroll != bottom {
		t.Errorf("end: %d, want %d", v.scroll, bottom)
	}
	v.Key("down", "")
	if v.scroll != v.length-v.page {
		t.Error("down: scrolled below the end")
	}
	v.Show(viewOf(1).readings)
	v.Frame(80, 20)
	if v.scroll != 0 {
		t.Errorf("after GPUs went away: scrolled to %d of %d lines", v.scroll, v.length)
	}
}

// TestTypingAFilter: while a text is typed no letter is a command.
func TestTypingAFilter(t *testing.T) {
	v := viewOf(3)
	v.Key("/", "/")
	for _, k := range "p1q" {
		if v.Key(string(k), string(k)) {
			t.Fatal("a letter of the filter left the view")
		}
	}
	v.Key("backspace", "")
	if got := text(v.Frame(80, 30)); !strings.Contains(got, "filter: p1_") || !strings.Contains(got, "ns/p1") || strings.Contains(got, "ns/p2") {
		t.Errorf("the filter is not applied:\n%s", got)
	}
	v.Key("enter", "")
	if v.Key("s", "s"); v.Order != ByMemory {
		t.Error("after enter, s does not sort")
	}
	if v.Key("esc", ""); v.Filter != "" {
		t.Error("esc does not drop the filter")
	}
	if !v.Key("q", "q") {
		t.Error("q does not leave")
	}
}

// TestHostileNames: a process may be called anything, and none of it reaches
// the terminal as a command.
func TestHostileNames(t *testing.T) {
	v := viewOf(1)
	r := v.readings[0].Result
	r.Partitions[0].Holdings[0].Holder.Pod = "\x1b[2J\x07evil\nline"
	r.Partitions[0].Model = "H\x1b]0;x\x07"
	for _, l := range v.Page(80) {
		if strings.ContainsAny(l.String(), "\x1b\x07\n") {
			t.Errorf("control characters in %q", l.String())
		}
	}
}

// TestEverySourceFails: what was known stays, and says how old it is.
func TestEverySourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := viewOf(1).readings[0]
		good.ReadAt = time.Now()
		time.Sleep(30 * time.Second)
		src := failing{errors.New("connection refused")}
		v := &View{Glyphs: ASCII}
		v.Show(ReadAll(context.Background(), []Source{src}, []Reading{good}, time.Second))
		got := text(v.Page(80))
		for _, want := range []string{"no longer answers (connection refused)", "30s old", "ns/p0"} {
			if !strings.Contains(strings.ReplaceAll(got, "\n", " "), want) {
				t.Errorf("%q is missing:\n%s", want, got)
			}
		}
	})
}

type failing struct{ err error }

func (f failing) Name() string                          { return "http://a" }
func (f failing) Read(context.Context) (Reading, error) { return Reading{}, f.err }

// TestPollRepeats: sources are read every interval until the end, and one that
// hangs costs its timeout and no more.
func TestPollRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		rounds := 0
		begin := time.Now()
		Poll(ctx, []Source{hanging{}}, 2*time.Second, time.Second, func(r []Reading) {
			if r[0].Error == "" {
				t.Error("a source that hangs has an answer")
			}
			if rounds++; rounds == 3 {
				cancel()
			}
		})
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("three rounds took %s, want 5s", took)
		}
	})
}

type hanging struct{}

func (hanging) Name() string { return "http://b" }
func (hanging) Read(ctx context.Context) (Reading, error) {
	<-ctx.Done()
	return Reading{}, ctx.Err()
}
