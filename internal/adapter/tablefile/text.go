// SPDX-License-Identifier: Apache-2.0

package tablefile

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

type csvWriter[R any] struct {
	w       *csv.Writer
	columns []Column[R]
	cells   []string
}

func newCSV[R any](w io.Writer, columns []Column[R]) (*csvWriter[R], error) {
	c := &csvWriter[R]{w: csv.NewWriter(w), columns: columns, cells: make([]string, len(columns))}
	for i := range columns {
		c.cells[i] = columns[i].Name
	}
	return c, c.w.Write(c.cells)
}

func (c *csvWriter[R]) write(row R) error {
	for i := range c.columns {
		c.cells[i], _ = c.columns[i].text(row)
	}
	return c.w.Write(c.cells)
}

func (c *csvWriter[R]) close() error {
	c.w.Flush()
	return c.w.Error()
}

// text is a cell as text, and whether it is a JSON value as it stands.
func (c *Column[R]) text(row R) (text string, bare bool) {
	switch {
	case c.Text != nil:
		return c.Text(row), false
	case c.JSON != nil:
		return c.JSON(row), true
	case c.Wide != nil:
		return c.Wide(row), false
	case c.Amount != nil:
		if n := c.Amount(row); n != nil {
			return n.String(), false
		}
	case c.Int != nil:
		if n := c.Int(row); n != nil {
			return strconv.FormatInt(*n, 10), true
		}
	case c.Real != nil:
		if n := c.Real(row); n != nil {
			return strconv.FormatFloat(*n, 'g', -1, 64), true
		}
	case c.Time != nil:
		if t := c.Time(row); !t.IsZero() {
			return stamp(t), false
		}
	}
	return "", false
}

// jsonWriter writes one object a line. Amounts and sums of 128 bits are texts: a
// reader that takes numbers for floats would round them.
type jsonWriter[R any] struct {
	w       io.Writer
	columns []Column[R]
	names   [][]byte
	line    []byte
}

func newJSON[R any](w io.Writer, columns []Column[R]) *jsonWriter[R] {
	j := &jsonWriter[R]{w: w, columns: columns}
	for i := range columns {
		j.names = append(j.names, quoted(columns[i].Name))
	}
	return j
}

// quoted is a text as JSON has it. A string always has a form.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}

func (j *jsonWriter[R]) write(row R) error {
	b := append(j.line[:0], '{')
	for i := range j.columns {
		text, bare := j.columns[i].text(row)
		if text == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, j.names[i]...), ':')
		if bare {
			b = append(b, text...)
		} else {
			b = append(b, quoted(text)...)
		}
	}
	j.line = append(b, '}', '\n')
	_, err := j.w.Write(j.line)
	return err
}

func (j *jsonWriter[R]) close() error { return nil }
