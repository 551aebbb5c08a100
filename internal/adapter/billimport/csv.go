// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
)

type csvTable struct {
	r      *csv.Reader
	header []string
	index  map[string]int
	rows   int64
}

func openCSV(r io.Reader) (table, error) {
	t := &csvTable{r: csv.NewReader(r), index: map[string]int{}}
	t.r.ReuseRecord = true
	header, err := t.r.Read()
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	t.header = slices.Clone(header)
	for i, name := range t.header {
		name = plain(name)
		if at, twice := t.index[name]; twice && name != "" {
			return nil, fmt.Errorf("the columns %d and %d have the same name %q: rename one", at+1, i+1, t.header[i])
		}
		t.index[name] = i
	}
	return t, nil
}

func (t *csvTable) next() (record, error) {
	for {
		row, err := t.r.Read()
		t.rows++
		switch {
		case errors.Is(err, csv.ErrFieldCount):
			return nil, &Problem{Row: t.rows, What: fmt.Sprintf("it has %d cells, the header has %d: is a quote or a comma missing?", len(row), len(t.header))}
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("row %d: %w", t.rows, err)
		case slices.Equal(row, t.header):
			t.rows-- // files put one after the other, header and all
			continue
		}
		return csvRecord{t, row}, nil
	}
}

func (t *csvTable) columns(record) []string { return t.header }

type csvRecord struct {
	t   *csvTable
	row []string
}

func (r csvRecord) text(column string) string {
	i, ok := r.t.index[column]
	if !ok {
		return ""
	}
	return unnull(r.row[i])
}

func (r csvRecord) title(column string) string {
	if i, ok := r.t.index[column]; ok {
		return r.t.header[i]
	}
	return column
}
