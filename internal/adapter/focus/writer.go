// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
)

// Writer writes charges. It is not usable after an error.
type Writer struct {
	out interface {
		write(*charge) error
		close() error
	}
	written map[[16]byte]bool
	Rows    int64
}

// NewCSV writes CSV: UTF-8, a header, null as an empty cell.
func NewCSV(w io.Writer) (*Writer, error) {
	out := csvWriter{csv.NewWriter(w)}
	if err := out.w.Write(Columns()); err != nil {
		return nil, fmt.Errorf("write FOCUS: %w", err)
	}
	return &Writer{out: out, written: map[[16]byte]bool{}}, nil
}

// NewParquet writes Parquet: costs and quantities as decimals of nine places,
// times in milliseconds of UTC, compressed with Zstandard.
func NewParquet(w io.Writer) *Writer {
	return &Writer{out: newParquet(w), written: map[[16]byte]bool{}}
}

// Write completes, checks and writes a charge, whole or split. A split whose
// parts are not the whole, or a charge that was written already, is an error
// that names the origin charge, and nothing of it is written.
func (w *Writer) Write(s Split) error {
	s, err := s.Complete()
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return fmt.Errorf("write FOCUS: %w", err)
	}
	if !s.Origin.Correction {
		sum := sha256.Sum256([]byte(s.Origin.ID))
		id := [16]byte(sum[:16])
		if w.written[id] {
			return fmt.Errorf("write FOCUS: origin charge %q was written before: it would count twice", s.Origin.ID)
		}
		w.written[id] = true
	}
	if len(s.Rows) == 0 {
		return w.one(&charge{Origin: &s.Origin})
	}
	for i := range s.Rows {
		if err := w.one(&charge{Origin: &s.Origin, row: &s.Rows[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) one(c *charge) error {
	if err := w.out.write(c); err != nil {
		return fmt.Errorf("write FOCUS: %w", err)
	}
	w.Rows++
	return nil
}

// Close ends the file.
func (w *Writer) Close() error {
	if err := w.out.close(); err != nil {
		return fmt.Errorf("write FOCUS: %w", err)
	}
	return nil
}

type csvWriter struct{ w *csv.Writer }

func (c csvWriter) write(row *charge) error {
	cells := make([]string, len(columns))
	for i, col := range columns {
		switch col.kind {
		case text:
			cells[i] = col.text(row)
		case decimal:
			if n := col.amount(row); n != nil {
				cells[i] = n.String()
			}
		case instant:
			cells[i] = stamp(col.time(row))
		}
	}
	return c.w.Write(cells)
}

func (c csvWriter) close() error {
	c.w.Flush()
	return c.w.Error()
}
