// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/expect"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

var update = flag.Bool("update", false, "write the golden files anew (make golden)")

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, file)
		})
	}
}

func play(t *testing.T, file string) {
	f := read(t, file)
	if f.Expect == nil {
		t.Fatalf("%s expects nothing; add an expect section", file)
	}
	checker := expect.NewChecker(f.Expect, f.Start)
	var table bytes.Buffer
	for _, node := range f.Nodes {
		rep, err := replay.Run(f, node.Name, replay.Options{
			Policy:   attribution.Policy{Daemons: attribution.DefaultDaemons()},
			Interval: f.Interval,
			MonoMS:   f.MonoMS(),
			At:       f.End.Sub(f.Start) / 2,
			Watch: func(offset int64, s sample.Sample, r attribution.Result) {
				checker.Show(offset, s, r)
				balanced(t, r)
				understood(t, r)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		checker.Closed(node.Name, rep.Batches)
		if err := replay.WriteTable(&table, rep); err != nil {
			t.Fatal(err)
		}
	}
	for _, failure := range checker.Failures() {
		t.Error(failure)
	}
	golden(t, strings.TrimSuffix(file, ".yaml")+".golden", table.String())
}

// understood: what findings say can be put into another language, but for the words of
// NVML about a device.
func understood(t *testing.T, r attribution.Result) {
	t.Helper()
	for i := range r.Findings {
		f := &r.Findings[i]
		said := []string{f.Detail}
		if f.Kind != attribution.DeviceUnavailable && f.Kind != attribution.DeviceUnmeasured {
			said = append(said, f.Evidence...)
		}
		for _, text := range said {
			if s, ok := attribution.Wording.Understand(text); !ok || attribution.Wording.Text(s) != text {
				t.Errorf("%s says %q, which is none of attribution.Sentences (%+v)", f.Kind, text, s)
			}
		}
	}
}

func read(t *testing.T, file string) *capture.File {
	t.Helper()
	r, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := capture.Read(r, file)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// balanced checks invariant B at one moment: the parts sum to the whole.
func balanced(t *testing.T, r attribution.Result) {
	t.Helper()
	for _, p := range r.Partitions {
		if p.State != gpu.StateOK || p.Capacity == nil || p.MIGParent {
			continue
		}
		sum := *p.Reserved + *p.Unattributed + *p.Free
		for _, h := range p.Holdings {
			if h.Bytes != nil {
				sum += *h.Bytes
			}
		}
		if sum != *p.Capacity {
			t.Errorf("at %v the parts of %s sum to %d, not to its capacity of %d bytes", r.At, p.ID, sum, *p.Capacity)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read golden file: %v; run go test ./test/scenario -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if the change is right, run go test ./test/scenario -update:\n%s", file, diff)
	}
}

// TestTablesFit: every table is readable at 80 columns.
func TestTablesFit(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in testdata: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s:%d takes %d columns: %s", file, i+1, n, line)
			}
		}
	}
}
