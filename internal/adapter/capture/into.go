// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// into reads a whole value whose shape is that of v's JSON. Unknown fields are
// refused, with the line on which they stand; names are case-sensitive.
func (d *decoder) into(n *node, path string, v any) {
	unknown, err := kjson.UnmarshalStrict(n.json(), v)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	if err != nil {
		d.inside(n, path, err)
	}
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// inside reports a mistake that a JSON decoder found in the value, at the
// field it names where that can be found.
func (d *decoder) inside(n *node, path string, err error) {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		if f, at := n.locate(te.Field, path); f != nil {
			d.wrong(f, at, "a value of type "+te.Type.String())
			return
		}
		d.fail(n.line, path, "holds %s where a value of type %s belongs", te.Value, te.Type)
		return
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		f, at := n.search(lastPart(m[1]), path)
		if f != nil {
			d.fail(f.line, at, "is not a field that belongs here; check its spelling")
			return
		}
	}
	d.fail(n.line, path, "%v", err)
}

func lastPart(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }

// locate follows the dotted path of a JSON decoder ("a.b", lists skipped).
func (n *node) locate(dotted, path string) (*node, string) {
	if dotted == "" {
		return n, path
	}
	head, rest, _ := strings.Cut(dotted, ".")
	if n.shape == shapeList {
		for _, c := range n.items {
			if f, at := c.locate(dotted, path); f != nil {
				return f, at
			}
		}
		return nil, ""
	}
	if c := n.find(head); c != nil {
		return c.locate(rest, join(path, head))
	}
	return nil, ""
}

// search finds the first field of a name, depth first, and its place.
func (n *node) search(key, path string) (*node, string) {
	for _, f := range n.fields {
		at := join(path, f.key)
		if f.key == key {
			return &node{shape: f.value.shape, line: f.line}, at
		}
		if c, p := f.value.search(key, at); c != nil {
			return c, p
		}
	}
	for _, c := range n.items {
		if f, p := c.search(key, path); f != nil {
			return f, p
		}
	}
	return nil, ""
}

// json writes the value as JSON. Numbers keep their digits where JSON has
// them; other spellings of YAML (0x10, .5) become texts and are then refused
// by whoever wanted a number.
func (n *node) json() []byte {
	var b bytes.Buffer
	n.writeJSON(&b)
	return b.Bytes()
}

func (n *node) writeJSON(b *bytes.Buffer) {
	switch n.shape {
	case shapeNull:
		b.WriteString("null")
	case shapeBool:
		b.WriteString(n.text)
	case shapeNumber:
		if json.Valid([]byte(n.text)) {
			b.WriteString(n.text)
			return
		}
		b.Write(quote(n.text))
	case shapeText:
		b.Write(quote(n.text))
	case shapeList:
		b.WriteByte('[')
		for i, c := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			c.writeJSON(b)
		}
		b.WriteByte(']')
	case shapeObject:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(f.key))
			b.WriteByte(':')
			f.value.writeJSON(b)
		}
		b.WriteByte('}')
	}
}

func quote(s string) []byte {
	q, _ := json.Marshal(s) // a string always has a JSON form
	return q
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
