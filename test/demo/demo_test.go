// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

func TestMain(m *testing.M) {
	stage.HolderMain()
	var err error
	if bin, err = os.MkdirTemp("", "demo-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// bin is the folder of the programs, for all tests.
var bin string

var buildPrograms = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "build", "-o", bin, "../../cmd/gputally", "../../cmd/gputally-agent").CombinedOutput()
})

// built builds the programs and the mock library.
func built(t *testing.T) options {
	t.Helper()
	if out, err := buildPrograms(); err != nil {
		t.Fatalf("build programs: %v\n%s", err, out)
	}
	return options{bin: bin, nvml: mocknvml.Build(t), once: true}
}

// TestOnce runs the demo from end to end, as CI can: the picture, the metrics,
// and nothing left behind.
func TestOnce(t *testing.T) {
	o := built(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"9 GPUs", "1 GPU unknown", "exclusive", "time-slicing ×4", "mps ×4", "1 slice stranded", "LOST (unavailable)",
		"!b ml/notebook-all-gpus", "!a qa/smoke-test-x7k2", "host video-transcode.service", "5,120~", "daemon nvidia-de",
		"gputally_memory_used_bytes{",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if strings.Contains(out.String(), "off the capacity") {
		t.Error("a split does not add up")
	}
	if t.Failed() {
		t.Log(out.String())
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "gputally-demo-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

// TestTruth compares what top says of the node with what was put on it.
func TestTruth(t *testing.T) {
	o := built(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := stage.New(t.TempDir(), "gpu-node-1")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := build(s); err != nil {
		t.Fatal(err)
	}
	a, err := startAgent(ctx, o, s)
	if err != nil {
		t.Fatal(err)
	}
	defer a.stop()
	if err := a.ready(ctx, settled); err != nil {
		t.Fatal(err)
	}
	r := said(t, o, a)
	for _, p := range r.Partitions {
		balanced(t, p)
	}
	if got, want := leaks(r), []string{"ml/notebook-all-gpus", "qa/smoke-test-x7k2"}; !slices.Equal(got, want) {
		t.Errorf("leaks %v, want %v", got, want)
	}
	modes := map[int]gpu.Mode{0: gpu.ModeExclusive, 1: gpu.ModeTimeSlicing, 2: gpu.ModeMPS, 3: gpu.ModeMIG, 4: gpu.ModeTimeSlicing, 5: gpu.ModeExclusive, 6: gpu.ModeNone, 7: gpu.ModeExclusive}
	for _, p := range r.Partitions {
		if want, ok := modes[p.Index]; ok && p.Mode != want {
			t.Errorf("GPU %d is shared by %s (%s), want %s", p.Index, p.Mode, p.ModeEvidence, want)
		}
		if p.Index == 4 && *p.Unattributed != 700*mib {
			t.Errorf("GPU 4: %d bytes unattributed, want 700 MiB", *p.Unattributed)
		}
	}
}

// said is what gputally top --json says of the node.
func said(t *testing.T, o options, a *agent) attribution.Result {
	t.Helper()
	out, err := exec.Command(filepath.Join(o.bin, "gputally"), "top", "--agent", a.url, "--json").Output()
	if err != nil {
		t.Fatalf("gputally top: %v", err)
	}
	var answer struct {
		Nodes []struct{ Result attribution.Result }
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Nodes) != 1 {
		t.Fatalf("%d nodes: %v", len(answer.Nodes), err)
	}
	return answer.Nodes[0].Result
}

func balanced(t *testing.T, p attribution.Partition) {
	t.Helper()
	if p.MIGParent {
		return
	}
	sum := *p.Reserved + *p.Unattributed + *p.Free
	for _, h := range p.Holdings {
		sum += *h.Bytes
	}
	if sum != *p.Capacity {
		t.Errorf("%s: parts sum to %d, capacity %d", p.ID, sum, *p.Capacity)
	}
}

func leaks(r attribution.Result) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Kind == attribution.UnallocatedUse {
			out = append(out, f.Holder.Account())
		}
	}
	slices.Sort(out)
	return out
}

// TestMissing: what is missing is named, with the command that makes it.
func TestMissing(t *testing.T) {
	err := run(t.Context(), options{bin: t.TempDir(), nvml: "nowhere.so", once: true}, &strings.Builder{})
	for _, want := range []string{"gputally-agent is missing: run make build", "nowhere.so is missing: run make mock"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
