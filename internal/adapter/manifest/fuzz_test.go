// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/guard"
)

// FuzzRead: no text makes reading and scanning panic, and every mistake and
// finding has a place in the text.
func FuzzRead(f *testing.F) {
	cases, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range append(strings.Split(string(cases), "---"), string(cases), "{}{", "a: &a [*a]", "? [a]: b", "<<: {a: b}", "kind: List\nitems: [1]", "{\"a\":\n{\"kind\":", "%YAML 1.2\n--- |\n x\n...") {
		f.Add(text)
	}
	f.Fuzz(check)
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

func check(t *testing.T, text string) { places(t, text) }

func places(t failer, text string) {
	t.Helper()
	lines := strings.Count(lineBreaks.Replace(text), "\n") + 1
	r := Read([]string{Stdin}, Options{Namespace: "default", Stdin: strings.NewReader(text)})
	for _, m := range r.Mistakes {
		if m.Line < 0 || m.Line > lines+1 || m.Message == "" {
			t.Errorf("mistake %+v in a text of %d lines", m, lines)
		}
	}
	report := guard.Scan(r.Input, guard.Policy{})
	for _, f := range report.Findings {
		if f.Line < 1 || f.Line > lines+1 || f.Document < 1 || f.Document > r.Documents || f.Field == "" {
			t.Errorf("finding %+v in a text of %d lines and %d documents", f, lines, r.Documents)
		}
	}
}

// TestBrokenManifests cuts and changes real manifests at random.
func TestBrokenManifests(t *testing.T) {
	cases, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(string(cases))
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		text = text[from:rapid.IntRange(from, len(text)).Draw(t, "to")]
		for n := rapid.IntRange(0, 5).Draw(t, "changes"); n > 0 && len(text) > 0; n-- {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("{}[]:-&*!|>'\"\n\t #?,a0")).Draw(t, "byte")
		}
		places(t, string(text))
	})
}

// TestGrowingTexts: short texts that stand for endless ones end in a mistake,
// soon.
func TestGrowingTexts(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("apiVersion: x.y/v1\nkind: Odd\na0: &a0 [x]\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	var wide strings.Builder
	wide.WriteString("kind: Pod\nspec:\n  initContainers:\n  - &c\n    name: c\n    env: &e\n")
	for range 3000 {
		wide.WriteString("    - {name: A, value: b}\n")
	}
	wide.WriteString("  containers:\n")
	for range 3000 {
		wide.WriteString("  - *c\n")
	}
	for name, text := range map[string]string{
		"laughs": laughs.String(), "wide": wide.String(),
		"deep": strings.Repeat("[", 5000), "deep, JSON": strings.Repeat(`{"a":`, 5000), "deep, block": strings.Repeat("- ", 5000) + "a",
		"itself": "kind: Pod\nspec: &s {containers: [*s]}",
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan Result, 1)
			go func() { done <- Read([]string{Stdin}, Options{Stdin: strings.NewReader(text)}) }()
			select {
			case r := <-done:
				if name != "laughs" && len(r.Mistakes) == 0 {
					t.Error("no mistake")
				}
			case <-time.After(time.Minute):
				t.Fatal("does not end")
			}
		})
	}
}
