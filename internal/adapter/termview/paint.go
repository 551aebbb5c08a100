// SPDX-License-Identifier: Apache-2.0

package termview

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Span is text with the name of its look. The looks are: "" plain, "dim",
// "bold", "title", "alert", "warning", "good", "overhead", "owner0" to "owner9",
// "other", and "mark-" before one of these for the same in reverse. A name that
// is none of them is plain.
type Span struct{ Text, Role string }

// ownerColours tell owners apart, on light and on dark ground. Red is kept for
// alerts. Owners are told apart by letters as well.
var ownerColours = []string{
	"#4C8DD6", "#E08A2E", "#3FA66B", "#B27BD6", "#C9A227",
	"#2FA8A8", "#D674A6", "#8C9A3B", "#7A86D9", "#A97C5B",
}

var styles = newStyles()

func newStyles() map[string]lipgloss.Style {
	colour := func(c string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(c)) }
	m := map[string]lipgloss.Style{
		"dim":      lipgloss.NewStyle().Faint(true),
		"bold":     lipgloss.NewStyle().Bold(true),
		"title":    colour("#4C8DD6").Bold(true),
		"alert":    colour("#E5484D").Bold(true),
		"warning":  colour("#D9822B"),
		"good":     colour("#3FA66B"),
		"overhead": colour("#8A8F98"),
		"other":    colour("#9AA0A6"),
	}
	for i, c := range ownerColours {
		m["owner"+string(rune('0'+i))] = colour(c)
	}
	marked := map[string]lipgloss.Style{}
	for role, s := range m {
		marked["mark-"+role] = s.Reverse(true)
	}
	for role, s := range marked {
		m[role] = s
	}
	return m
}

// Paint is lines as text for a terminal; without colour it is the bare text.
func Paint(lines [][]Span, colour bool) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(paintLine(line, colour))
	}
	return b.String()
}

func paintLine(line []Span, colour bool) string {
	var b strings.Builder
	for _, s := range line {
		style, ok := styles[s.Role]
		if !colour || !ok || s.Text == "" {
			b.WriteString(s.Text)
			continue
		}
		b.WriteString(style.Render(s.Text))
	}
	if colour {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}
