// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// relink: go test ./internal/arch -run TestChinese -relink, and make docs
var relink = flag.Bool("relink", false, "lead links of Chinese pages to Chinese pages, where there are some by now")

// TestChinesePages: every page below docs/zh is the translation of the page with the
// same path below docs: headings of the same ranks, the same commands, the same blocks
// that are run, tables of the same shape with the same words in code, the same numbers,
// and links to the same headings of the same pages, in Chinese where those are there in
// Chinese.
func TestChinesePages(t *testing.T) {
	pages := translations(t)
	for _, en := range pages {
		zh := chinese(en)
		if *relink {
			leadToChinese(t, zh, zh)
		}
		a, b := read(t, en), read(t, zh)
		for what, of := range map[string]func(path, text string) []string{
			"headings": ranks, "code": blocks, "tables": tables, "words in code": words, "numbers": numbers, "links": links(t),
		} {
			if x, y := of(en, a), of(zh, b); !slices.Equal(x, y) {
				x, y = apart(x, y)
				t.Errorf("%s: %s only of %s: %q\nonly of %s: %q", zh, what, en, x, zh, y)
			}
		}
		wantChineseLinks(t, zh)
		wantSwitch(t, en, zh)
	}
}

// catalogues are where generated pages have their Chinese from.
var catalogues = map[string]string{
	"cmd/gputally-agent/flags_zh.txt":       "docs/zh/flags.md",
	"cmd/gputally/cli_zh.txt":               "docs/zh/cli.md",
	"cmd/gputally/guard_zh.txt":             "docs/zh/guardrails.md",
	"cmd/gputally/server_config_zh.txt":     "docs/zh/server-config.md",
	"internal/adapter/ledgermetrics/zh.txt": "docs/zh/server-metrics.md",
	"internal/adapter/promexport/zh.txt":    "docs/zh/metrics.md",
	"tools/chartreadme/zh.txt":              "deploy/chart/README.zh-CN.md",
}

// TestChineseReadmes: a Chinese README leads where the English one does, to Chinese
// pages where they are there, and has the same numbers.
func TestChineseReadmes(t *testing.T) {
	if *relink {
		for file, page := range catalogues {
			leadToChinese(t, file, page)
		}
	}
	for en := range beside {
		zh := chinese(en)
		if *relink {
			leadToChinese(t, zh, zh)
		}
		for what, of := range map[string]func(path, text string) []string{"links": links(t), "numbers": numbers} {
			if x, y := of(en, read(t, en)), of(zh, read(t, zh)); !slices.Equal(x, y) {
				x, y = apart(x, y)
				t.Errorf("%s only of %s: %q\nonly of %s: %q", what, en, x, zh, y)
			}
		}
		wantChineseLinks(t, zh)
	}
}

// TestAllInChinese: every page is there in Chinese.
func TestAllInChinese(t *testing.T) {
	pages := translations(t)
	for _, page := range below(t, "docs") {
		if english(page) == page && !slices.Contains(pages, page) {
			t.Errorf("%s is not there in Chinese", page)
		}
	}
}

// translations are the English pages below docs that there are in Chinese.
func translations(t *testing.T) (out []string) {
	t.Helper()
	for _, page := range below(t, "docs/zh") {
		en := english(page)
		if _, err := os.Stat(filepath.Join(root, en)); err != nil {
			t.Errorf("%s translates %s, which is not there", page, en)
			continue
		}
		out = append(out, en)
	}
	if len(out) < 5 {
		t.Fatalf("%d pages below docs/zh", len(out))
	}
	return out
}

func below(t *testing.T, dir string) (out []string) {
	walk(t, func(path string) {
		if strings.HasPrefix(path, dir+"/") && filepath.Ext(path) == ".md" {
			out = append(out, path)
		}
	})
	return out
}

// beside are the pages outside of docs whose Chinese side lies beside them.
var beside = map[string]bool{"README.md": true, "deploy/chart/README.md": true}

const besideEnd = ".zh-CN.md"

// chinese and english are the paths of a page's two sides.
func chinese(path string) string {
	if beside[path] {
		return strings.TrimSuffix(path, ".md") + besideEnd
	}
	if rest, ok := strings.CutPrefix(path, "docs/"); ok && !strings.HasPrefix(rest, "zh/") {
		return "docs/zh/" + rest
	}
	return path
}

func english(path string) string {
	if out := strings.TrimSuffix(path, besideEnd) + ".md"; beside[out] {
		return out
	}
	if rest, ok := strings.CutPrefix(path, "docs/zh/"); ok {
		return "docs/" + rest
	}
	return path
}

