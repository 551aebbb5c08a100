// SPDX-License-Identifier: Apache-2.0

package tablefile

import (
	"fmt"
	"io"
)

// Writer writes rows. It is not usable after an error.
type Writer[R any] struct {
	out interface {
		write(R) error
		close() error
	}
	// Rows is how many were written.
	Rows int64
	name string
}

// NewCSV writes CSV: UTF-8, a header, null as an empty cell.
func NewCSV[R any](w io.Writer, name string, columns []Column[R]) (*Writer[R], error) {
	out, err := newCSV(w, columns)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &Writer[R]{out: out, name: name}, nil
}

// NewParquet writes Parquet: amounts as decimals of nine places, sums of 128 bits
// as decimals of none, times in milliseconds of UTC, compressed with Zstandard.
func NewParquet[R any](w io.Writer, name string, columns []Column[R]) *Writer[R] {
	return &Writer[R]{out: newParquet(w, name, columns), name: name}
}

// NewJSON writes one object a line, without what is null.
func NewJSON[R any](w io.Writer, name string, columns []Column[R]) *Writer[R] {
	return &Writer[R]{out: newJSON(w, columns), name: name}
}

// Write writes one row.
func (w *Writer[R]) Write(row R) error {
	if err := w.out.write(row); err != nil {
		return fmt.Errorf("write %s: %w", w.name, err)
	}
	w.Rows++
	return nil
}

// Close ends the file.
func (w *Writer[R]) Close() error {
	if err := w.out.close(); err != nil {
		return fmt.Errorf("write %s: %w", w.name, err)
	}
	return nil
}
