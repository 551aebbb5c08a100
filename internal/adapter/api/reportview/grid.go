// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// grid is a table: columns with a header, rows of cells.
type grid struct {
	columns []column
	rows    [][]string
}

// column is one column. Numbers stand at the right.
type column struct {
	name  string
	right bool
}

func left(name string) column { return column{name, false} }

func right(name string) column { return column{name, true} }

func newGrid(columns ...column) *grid { return &grid{columns: columns} }

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// rule draws a line across.
func (g *grid) rule() { g.rows = append(g.rows, nil) }

// text is the grid with aligned columns, two blanks apart.
func (g *grid) text(b *strings.Builder) {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = utf8.RuneCountInString(c.name)
	}
	for _, row := range g.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	header := make([]string, len(g.columns))
	for i, c := range g.columns {
		header[i] = c.name
	}
	g.line(b, widths, header)
	for _, row := range g.rows {
		if row == nil {
			row = make([]string, len(widths))
			for i, w := range widths {
				row[i] = strings.Repeat("-", w)
			}
		}
		g.line(b, widths, row)
	}
}

func (g *grid) line(b *strings.Builder, widths []int, cells []string) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if g.columns[i].right {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// markdown is the grid as a table of Markdown. Rules are left out.
func (g *grid) markdown(b *strings.Builder) {
	names, marks := make([]string, len(g.columns)), make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i], marks[i] = c.name, "---"
		if c.right {
			marks[i] = "---:"
		}
	}
	b.WriteString("| " + strings.Join(names, " | ") + " |\n|" + strings.Join(marks, "|") + "|\n")
	for _, row := range g.rows {
		if row == nil {
			continue
		}
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(cell)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

// Plain is a text of somebody else's on one line, without what would steer a
// terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return '�'
		}
		return r
	}, text)
}
