// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"strings"
	"testing"
)

const catalogue = `// For people.

# Title
→ # 标题

One paragraph of two lines.
→ 一段。

- an item that goes on
→ - 一项

| a | row |
→ | 一 | 行 |

    a formula
→     公式

a comment
→ 注释
`

const english = "# Title\n\n<!-- kept -->\nOne paragraph\nof two lines.\n\n- an item\n  that goes on\n\n    a formula\n\n| a | row |\n|---|---|\n\n```sh\nrun --it   # a comment\n\nkept\n```\n"

const chinese = "# 标题\n\n<!-- kept -->\n一段。\n\n- 一项\n\n    公式\n\n| 一 | 行 |\n|---|---|\n\n```sh\nrun --it   # 注释\n\nkept\n```\n"

func TestText(t *testing.T) {
	c, err := For(Chinese, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Text(english); got != chinese {
		t.Errorf("got\n%q\nwant\n%q", got, chinese)
	}
	var b strings.Builder
	if err := c.Print(&b, "all said"); err != nil || b.String() != "all said" {
		t.Errorf("printed %q: %v", b.String(), err)
	}
}

// TestFigures: measurements keep their numbers, and change no text.
func TestFigures(t *testing.T) {
	c, err := Parse("Measured on 0 cores of 0, go0.\n→ 用 0 核的 0、go0 测得。\n\nfleet\n→ 集群\n\n0 GPUs, 0 go\n→ 0 张 GPU,0 个退掉\n\nmean 0 ms\n→ 平均\n")
	if err != nil {
		t.Fatal(err)
	}
	english := "\nMeasured on 2 cores of Some 7B13 CPU @ 2.70GHz, go1.26.8.\n\n| fleet | A10 |\n|---|---:|\n| 1,000 GPUs, 2.5 go | `held` |\n|  | -0.5 % |\n"
	want := "\n用 2 核的 Some 7B13 CPU @ 2.70GHz、go1.26.8 测得。\n\n| 集群 | A10 |\n|---|---:|\n| 1,000 张 GPU,2.5 个退掉 | `held` |\n|  | -0.5 % |\n"
	if got := c.Figures(english); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.Figures("| mean 9 ms | p99 9 ms |")
	for _, want := range []string{`"mean 0 ms (as many numbers`, `"p0 0 ms"`} {
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s: %v", want, err)
		}
	}
}

// TestEnglish: without a catalogue all stays as it is.
func TestEnglish(t *testing.T) {
	c, err := For(English, "not looked at")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.Print(&b, c.Text(english)+c.Say("more")); err != nil || b.String() != english+"more" {
		t.Errorf("printed %q: %v", b.String(), err)
	}
}

// TestChanged: a text that changed is missing, its old translation is stale, and
// nothing is printed.
func TestChanged(t *testing.T) {
	c, err := Parse("Size of the spool.\n→ 缓冲的大小。\n")
	if err != nil {
		t.Fatal(err)
	}
	c.Say("Size of the spool on disk.")
	if got := c.Say("4 P"); got != "4 P" {
		t.Errorf("without a word: %q", got)
	}
	var b strings.Builder
	err = c.Print(&b, "half said")
	for _, want := range []string{`changed since: "Size of the spool on disk."`, `said nowhere: "Size of the spool."`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "4 P") || b.String() != "" {
		t.Errorf("printed %q: %v", b.String(), err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"→ 一":                  "line 1: a translation without",
		"one\n\ntwo\n→ 二":      `"one" is not translated`,
		"one":                  `"one" is not translated`,
		"one\n→ 一\n\none\n→ 一": `line 4: "one" is there twice`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := For("fr", ""); err == nil {
		t.Error("a language that is not there")
	}
}
