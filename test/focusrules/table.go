// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
)

// Table is a dataset.
type Table struct {
	Columns []string
	Rows    [][]Cell
	index   map[string]int
}

// Cell is a value as text, or null.
type Cell struct {
	Text string
	Null bool
}

// ReadCSV reads a table. An empty cell is null; nulls are further texts that
// stand for null.
func ReadCSV(r io.Reader, nulls ...string) (*Table, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("read table: it is empty")
	}
	t := &Table{Columns: rows[0], index: map[string]int{}}
	for i, name := range t.Columns {
		t.index[name] = i
	}
	for _, row := range rows[1:] {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Cell{text, text == "" || slices.Contains(nulls, text)}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t, nil
}

// Has says whether the table has the column.
func (t *Table) Has(column string) bool { _, ok := t.index[column]; return ok }

// at is the cell of a row; null where the table has no such column.
func (t *Table) at(row int, column string) Cell {
	if i, ok := t.index[column]; ok {
		return t.Rows[row][i]
	}
	return Cell{Null: true}
}
