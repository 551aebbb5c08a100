// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"regexp"
	"strings"
)

// A number; what a measurement changes, which is numbers and the name of the cores; code.
var (
	number = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)
	figure = regexp.MustCompile(`cores of [^,;]+|` + number.String())
	code   = regexp.MustCompile("`[^`]*`")
)

const coresOf = "cores of "

// Figures is Markdown that was measured, in the catalogue's language: each cell of a
// table and each line beside tables is a text. In the catalogue a 0 stands for every
// number, and for what the cores are of; a translation has them in the same order.
func (c *Catalogue) Figures(markdown string) string {
	if c == nil {
		return markdown
	}
	lines := strings.Split(markdown, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") {
			lines[i] = c.figures(line)
			continue
		}
		cells := strings.Split(line, "|")
		for j, cell := range cells {
			if text := strings.TrimSpace(cell); text != "" {
				cells[j] = " " + c.figures(text) + " "
			}
		}
		if !strings.HasPrefix(line, "|--") {
			lines[i] = strings.Join(cells, "|")
		}
	}
	return strings.Join(lines, "\n")
}

// figures is one text with its figures in their places.
func (c *Catalogue) figures(text string) string {
	if !hasWord(code.ReplaceAllString(text, "")) {
		return text
	}
	var had []string
	key := figure.ReplaceAllStringFunc(text, func(s string) string {
		name, cores := strings.CutPrefix(s, coresOf)
		had = append(had, name)
		if cores {
			return coresOf + "0"
		}
		return "0"
	})
	said := c.Say(key)
	if len(number.FindAllString(said, -1)) != len(had) {
		c.miss(key + " (as many numbers in its translation)")
		return text
	}
	return number.ReplaceAllStringFunc(said, func(string) string {
		next := had[0]
		had = had[1:]
		return next
	})
}
