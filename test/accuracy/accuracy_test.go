// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
)

// TestDocHasItsMarkers: make bench can refresh docs/accuracy.md. What it
// measured then is not checked: it may have had more nodes.
func TestDocHasItsMarkers(t *testing.T) {
	doc, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := replaced(string(doc), "new tables")
	if err != nil {
		t.Fatal(err)
	}
	again, err := replaced(got, "new tables")
	if err != nil || again != got || !strings.Contains(got, "new tables") {
		t.Fatalf("refreshing twice is not refreshing once: %v", err)
	}
}

// TestTruthIsTheSumOfEveryMillisecond checks the truth itself, the slow way.
func TestTruthIsTheSumOfEveryMillisecond(t *testing.T) {
	w := newWorld(3)
	checked := 0
	for i := range w.processes {
		p := &w.processes[i]
		if p.end-p.start > 20*second {
			continue
		}
		checked++
		sum := uint64(0)
		for ms := p.start; ms < p.end; ms++ {
			sum += p.at(ms)
		}
		if sum != p.byteMS() {
			t.Fatalf("process %d: %d, want %d byte-ms", i, p.byteMS(), sum)
		}
	}
	if checked < 100 {
		t.Fatalf("only %d processes are short enough", checked)
	}
}

// TestRecordsFollowTheRule: the records of the integrator come to what the
// plain rule, written out process by process, comes to; and so they do when
// the real attributor finds out from PIDs and cgroups whose each process is.
func TestRecordsFollowTheRule(t *testing.T) {
	w := newWorld(5)
	times := ticks(phase(5), 5*second, jitterShare)
	want := measure(w, times, variants[0])
	for name, source := range map[string]func(look) attribution.Result{"direct": direct(w), "attributed": attributed(w)} {
		got, err := integrated(w, times, 5*second, source)
		if err != nil {
			t.Fatal(err)
		}
		for pod := range want {
			if math.Abs(got[pod]-want[pod]) > want[pod]*1e-12 {
				t.Fatalf("%s, pod %d: %g, want %g", name, pod, got[pod], want[pod])
			}
		}
	}
}

// TestAim: at 5 s, pods that live ten minutes or more are within 0.5 % on
// average and without bias, and so are the bytes of all pods together; at 1 s
// so are pods of a minute. The worlds are seeded: this cannot be unlucky.
func TestAim(t *testing.T) {
	at5, err := plain(10, 5*second, jitterShare)
	if err != nil {
		t.Fatal(err)
	}
	at1, err := plain(4, second, jitterShare)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		got  float64
		most float64
	}{
		{"10–60 min at 5 s", at5[3].stats().mean, 0.5},
		{"1–2 h at 5 s", at5[4].stats().mean, 0.5},
		{"an hour of minute-long processes at 5 s", at5[6].stats().mean, 0.5},
		{"bytes of all pods at 5 s", at5[len(classes)].stats().weighted, 0.5},
		{"bias of all pods at 5 s", math.Abs(at5[len(classes)].stats().bias), 0.1},
		{"1–10 min at 1 s", at1[2].stats().mean, 0.5},
	} {
		if c.got == 0 || c.got > c.most {
			t.Errorf("%s: error %.3f %%, want at most %.3f %%", c.name, c.got, c.most)
		}
	}
}

// TestReport prints the tables for a few nodes: go test -run TestReport -v.
func TestReport(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints tables; run with -v")
	}
	tables, err := report(4)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + tables)
}
