// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"unicode"
)

// Span is text of one look.
type Span struct {
	Text string
	// Role names the look: "" for plain text, "dim", "bold", "title", "alert",
	// "warning", "good", "overhead", "owner0".."owner9" and "other" for owners, "mark-" and
	// one of these for the same in reverse. A role adds to what the text says
	// and is never needed to understand it.
	Role string
}

// Line is one line of a picture.
type Line []Span

// String is the line without its looks, and without blanks at its end.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

func plain(text string) Span        { return Span{Text: text} }
func styled(role, text string) Span { return Span{Text: text, Role: role} }

func (l Line) width() int {
	n := 0
	for _, s := range l {
		n += width(s.Text)
	}
	return n
}

// width is how many columns a text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300: // nearly all there is
		return 1
	case unicode.Is(unicode.Mn, r):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
		return 2
	}
	return 1
}

// cut shortens a text to n columns; the ellipsis says that it did.
func (g Glyphs) cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if n -= runeWidth(r); n < width(g.Ellipsis) {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + g.Ellipsis
}

// cutMiddle shortens a name and keeps both its ends, which tell names apart.
func (g Glyphs) cutMiddle(s string, n int) string {
	if width(s) <= n {
		return s
	}
	r := []rune(s)
	plain := !slices.ContainsFunc(r, func(r rune) bool { return runeWidth(r) != 1 })
	if n < 5 || !plain {
		return g.cut(s, n)
	}
	head := (n - 1) / 2
	tail := n - 1 - head
	return string(r[:head]) + g.Ellipsis + string(r[len(r)-tail:])
}

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(n-width(s), 0)) }
func padLeft(s string, n int) string  { return strings.Repeat(" ", max(n-width(s), 0)) + s }

// spread puts right at the right edge of a line of n columns, and cuts left
// where both do not fit.
func (g Glyphs) spread(left, right Line, n int) Line {
	room := n - right.width() - 1
	out := g.clip(left, room)
	gap := n - out.width() - right.width()
	return append(append(out, plain(strings.Repeat(" ", max(gap, 0)))), right...)
}

// clip cuts a line to n columns.
func (g Glyphs) clip(l Line, n int) Line {
	out := Line{}
	for _, s := range l {
		if w := width(s.Text); w > n {
			return append(out, Span{Text: g.cut(s.Text, max(n, 0)), Role: s.Role})
		} else {
			n -= w
		}
		out = append(out, s)
	}
	return out
}

// wrap breaks a text into lines of n columns at blanks.
func wrap(text string, n int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width(line)+1+width(word) > n {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}
