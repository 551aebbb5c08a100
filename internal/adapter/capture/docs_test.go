// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestExamplesInTheDocs: the examples of docs/formats/capture.md are captures.
func TestExamplesInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/formats/capture.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("found %d examples, want 2", len(blocks))
	}
	for _, b := range blocks {
		f, err := Read(strings.NewReader(b[1]), "docs/formats/capture.md")
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		for range f.Samples("node-a") {
			n++
		}
		if n == 0 {
			t.Errorf("an example has no samples:\n%s", b[1])
		}
	}
}

// TestDocsNameEveryField: whatever field the reader knows is in the document.
func TestDocsNameEveryField(t *testing.T) {
	text, err := os.ReadFile("../../../docs/formats/capture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"{}", head + "- {at: 0, gpus: {GPU-1: {zz: 1}}}", head + "- {at: 0, zz: 1}", "capture: 1\nwindow: {start: \"2026-11-03T10:00:00Z\"}\nzz: 1",
		head + "- {at: 0, gpus: {GPU-1: {mig: [{gi: 1, uuid: a, placement: {start: 0, size: 1}, zz: 1}]}}}"} {
		_, err := Read(strings.NewReader(where), "x")
		_, list, found := strings.Cut(err.Error(), "known are ")
		if !found {
			continue
		}
		for field := range strings.SplitSeq(list, ", ") {
			plain := strings.TrimSuffix(field, "_bytes")
			if !strings.Contains(string(text), "`"+field) && !strings.Contains(string(text), "`"+plain+"_mib") && !strings.Contains(string(text), field+":") {
				t.Errorf("the document does not name %s", field)
			}
		}
	}
}
