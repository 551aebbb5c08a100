// SPDX-License-Identifier: Apache-2.0

package wording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Said is what a sentence says: which one it is, and what stands in its gaps.
type Said struct {
	Code   string            `json:"code"`
	Values map[string]string `json:"values,omitempty"`
}

// Catalogue is sentences by code, with {gaps}.
type Catalogue struct {
	patterns []pattern // in the order in which they are tried
	byCode   map[string]*pattern
}

// pattern is a sentence cut at its gaps: gaps[i] stands between texts[i] and the next.
type pattern struct {
	code        string
	texts, gaps []string
	fixed       int // how many of its letters stand
}

// New is a catalogue of sentences by code. Several maps are one catalogue; a code that is
// in two of them is a defect.
func New(sentences ...map[string]string) *Catalogue {
	c := &Catalogue{byCode: map[string]*pattern{}}
	for _, of := range sentences {
		for code, text := range of {
			c.patterns = append(c.patterns, cut(code, text))
		}
	}
	slices.SortFunc(c.patterns, func(a, b pattern) int {
		return cmp.Or(len(b.texts[0])-len(a.texts[0]), b.fixed-a.fixed, strings.Compare(a.code, b.code))
	})
	for i := range c.patterns {
		p := &c.patterns[i]
		if c.byCode[p.code] != nil {
			panic("two sentences are called " + p.code)
		}
		c.byCode[p.code] = p
	}
	return c
}

func cut(code, text string) pattern {
	p := pattern{code: code}
	for {
		before, rest, found := strings.Cut(text, "{")
		p.texts, p.fixed = append(p.texts, before), p.fixed+len(before)
		if !found {
			return p
		}
		gap, after, _ := strings.Cut(rest, "}")
		p.gaps, text = append(p.gaps, gap), after
	}
}

// Say is the sentence of a code with values in its gaps, in the order of the English.
// A code that is not there, or another number of values, is a defect of the caller.
func (c *Catalogue) Say(code string, values ...any) string {
	p := c.byCode[code]
	if p == nil || len(values) != len(p.gaps) {
		panic(fmt.Sprintf("no sentence %q with %d gaps", code, len(values)))
	}
	var b strings.Builder
	for i, text := range p.texts {
		b.WriteString(text)
		if i < len(values) {
			fmt.Fprint(&b, values[i])
		}
	}
	return b.String()
}

// Understand reads a sentence back. Of several that it may be it is the one that begins
// with most that stands, then the one with most that stands: what people wrote, which
// may be anything, is at the end.
func (c *Catalogue) Understand(text string) (Said, bool) {
	for i := range c.patterns {
		if values, fits := c.patterns[i].read(text); fits {
			return Said{c.patterns[i].code, values}, true
		}
	}
	return Said{}, false
}

// Text is a sentence again; "" where the code is none of the catalogue's.
func (c *Catalogue) Text(s Said) string {
	p := c.byCode[s.Code]
	if p == nil {
		return ""
	}
	values := make([]any, len(p.gaps))
	for i, gap := range p.gaps {
		values[i] = s.Values[gap]
	}
	return c.Say(s.Code, values...)
}

// Codes are those of the catalogue, in order.
func (c *Catalogue) Codes() []string { return slices.Sorted(maps.Keys(c.byCode)) }

// English is the sentence of a code with its {gaps}.
func (c *Catalogue) English(code string) string {
	p := c.byCode[code]
	gaps := make([]any, len(p.gaps))
	for i, gap := range p.gaps {
		gaps[i] = "{" + gap + "}"
	}
	return c.Say(code, gaps...)
}

func (p *pattern) read(text string) (map[string]string, bool) {
	rest, found := strings.CutPrefix(text, p.texts[0])
	if !found || len(p.gaps) == 0 {
		return nil, found && rest == ""
	}
	values := make(map[string]string, len(p.gaps))
	for i, gap := range p.gaps {
		next, at := p.texts[i+1], len(rest)
		switch {
		case i < len(p.gaps)-1:
			at = strings.Index(rest, next)
		case strings.HasSuffix(rest, next):
			at = len(rest) - len(next)
		default:
			at = -1
		}
		if at < 0 {
			return nil, false
		}
		values[gap], rest = rest[:at], rest[at+len(next):]
	}
	return values, true
}