func ranks(_, text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(prose(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// blocks are the lines of code. Comments may be translated.
func blocks(_, text string) (out []string) {
	for _, m := range regexp.MustCompile("(?s)(<!-- run -->\n)?```(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(m[1]+m[2], "\n") {
			line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " #")
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

var inCode = regexp.MustCompile("`([^`\n]+)`")

// tables are their rows: how many cells, and the words in code.
func tables(_, text string) (out []string) {
	for _, line := range strings.Split(prose(text), "\n") {
		if strings.HasPrefix(line, "|") {
			out = append(out, fmt.Sprint(strings.Count(line, "|"), set(inCode.FindAllString(line, -1))))
		}
	}
	return out
}

func words(_, text string) []string {
	return set(inCode.FindAllString(prose(text), -1))
}

var number = regexp.MustCompile(`([0-9]+(?:[.,][0-9]+)*)( million| billion| ?[万亿])?`)

// numbers are those in prose: 21.6 million are 2160 万.
func numbers(_, text string) (out []string) {
	text = link.ReplaceAllString(inCode.ReplaceAllString(prose(text), ""), "]")
	for _, m := range number.FindAllStringSubmatch(text, -1) {
		digits := strings.ReplaceAll(m[1], ",", "")
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil { // such as 1.26.8
			out = append(out, digits)
			continue
		}
		n *= map[string]float64{"": 1, "million": 1e6, "billion": 1e9, "万": 1e4, "亿": 1e8}[strings.TrimSpace(m[2])]
		out = append(out, strconv.FormatFloat(n, 'f', -1, 64))
	}
	return set(out)
}

func set(of []string) []string {
	slices.Sort(of)
	return slices.Compact(of)
}

// links are the headings that a page leads to: path and place among the headings there.
func links(t *testing.T) func(path, text string) []string {
	return func(path, text string) (out []string) {
		for _, m := range link.FindAllStringSubmatch(prose(text), -1) {
			to := target(path, m[1])
			if to == chinese(path) || to == english(path) {
				continue // the switch of languages, or a heading of its own
			}
			if m[2] == "" || filepath.Ext(to) != ".md" {
				out = append(out, english(to))
				continue
			}
			out = append(out, fmt.Sprint(english(to), "#", slices.Index(anchors(read(t, to)), m[2])))
		}
		return set(out)
	}
}

func target(from, link string) string {
	if link == "" {
		return from
	}
	return filepath.Join(filepath.Dir(from), link)
}

// wantChineseLinks: a Chinese page leads to Chinese pages, where they are there.
func wantChineseLinks(t *testing.T, zh string) {
	for _, m := range link.FindAllStringSubmatch(prose(read(t, zh)), -1) {
		if to := target(zh, m[1]); to != english(zh) && inChinese(to) {
			t.Errorf("%s links to %s, which is there in Chinese (-relink mends it)", zh, m[1])
		}
	}
}

// inChinese: a page is English, and has a Chinese side.
func inChinese(path string) bool {
	if chinese(path) == path || english(path) != path || filepath.Ext(path) != ".md" {
		return false
	}
	_, err := os.Stat(filepath.Join(root, chinese(path)))
	return err == nil
}

func wantSwitch(t *testing.T, en, zh string) {
	there, _ := filepath.Rel(filepath.Dir(en), zh)
	back, _ := filepath.Rel(filepath.Dir(zh), en)
	if !strings.Contains(read(t, en), "[中文]("+there+")") || !strings.Contains(read(t, zh), "[English]("+back+")") {
		t.Errorf("%s and %s do not lead to each other: [中文](%s), [English](%s)", en, zh, there, back)
	}
}

// apart tells two lists apart: by what the one has alone, or else from where they part.
func apart(a, b []string) (x, y []string) {
	alone := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	if x, y = alone(a, b), alone(b, a); len(x)+len(y) > 0 {
		return x, y
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return a, b
}

// leadToChinese rewrites the links of a file, which is a Chinese page or has the texts
// of one, to pages that are there in Chinese. The English of a catalogue stays.
func leadToChinese(t *testing.T, file, page string) {
	lines := strings.Split(read(t, file), "\n")
	for i, line := range lines {
		if file == page || strings.HasPrefix(line, "→ ") {
			lines[i] = link.ReplaceAllStringFunc(line, func(s string) string { return linkInChinese(t, page, s) })
		}
	}
	if changed := strings.Join(lines, "\n"); changed != read(t, file) {
		if err := os.WriteFile(filepath.Join(root, file), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func linkInChinese(t *testing.T, page, text string) string {
	m := link.FindStringSubmatch(text)
	to := target(page, m[1])
	if to == english(page) || !inChinese(to) {
		return text
	}
	rel, _ := filepath.Rel(filepath.Dir(page), chinese(to))
	if m[2] == "" {
		return "](" + rel + ")"
	}
	i, there := slices.Index(anchors(read(t, to)), m[2]), anchors(read(t, chinese(to)))
	if i < 0 || i >= len(there) {
		return text
	}
	return "](" + rel + there[i] + ")"
}
