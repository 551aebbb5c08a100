// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"fmt"
	"strings"
)

// Unreadable is a delivery that cannot be read because of what its files hold. What
// it wraps says so: Problems, or an error that names the file.
type Unreadable struct{ err error }

// Error is that of what it wraps.
func (u *Unreadable) Error() string { return u.err.Error() }

// Unwrap is what it wraps.
func (u *Unreadable) Unwrap() error { return u.err }

// Problem is a cell, a row or a file that cannot be read.
type Problem struct {
	File string
	// Row counts from 1; 0: the whole file.
	Row    int64
	Column string
	Value  string
	// What is wrong and what to do.
	What string
}

// Error names file, row, column and value.
func (p *Problem) Error() string {
	switch {
	case p.Row == 0:
		return fmt.Sprintf("read bill %s: %s", p.File, p.What)
	case p.Column == "":
		return fmt.Sprintf("read bill %s row %d: %s", p.File, p.Row, p.What)
	}
	return fmt.Sprintf("read bill %s row %d, column %s, value %s: %s", p.File, p.Row, p.Column, quote(p.Value), p.What)
}

// Problems are several.
type Problems []*Problem

// Error is one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// quote shortens what would fill a screen.
func quote(v string) string {
	const limit = 120
	if len(v) > limit {
		return fmt.Sprintf("%.*q… (%d bytes)", limit, v, len(v))
	}
	return fmt.Sprintf("%q", v)
}
