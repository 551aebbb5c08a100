// SPDX-License-Identifier: Apache-2.0

// Command figures writes the measured parts of the pages below docs/zh: what stands
// between the marks of the English page, with the words of zh.txt. So a measurement is
// written once, and its figures are the same in both languages. "make docs" runs it.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed zh.txt
var chinese string

func main() {
	if err := write("docs"); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func write(docs string) error {
	made, err := pages(docs)
	if err != nil {
		return err
	}
	for path, text := range made {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// part is what was measured, between its marks.
var part = regexp.MustCompile(`(?s)(<!-- (?:begin generated|generated:)[^\n]*-->\n)(.*?)(<!-- end (?:of )?generated -->)`)

// pages are the Chinese pages that have measured parts, by their paths, as they should be.
func pages(docs string) (map[string]string, error) {
	c, err := translation.For(translation.Chinese, chinese)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, file := range files {
		english, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		measured := part.FindAllStringSubmatch(string(english), -1)
		path := filepath.Join(docs, "zh", filepath.Base(file))
		page, err := os.ReadFile(path)
		if len(measured) == 0 || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out[path], err = filled(c, string(page), measured); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return out, c.Err()
}

// filled is a page with the parts of the English one in place of its own.
func filled(c *translation.Catalogue, page string, measured [][]string) (string, error) {
	had := part.FindAllStringSubmatch(page, -1)
	if len(had) != len(measured) {
		return "", fmt.Errorf("%d measured parts, the English page has %d", len(had), len(measured))
	}
	for i, m := range measured {
		if had[i][1] != m[1] {
			return "", fmt.Errorf("part %d begins with %q, that of the English page with %q", i+1, had[i][1], m[1])
		}
	}
	next := 0
	return part.ReplaceAllStringFunc(page, func(string) string {
		m := measured[next]
		next++
		return m[1] + c.Figures(m[2]) + m[3]
	}), nil
}
