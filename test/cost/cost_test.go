// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/test/mocknvml"
)

// TestMeasure measures a small node shortly: what comes out is of a living
// agent that saw the staged node, and of two of them where two are compared.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	o := options{measure: 2 * time.Second, warmUp: 3 * time.Second, agent: filepath.Join(dir, "agent")}
	build := exec.Command("go", "build", "-o", o.agent, "github.com/gputally/gputally/cmd/gputally-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	small := setting{gpus: 1, pods: 2, processes: 3, interval: time.Second}
	r, err := measure(dir, small, mocknvml.Build(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.cpu() <= 0 || r.cpu() > 2 || r.rss < 5*mib || r.anon+r.file > r.rss || r.peak < r.rss || r.taken <= 0 || r.failed != 0 {
		t.Errorf("measured %+v", r)
	}
	o.against = o.agent
	bare, err := measure(t.TempDir(), setting{gpus: 1, interval: time.Second}, mocknvml.Build(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if bare.against == nil || bare.against.series == 0 || bare.against.cpu() <= 0 {
		t.Errorf("compared %+v with %+v", bare, bare.against)
	}
	if text := comparison([]row{bare}, o); !strings.Contains(text, "| 1x0@1s | ") {
		t.Errorf("the comparison has no line of the setting:\n%s", text)
	}
	if r.series <= bare.series {
		t.Errorf("%d series with pods, %d without", r.series, bare.series)
	}
	if text := report([]row{r}, o); !strings.Contains(text, "| 1 × 6 | 2 | 1s |") {
		t.Errorf("the report has no line of the setting:\n%s", text)
	}
}

// TestMachine: what the machine makes of a system call is no guess.
func TestMachine(t *testing.T) {
	if c, w := callCost(), wakeCost(); c <= 0 || w <= c {
		t.Errorf("a system call takes %v, waking up %v", c, w)
	}
}

func TestReplacedKeepsTheRest(t *testing.T) {
	got, err := replaced("a\n"+beginMark+"\nold\n"+endMark+"\nb\n", "new\n")
	if want := "a\n" + beginMark + "\n\nnew\n\n" + endMark + "\nb\n"; err != nil || got != want {
		t.Errorf("got %q %v, want %q", got, err, want)
	}
	if _, err := replaced("no markers", "new"); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("without markers: %v", err)
	}
}
