// SPDX-License-Identifier: Apache-2.0

package translation

import "strings"

// Text is a piece of Markdown in the catalogue's language: each paragraph, item of a
// list, heading and row of a table is one text, whatever its lines are. In blocks of
// code the comments are texts.
func (c *Catalogue) Text(markdown string) string {
	if c == nil {
		return markdown
	}
	p := passage{c: c}
	for _, line := range strings.Split(markdown, "\n") {
		p.line(line)
	}
	p.flush()
	return strings.Join(p.out, "\n")
}

// passage is Markdown while it is read line by line.
type passage struct {
	c     *Catalogue
	open  []string // lines of a paragraph that may go on
	fence bool
	out   []string
}

func (p *passage) line(line string) {
	fence := strings.HasPrefix(line, "```")
	switch {
	case fence || p.fence:
		p.flush()
		p.fence = p.fence != fence
		p.out = append(p.out, p.code(line))
	case line == "" || strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "|--"):
		p.flush()
		p.out = append(p.out, line)
	case strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#"):
		p.flush()
		p.out = append(p.out, p.c.Say(line))
	case strings.HasPrefix(line, "- "):
		p.flush()
		p.open = []string{line}
	case len(p.open) == 0: // an indented one keeps its blanks
		p.open = []string{line}
	default:
		p.open = append(p.open, strings.TrimSpace(line))
	}
}

// code is a line of code, with its comment translated.
func (p *passage) code(line string) string {
	i := strings.LastIndex(line, " # ")
	if i < 0 {
		return line
	}
	return line[:i+3] + p.c.Say(line[i+3:])
}

func (p *passage) flush() {
	if len(p.open) > 0 {
		p.out = append(p.out, p.c.Say(strings.Join(p.open, " ")))
		p.open = nil
	}
}
