// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is a mistake in a document, with its place.
type Error struct {
	File  string
	Line  int    // counts from 1; 0 when the whole file is meant
	Field string // path of the field; empty for mistakes of syntax
	Msg   string // what is wrong, and what to do
}

// Error prints "file:line: field: message".
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Msg
}

// Mistakes collects what is wrong with a file, so that one reading tells all.
type Mistakes struct {
	File  string
	found []*Error
}

// limit keeps a file of another kind from filling the screen.
const limit = 20

// Add adds a mistake.
func (m *Mistakes) Add(line int, field, format string, args ...any) {
	if len(m.found) < limit {
		m.found = append(m.found, &Error{File: m.File, Line: line, Field: field, Msg: fmt.Sprintf(format, args...)})
	}
}

// Found is how many there are: a reader that sees the number grow knows that a
// part was not read well.
func (m *Mistakes) Found() int { return len(m.found) }

// Err is all mistakes in the order of their lines, or nil.
func (m *Mistakes) Err() error {
	slices.SortStableFunc(m.found, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(m.found))
	for i, e := range m.found {
		errs[i] = e
	}
	return errors.Join(errs...)
}
