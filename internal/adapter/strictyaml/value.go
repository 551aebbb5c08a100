// SPDX-License-Identifier: Apache-2.0

package strictyaml

import "github.com/goccy/go-yaml/ast"

// Shape is what sort of thing a value is.
type Shape int

// The shapes. Other is everything that is not written plainly: nothing at all,
// an anchor, an alias, a tag.
const (
	Other Shape = iota
	Scalar
	List
	Mapping
)

// Value is one value of a document. The readers of other formats (captures)
// make such values of sections that are read here.
type Value struct {
	Shape Shape
	Line  int     // counts from 1; 0: not known
	Text  string  // of a scalar, as it is written
	Items []Value // of a list
	// Fields of a mapping, as they stand.
	Fields []Field
}

// Field is a name and its value.
type Field struct {
	Key   string
	Line  int
	Value Value
}

func valueOf(n ast.Node) Value {
	out := Value{Line: lineOf(n)}
	switch v := n.(type) {
	case *ast.StringNode:
		out.Shape, out.Text = Scalar, v.Value
	case *ast.LiteralNode:
		out.Shape, out.Text = Scalar, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		out.Shape, out.Text = Scalar, n.GetToken().Value
	case *ast.SequenceNode:
		out.Shape, out.Items = List, make([]Value, len(v.Values))
		for i, item := range v.Values {
			out.Items[i] = valueOf(item)
		}
	case *ast.MappingNode:
		out.Shape, out.Fields = Mapping, fieldsOf(v.Values)
	case *ast.MappingValueNode:
		out.Shape, out.Fields = Mapping, fieldsOf([]*ast.MappingValueNode{v})
	}
	if len(out.Fields) > 0 {
		out.Line = out.Fields[0].Line
	}
	return out
}

func fieldsOf(values []*ast.MappingValueNode) []Field {
	out := make([]Field, len(values))
	for i, v := range values {
		out[i] = Field{Key: v.Key.GetToken().Value, Line: lineOf(v.Key), Value: valueOf(v.Value)}
	}
	return out
}

func lineOf(n ast.Node) int {
	if n == nil {
		return 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}
