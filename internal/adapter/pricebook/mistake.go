// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is a mistake in a price book, with its place.
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

// mistakes collects what is wrong with a file, so that one reading tells all.
type mistakes struct {
	file  string
	found []*Error
}

// limit keeps a file of another kind from filling the screen.
const limit = 20

func (m *mistakes) add(line int, field, format string, args ...any) {
	if len(m.found) < limit {
		m.found = append(m.found, &Error{File: m.file, Line: line, Field: field, Msg: fmt.Sprintf(format, args...)})
	}
}

// err is all mistakes in the order of their lines, or nil.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.found, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(m.found))
	for i, e := range m.found {
		errs[i] = e
	}
	return errors.Join(errs...)
}
