// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Languages are those that the references are made in.
const (
	English = "en"
	Chinese = "zh"
)

// Catalogue has what texts are in another language, and what was asked of it. None,
// which is nil, leaves all in English.
type Catalogue struct {
	texts   map[string]string
	used    map[string]bool
	missing []string
}

// For is the catalogue for a language: none for English.
func For(lang, chinese string) (*Catalogue, error) {
	switch lang {
	case English:
		return nil, nil
	case Chinese:
		return Parse(chinese)
	}
	return nil, fmt.Errorf("language %q: there are %s and %s", lang, English, Chinese)
}

// mark begins a translation. A line that begins with comment is for people.
const mark, comment = "→ ", "// "

// Parse reads a catalogue.
func Parse(text string) (*Catalogue, error) {
	c := &Catalogue{texts: map[string]string{}, used: map[string]bool{}}
	last := ""
	for i, line := range strings.Split(text, "\n") {
		said, translated := strings.CutPrefix(line, mark)
		switch {
		case translated && last == "":
			return nil, fmt.Errorf("line %d: a translation without its English before it", i+1)
		case translated:
			c.texts[last] = said
			last = ""
		case line == "" || strings.HasPrefix(line, comment):
		case last != "":
			return nil, fmt.Errorf("line %d: %q is not translated", i, last)
		case c.texts[line] != "":
			return nil, fmt.Errorf("line %d: %q is there twice", i+1, line)
		default:
			last = line
		}
	}
	if last != "" {
		return nil, fmt.Errorf("%q is not translated", last)
	}
	return c, nil
}

// Say is a text in the catalogue's language. One without a word stays as it is.
func (c *Catalogue) Say(text string) string {
	if c == nil || !hasWord(text) {
		return text
	}
	said, there := c.texts[text]
	if !there {
		c.miss(text)
		return text
	}
	c.used[text] = true
	return said
}

func hasWord(text string) bool { return strings.ContainsFunc(text, unicode.IsLower) }

func (c *Catalogue) miss(text string) {
	if !slices.Contains(c.missing, text) {
		c.missing = append(c.missing, text)
	}
}

// Print writes a document, if the catalogue had all that was asked and nothing else.
func (c *Catalogue) Print(w io.Writer, document string) error {
	if err := c.Err(); err != nil {
		return err
	}
	_, err := io.WriteString(w, document)
	return err
}

// Err says which texts are missing from the catalogue, and which nothing says any more.
func (c *Catalogue) Err() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, text := range c.missing {
		errs = append(errs, fmt.Errorf("not in the catalogue, or changed since: %q", text))
	}
	var stale []string
	for text := range c.texts {
		if !c.used[text] {
			stale = append(stale, text)
		}
	}
	slices.Sort(stale)
	for _, text := range stale {
		errs = append(errs, fmt.Errorf("in the catalogue, and said nowhere: %q", text))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("the catalogue (a zh.txt beside the texts) does not fit:\n%w", errors.Join(errs...))
}
