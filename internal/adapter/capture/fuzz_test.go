// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead: whatever the text, Read returns a file that can be played, or an
// *Error that names the file.
func FuzzRead(f *testing.F) {
	stories, err := filepath.Glob("../../../test/scenario/testdata/[CX]0*.yaml")
	if err != nil || len(stories) == 0 {
		f.Fatalf("no stories to begin with: %v", err)
	}
	for _, file := range stories {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(head + "- {at: 0, gpus: {GPU-1: {used_mib: 5}}}\n"))
	f.Add([]byte(`{"capture":1,"window":{"start":"2026-11-03T10:00:00Z"},"samples":"entries","nodes":[{"name":"n"}]}` + "\n" + `{"at":0,"gpus":{"GPU-1":{"index":0,"used_bytes":5,"total_bytes":9}}}` + "\n"))
	for _, odd := range []string{"", "{", "[", "- ? - ? :", "capture: &a [*a]", "capture: !!binary x", "\x00", "a:\n\tb", "<<: {a: 1}", "'", "? ", "--- --- ...", "{a: {b: [", "%YAML 1.2\n---\ncapture: 1"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text), "fuzz.yaml")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != "fuzz.yaml" || e.Msg == "" {
				t.Fatalf("error does not name its place: %T %v", err, err)
			}
			return
		}
		for _, n := range got.Nodes {
			count := 0
			for s := range got.Samples(n.Name) {
				if s.Node != n.Name {
					t.Fatalf("a sample of %q in those of %q", s.Node, n.Name)
				}
				if count++; count > 1000 {
					break
				}
			}
		}
	})
}
