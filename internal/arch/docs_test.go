// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
)

// TestFindingsAreDocumented: docs/findings.md has a row for every kind of
// finding, and for nothing else.
func TestFindingsAreDocumented(t *testing.T) {
	want := []string{string(attribution.ClockStep)}
	for _, k := range attribution.Kinds() {
		want = append(want, string(k))
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(read(t, "docs/findings.md"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("docs/findings.md has rows for\n%v, the code finds\n%v", got, want)
	}
}

// TestLinksLead: a relative link in a document leads to a file.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			to := filepath.Join(root, filepath.Dir(path), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
	})
}

// TestBothReadmesSayTheSame: the Chinese README has the commands and links of
// the English one.
func TestBothReadmesSayTheSame(t *testing.T) {
	commands := func(text string) (out []string) {
		for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for _, line := range strings.Split(strings.TrimSpace(m[1]), "\n") {
				line, _, _ = strings.Cut(line, " #")
				out = append(out, strings.TrimSpace(line))
			}
		}
		return out
	}
	en, zh := commands(read(t, "README.md")), commands(read(t, "README.zh-CN.md"))
	if len(en) == 0 || !slices.Equal(en, zh) {
		t.Errorf("commands of README.md: %q\nof README.zh-CN.md: %q", en, zh)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
