// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
)

// TestRedactedScenariosComeToTheSame: a capture without names gives the same
// sizes, grants and kinds of finding at every moment, written to a file and
// read back.
func TestRedactedScenariosComeToTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, file := range files {
		f := read(t, file)
		f.Interval = time.Minute // every entry is a sample anyway
		for _, node := range f.Nodes {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+node.Name, func(t *testing.T) {
				t.Parallel()
				var plain []sample.Sample
				for s := range f.Samples(node.Name) {
					plain = append(plain, s)
				}
				if len(plain) == 0 {
					t.Skip("nothing is known of this node")
				}
				want, got := figures(plain), figures(redacted(t, plain))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("redaction changes figures (-plain +redacted):\n%s", diff)
				}
			})
		}
	}
}

// redacted writes samples without their names and reads them back.
func redacted(t *testing.T, plain []sample.Sample) []sample.Sample {
	t.Helper()
	var b bytes.Buffer
	w, r := capture.NewWriter(&b), capture.NewRedactor()
	for _, s := range plain {
		if err := w.Write(r.Redact(s)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := capture.Read(&b, "redacted")
	if err != nil {
		t.Fatal(err)
	}
	var out []sample.Sample
	for s := range f.Samples(f.Nodes[0].Name) {
		out = append(out, s)
	}
	return out
}

// figures are everything but names, each figure with how often in a row it
// stood.
func figures(samples []sample.Sample) []string {
	a := attribution.New(attribution.Policy{Daemons: attribution.DefaultDaemons()})
	var out []string
	for _, s := range samples {
		line := figuresOf(a.Attribute(s))
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	return out
}

func figuresOf(r attribution.Result) string {
	var lines []string
	show := func(v ...any) string {
		b, _ := json.Marshal(v) // plain values always have a JSON form
		return string(b)
	}
	for _, p := range r.Partitions {
		var parts []string
		for _, h := range p.Holdings {
			parts = append(parts, show("holds", h.Holder.Kind, h.Leak, h.Bytes, h.Grade, h.PIDs))
		}
		for _, g := range p.Grants {
			parts = append(parts, show("granted", g.Source, g.Resource, g.Mode, g.Replicas, g.Reserved, g.LimitBytes, g.Admin))
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprint(show(p.Index, p.ID.Instance, p.State, p.Mode, p.Replicas, p.Capacity, p.Reserved, p.Unattributed, p.Free, p.Grade), parts))
	}
	for _, f := range r.Findings {
		if f.Kind == attribution.ClaimWithoutPod {
			f.Resource = "" // the claim's name
		}
		lines = append(lines, show(f.Kind, f.Severity, f.PID, f.Bytes, f.Count, f.Resource, len(f.Victims), len(f.Partitions)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
