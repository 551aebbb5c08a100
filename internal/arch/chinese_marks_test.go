// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Marks of Latin text are half as wide as a Chinese character: behind one they look like
// a mistake, and Chinese has its own. In code, in links and between figures they stay.
var (
	latinMark = regexp.MustCompile("\\p{Han}[,;:?!(]|[,;:?!]\\p{Han}|\\(`\\)")
	// A line with Chinese in it is Chinese, also where it ends with a name or has one without
	// a space behind the mark.
	atName   = regexp.MustCompile("(?m)\\p{Han}.*[,;:?!]$|\\p{Han}.*[\\p{L}*%)`][,;?!][\\p{L}\\d*`]|\\p{Han}.*[*%)`]:[\\p{L}\\d*`]|[\\p{L}*%)`][,;?!][\\p{L}\\d*`].*\\p{Han}")
	remark   = regexp.MustCompile(`(?m)(?:^|\s)#\s.*$`)
	notProse = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`|\\]\\([^)\\s]*\\)|https?://\\S+|^    .*$")
)

// TestChineseMarks: Chinese text has Chinese marks, in pages, in what pages are made from
// and in the web page.
func TestChineseMarks(t *testing.T) {
	check := func(path, text string) {
		for _, found := range append(latinMark.FindAllStringIndex(text, 5), atName.FindAllStringIndex(text, 5)...) {
			from, to := max(found[1]-50, 0), min(found[1]+40, len(text))
			t.Errorf("%s: a Latin mark in Chinese text: …%s…", path, strings.ToValidUTF8(text[from:to], ""))
		}
	}
	pages := 0
	walk(t, func(path string) {
		switch {
		case strings.HasSuffix(path, besideEnd), strings.HasPrefix(path, "docs/zh/") && filepath.Ext(path) == ".md":
			pages++
			check(path, notProse.ReplaceAllStringFunc(read(t, path), remarks))
		case strings.HasSuffix(path, "zh.txt"):
			for line := range strings.Lines(read(t, path)) {
				if said, ok := strings.CutPrefix(line, "→ "); ok {
					check(path, notProse.ReplaceAllString(said, "`"))
				}
			}
		}
	})
	if pages < 40 {
		t.Errorf("%d pages were looked at", pages)
	}
	const static = "internal/adapter/webui/static/"
	check(static+"index.html", read(t, static+"index.html"))
	const page = static + "messages.json"
	var messages map[string]map[string]string
	if err := json.Unmarshal([]byte(read(t, page)), &messages); err != nil {
		t.Fatal(err)
	}
	for key, m := range messages {
		check(page+" "+key, m["zh"])
	}
}

// remarks are what is left of something that is not prose: its comments are.
func remarks(code string) string {
	return "`" + strings.Join(remark.FindAllString(code, -1), "\n")
}
