// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

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

// link is a relative link, and the heading that it leads to.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)

// TestLinksLead: a relative link in a document leads to a file, and to a heading of it.
func TestLinksLead(t *testing.T) {
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(prose(read(t, path)), -1) {
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
				continue
			}
			if m[2] != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchors(read(t, to)), m[2]) {
				t.Errorf("%s links to %s%s: that page has no such heading", path, m[1], m[2])
			}
		}
	})
}

// prose is a document without its blocks of code.
func prose(text string) string {
	return regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```").ReplaceAllString(text, "")
}

// heading is a line that begins a section, in prose.
var heading = regexp.MustCompile(`(?m)^(#+) (.+)$`)

// anchors are what a page's headings are linked by, as GitHub makes them.
func anchors(text string) (out []string) {
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(prose(text), -1) {
		title := link.ReplaceAllString(m[2], "]")
		var b strings.Builder
		for _, r := range strings.ToLower(title) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		slug := "#" + b.String()
		if n := seen[slug]; n > 0 {
			slug = fmt.Sprintf("%s-%d", slug, n)
		}
		seen["#"+b.String()]++
		out = append(out, slug)
	}
	return out
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
