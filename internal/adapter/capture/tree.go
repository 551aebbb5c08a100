// SPDX-License-Identifier: Apache-2.0

package capture

import "fmt"

// shape is what sort of thing a node of a document is.
type shape string

const (
	shapeNull   shape = "null"
	shapeBool   shape = "a truth value"
	shapeNumber shape = "a number"
	shapeText   shape = "a text"
	shapeList   shape = "a list"
	shapeObject shape = "an object"
)

// node is one value of a parsed document, YAML or JSON alike, with the line it
// stands on. Scalars keep the text they were written with, so that a 64-bit
// number loses nothing.
type node struct {
	shape  shape
	text   string
	line   int
	items  []*node
	fields []field
}

type field struct {
	key   string
	line  int
	value *node
}

// find returns the value of a key, or nil.
func (n *node) find(key string) *node {
	for i := range n.fields {
		if n.fields[i].key == key {
			return n.fields[i].value
		}
	}
	return nil
}

// add appends a field; a key that is there already is an error.
func (n *node) add(key string, line int, value *node) error {
	for i := range n.fields {
		if n.fields[i].key == key {
			return fmt.Errorf("is given twice, first on line %d; keep one of them", n.fields[i].line)
		}
	}
	n.fields = append(n.fields, field{key: key, line: line, value: value})
	return nil
}

// Error is a mistake in a capture file, with its place.
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
