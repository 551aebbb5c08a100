// SPDX-License-Identifier: Apache-2.0

// Command chartreadme writes the chart's README in Chinese: the English one, which is
// made from values.yaml in a module of its own, with the words of zh.txt. "make docs"
// and "make manifests" run it.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed zh.txt
var chinese string

func main() {
	const dir = "deploy/chart"
	text, err := made(dir)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "README.zh-CN.md"), []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chartreadme:", err)
		os.Exit(1)
	}
}

// value is a row of the table: the value, its default, and what is said of it.
var value = regexp.MustCompile("^(\\| `[^`]+` \\| )(`[^`]*`|[^|`]+)( \\| )(.*)( \\|)$")

// made is the Chinese README of the chart in a folder.
func made(dir string) (string, error) {
	c, err := translation.For(translation.Chinese, chinese)
	if err != nil {
		return "", err
	}
	english, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return "", err
	}
	head, table, _ := strings.Cut(string(english), "\n| `")
	var b strings.Builder
	b.WriteString(c.Text(head) + "\n")
	for line := range strings.Lines("| `" + table) {
		m := value.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return "", fmt.Errorf("%s/README.md: this is no row of the table: %s", dir, line)
		}
		shown := m[2]
		if !strings.HasPrefix(shown, "`") {
			shown = c.Say(shown)
		}
		b.WriteString(m[1] + shown + m[3] + c.Say(m[4]) + m[5] + "\n")
	}
	return b.String(), c.Err()
}
