// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// jsonBuilder turns JSON into our tree, value by value.
type jsonBuilder struct {
	name  string
	dec   *json.Decoder
	lines []int64 // offsets of the line breaks
}

func newJSONBuilder(name string, text []byte) *jsonBuilder {
	b := &jsonBuilder{name: name, dec: json.NewDecoder(bytes.NewReader(text))}
	b.dec.UseNumber()
	for i, c := range text {
		if c == '\n' {
			b.lines = append(b.lines, int64(i))
		}
	}
	return b
}

// line is the line of what was read last.
func (b *jsonBuilder) line() int {
	at := b.dec.InputOffset() - 1
	return sort.Search(len(b.lines), func(i int) bool { return b.lines[i] >= at }) + 1
}

// next reads the next whole value; io.EOF when there is none, and
// io.ErrUnexpectedEOF when the text ends inside it.
func (b *jsonBuilder) next() (*node, error) {
	t, err := b.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, b.syntax(err)
	}
	return b.build(t, "", 0)
}

func (b *jsonBuilder) syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return &Error{File: b.name, Line: b.line(), Msg: "this is not valid JSON: " + err.Error()}
}

func (b *jsonBuilder) build(t json.Token, path string, depth int) (*node, error) {
	n := &node{line: b.line()}
	if depth > maxDepth {
		return nil, &Error{File: b.name, Line: n.line, Field: path, Msg: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	switch v := t.(type) {
	case nil:
		n.shape = shapeNull
	case bool:
		n.shape, n.text = shapeBool, fmt.Sprint(v)
	case json.Number:
		n.shape, n.text = shapeNumber, v.String()
	case string:
		n.shape, n.text = shapeText, v
	case json.Delim:
		if v == '[' {
			n.shape = shapeList
			return n, b.list(n, path, depth)
		}
		n.shape = shapeObject
		return n, b.object(n, path, depth)
	}
	return n, nil
}

func (b *jsonBuilder) list(n *node, path string, depth int) error {
	for b.dec.More() {
		t, err := b.dec.Token()
		if err != nil {
			return b.syntax(err)
		}
		c, err := b.build(t, fmt.Sprintf("%s[%d]", path, len(n.items)), depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, c)
	}
	return b.close()
}

func (b *jsonBuilder) object(n *node, path string, depth int) error {
	for b.dec.More() {
		t, err := b.dec.Token()
		if err != nil {
			return b.syntax(err)
		}
		key, line := t.(string), b.line()
		if t, err = b.dec.Token(); err != nil {
			return b.syntax(err)
		}
		c, err := b.build(t, join(path, key), depth+1)
		if err != nil {
			return err
		}
		if err := n.add(key, line, c); err != nil {
			return &Error{File: b.name, Line: line, Field: join(path, key), Msg: err.Error()}
		}
	}
	return b.close()
}

func (b *jsonBuilder) close() error {
	if _, err := b.dec.Token(); err != nil {
		return b.syntax(err)
	}
	return nil
}
