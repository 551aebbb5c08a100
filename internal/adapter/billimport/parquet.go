// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetTable reads the plain columns of a Parquet file, row group by row
// group. Columns inside maps and lists (tags) are not read.
type parquetTable struct {
	groups []parquet.RowGroup
	rows   parquet.Rows
	buffer []parquet.Row
	filled int
	at     int
	number int64
	total  int64 // rows that the footer promises

	names  []string        // of all plain columns, as written
	leaves map[int]reading // by column index
	index  map[string]int  // plain name to column index
}

type reading struct {
	name string
	read func(parquet.Value) (string, error)
}

// rowsAtOnce is how many rows are decoded at once.
const rowsAtOnce = 256

func openParquet(in Input) (t *parquetTable, err error) {
	defer asError(&err)
	if err := checkFooter(in); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(in.Data, in.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	t = &parquetTable{total: f.NumRows(), groups: f.RowGroups(), buffer: make([]parquet.Row, rowsAtOnce), leaves: map[int]reading{}, index: map[string]int{}}
	for _, column := range f.Root().Columns() {
		if !column.Leaf() || column.Repeated() {
			continue
		}
		read, err := textOf(column.Type())
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name(), err)
		}
		name := plain(column.Name())
		if _, twice := t.index[name]; twice {
			return nil, fmt.Errorf("two columns have the name %q", name)
		}
		t.names = append(t.names, column.Name())
		t.leaves[column.Index()] = reading{column.Name(), read}
		t.index[name] = column.Index()
	}
	return t, nil
}

// checkFooter keeps a broken length from being taken for real, and so much
// memory from being asked for.
func checkFooter(in Input) error {
	const head, tail = 4, 8
	if in.Size < head+tail {
		return errors.New("the Parquet file is cut short")
	}
	end := make([]byte, tail)
	if _, err := in.Data.ReadAt(end, in.Size-tail); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(end[4:]) != "PAR1" {
		return errors.New("the Parquet file does not end as one: it is cut short, or encrypted")
	}
	if n := int64(binary.LittleEndian.Uint32(end)); n > in.Size-head-tail {
		return fmt.Errorf("the Parquet file is broken: a footer of %d bytes in a file of %d", n, in.Size)
	}
	return nil
}

// asError turns a panic of the library over a broken file into an error.
func asError(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the Parquet file is broken: %v", p)
	}
}

func (t *parquetTable) next() (r record, err error) {
	defer asError(&err)
	for t.at >= t.filled {
		if err := t.fill(); err != nil {
			return nil, err
		}
	}
	row := t.buffer[t.at]
	t.at++
	t.number++
	out := parquetRecord{t: t, texts: make(map[int]string, len(row))}
	for _, v := range row {
		leaf, wanted := t.leaves[v.Column()]
		if !wanted || v.IsNull() {
			continue
		}
		text, err := leaf.read(v)
		if err != nil {
			return nil, &Problem{Row: t.number, Column: leaf.name, Value: v.String(), What: err.Error()}
		}
		out.texts[v.Column()] = unnull(text)
	}
	return out, nil
}

func (t *parquetTable) fill() error {
	if t.rows == nil {
		if len(t.groups) == 0 {
			if t.number != t.total {
				return fmt.Errorf("the Parquet file is broken: it has %d of %d rows", t.number, t.total)
			}
			return io.EOF
		}
		t.rows, t.groups = t.groups[0].Rows(), t.groups[1:]
	}
	for i := range t.buffer {
		t.buffer[i] = t.buffer[i][:0]
	}
	n, err := t.rows.ReadRows(t.buffer)
	t.at, t.filled = 0, n
	if errors.Is(err, io.EOF) || err == nil && n == 0 {
		err = t.rows.Close()
		t.rows = nil
	}
	return err
}

func (t *parquetTable) close() {
	if t.rows != nil {
		t.rows.Close()
	}
}

func (t *parquetTable) columns(record) []string { return t.names }

type parquetRecord struct {
	t     *parquetTable
	texts map[int]string
}

func (r parquetRecord) text(column string) string {
	i, ok := r.t.index[column]
	if !ok {
		return ""
	}
	return r.texts[i]
}

func (r parquetRecord) title(column string) string {
	if i, ok := r.t.index[column]; ok {
		return r.t.leaves[i].name
	}
	return column
}
