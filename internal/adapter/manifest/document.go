// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"io"
	"strings"
)

// document is one document of a file, or why there is none.
type document struct {
	number int // counts from 1; documents that hold nothing are not counted
	value  *value
	err    *syntaxError
}

// lineBreaks makes one of the three ways in which YAML ends lines.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// documents reads each document of a text on its own, so that one that cannot be
// read leaves the others alone.
func documents(text string) []document {
	text = strings.TrimPrefix(text, "\ufeff")
	text = lineBreaks.Replace(text)
	var out []document
	add := func(v *value, err error) {
		d := document{number: len(out) + 1, value: v}
		if err != nil {
			d.value, d.err = nil, asSyntax(err)
		} else if v == nil || v.shape == null {
			return
		}
		out = append(out, d)
	}
	for _, c := range chunks(text) {
		switch {
		case c.empty():
		case strings.HasPrefix(strings.TrimSpace(c.text), "{"):
			readFlow(c, add)
		default:
			add(parseYAML(c.text, c.base))
		}
	}
	return out
}

func asSyntax(err error) *syntaxError {
	if s, ok := err.(*syntaxError); ok {
		return s
	}
	return &syntaxError{0, err.Error()}
}

// readFlow reads a text that begins with a brace: JSON objects one after the
// other, or one document of YAML written so.
func readFlow(c chunk, add func(*value, error)) {
	r := newJSON(c.text, c.base)
	for n := 0; ; n++ {
		v, err := r.next()
		if err == io.EOF {
			return
		}
		if err != nil && n == 0 {
			if y, yamlErr := parseYAML(c.text, c.base); yamlErr == nil {
				v, err = y, nil
			}
			add(v, err)
			return
		}
		add(v, err)
		if err != nil {
			return
		}
	}
}

// chunk is the text between two markers; base is how many lines are before it.
type chunk struct {
	text string
	base int
}

// empty: blank lines, comments and directives only.
func (c chunk) empty() bool {
	for line := range strings.Lines(c.text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// chunks parts a text at lines that begin with --- or are "...". YAML allows
// neither inside a document, not in a block of text either, and JSON has no such
// lines.
func chunks(text string) []chunk {
	var out []chunk
	var b strings.Builder
	base, n := 0, 0
	for line := range strings.Lines(text) {
		rest, starts := marker(line)
		if starts {
			out = append(out, chunk{b.String(), base})
			b.Reset()
			base, line = n, rest
		}
		b.WriteString(line)
		n++
	}
	return append(out, chunk{b.String(), base})
}

// marker: the line parts documents. Rest is what stands on it after the marker.
func marker(line string) (rest string, is bool) {
	bare := strings.TrimRight(line, " \t\r\n")
	if bare == "---" || bare == "..." {
		return "\n", true
	}
	if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t") {
		return "    " + line[4:], true
	}
	if strings.HasPrefix(line, "... ") {
		return "    " + line[4:], true
	}
	return "", false
}
