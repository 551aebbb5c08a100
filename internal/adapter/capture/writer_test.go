// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/sample"
)

func write(t interface{ Fatal(...any) }, history []sample.Sample) []byte {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, s := range history {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// ordered puts a sample into the order in which a capture keeps it.
func inOrder(s sample.Sample) sample.Sample {
	s.Devices = slices.Clone(s.Devices)
	slices.SortFunc(s.Devices, func(a, b sample.Device) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID))
	})
	s.Usage = slices.Clone(s.Usage)
	slices.SortFunc(s.Usage, func(a, b sample.PodUsage) int { return cmp.Compare(a.PodUID, b.PodUID) })
	return s
}

// TestWriterLosesNothing: what is read back is what was written, to the byte
// and the nanosecond.
func TestWriterLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := genHistory(t)
		text := write(t, history)
		f, err := Read(bytes.NewReader(text), "capture.jsonl")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		got := slices.Collect(f.Samples("node-a"))
		if len(got) != len(history) {
			t.Fatalf("%d samples, want %d:\n%s", len(got), len(history), text)
		}
		for i := range history {
			if diff := gocmp.Diff(inOrder(history[i]), got[i], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("sample %d (-written +read):\n%s\n%s", i, diff, text)
			}
			if (history[i].Grants.Allocatable == nil) != (got[i].Grants.Allocatable == nil) {
				t.Fatalf("sample %d: allocatable nil was %v, is %v", i, history[i].Grants.Allocatable == nil, got[i].Grants.Allocatable == nil)
			}
		}
	})
}

// TestWriterWritesOnlyChanges: an unchanged sample takes a line of a few bytes,
// and a changed figure one of a few more.
func TestWriterWritesOnlyChanges(t *testing.T) {
	at := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	s := sample.Sample{Node: "node-a", At: at, NVML: sample.Library{OK: true}, Grants: sample.Grants{Readable: true}, Objects: sample.Objects{Known: true},
		Devices: []sample.Device{{UUID: "GPU-1", State: "ok", Memory: &sample.Memory{Total: 100, Used: 5}}}}
	second, third := s, s
	second.At, second.MonoMS = at.Add(5*time.Second), 5000
	third.At, third.MonoMS = at.Add(10250*time.Millisecond), 10250
	third.Devices = []sample.Device{{UUID: "GPU-1", State: "ok", Memory: &sample.Memory{Total: 100, Used: 6}}}
	lines := strings.Split(strings.TrimSpace(string(write(t, []sample.Sample{s, second, third}))), "\n")
	want := []string{
		`{"capture":1,"window":{"start":"2026-11-03T10:00:00Z"},"interval":5,"samples":"entries","nodes":[{"name":"node-a"}]}`,
		`{"at":0,"gpus":{"GPU-1":{"free_bytes":0,"index":0,"reserved_bytes":0,"state":"ok","total_bytes":100,"used_bytes":5}}}`,
		`{"at":5}`,
		`{"at":10.250,"gpus":{"GPU-1":{"used_bytes":6}}}`,
	}
	if diff := gocmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWriterRefusesDisorder(t *testing.T) {
	w := NewWriter(&bytes.Buffer{})
	if err := w.Write(sample.Sample{Node: "a", MonoMS: 10}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(sample.Sample{Node: "b", MonoMS: 10}); err == nil || !strings.Contains(err.Error(), `node "b" in the capture of node "a"`) {
		t.Errorf("another node: %v", err)
	}
	if err := w.Write(sample.Sample{Node: "a", MonoMS: 9}); err == nil || !strings.Contains(err.Error(), "is older than the last") {
		t.Errorf("an older sample: %v", err)
	}
}

type fullDisk struct{ left int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestWriterReportsAFullDisk(t *testing.T) {
	w := NewWriter(&fullDisk{left: 130})
	err := w.Write(sample.Sample{Node: "a"})
	if err == nil || err.Error() != "write capture: no space left on device" {
		t.Errorf("error is %v", err)
	}
}

// TestCutFile: an agent that was killed leaves half a line; the rest counts.
func TestCutFile(t *testing.T) {
	text := write(t, []sample.Sample{{Node: "a", NVML: sample.Library{OK: true}}, {Node: "a", MonoMS: 5000}, {Node: "a", MonoMS: 9000}})
	whole, err := Read(bytes.NewReader(text), "c")
	if err != nil || whole.Cut {
		t.Fatalf("the whole file: cut %v, %v", whole.Cut, err)
	}
	f, err := Read(bytes.NewReader(text[:len(text)-5]), "c")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(f.Samples("a"))); !f.Cut || n != 2 {
		t.Errorf("cut is %v with %d samples, want true with 2", f.Cut, n)
	}
}
