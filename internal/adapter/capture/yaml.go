// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
)

// maxDepth is how deeply lists and objects may be nested. Kubernetes objects
// need about fifteen levels.
const maxDepth = 64

// parseYAML reads one YAML document. Anchors, aliases, tags and merge keys are
// refused: a capture says what it means where it stands.
func parseYAML(name string, text []byte) (root *node, err error) {
	defer func() {
		// The YAML library is known to panic on some malformed texts.
		if p := recover(); p != nil {
			root, err = nil, &Error{File: name, Msg: fmt.Sprintf("this is not valid YAML (%v)", p)}
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if line := strictyaml.TooDeep(tokens, maxDepth); line > 0 {
		return nil, &Error{File: name, Line: line, Msg: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlError(name, err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &Error{File: name, Msg: "holds no document, or several; a capture is one YAML document that begins with capture: 1"}
	}
	b := yamlBuilder{name: name}
	return b.build(file.Docs[0].Body, "", 0)
}

func yamlError(name string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) {
		line := 0
		if t := y.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
		return &Error{File: name, Line: line, Msg: "this is not valid YAML: " + y.GetMessage()}
	}
	return &Error{File: name, Msg: "this is not valid YAML: " + err.Error()}
}

// yamlBuilder turns the library's tree into ours.
type yamlBuilder struct{ name string }

func (b yamlBuilder) fail(line int, path, format string, args ...any) error {
	return &Error{File: b.name, Line: line, Field: path, Msg: fmt.Sprintf(format, args...)}
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

func (b yamlBuilder) build(n ast.Node, path string, depth int) (*node, error) {
	line := lineOf(n)
	if depth > maxDepth {
		return nil, b.fail(line, path, "is nested more than %d levels deep", maxDepth)
	}
	switch v := n.(type) {
	case nil:
		return &node{shape: shapeNull, line: line}, nil
	case *ast.NullNode:
		return &node{shape: shapeNull, line: line}, nil
	case *ast.BoolNode:
		return &node{shape: shapeBool, text: fmt.Sprint(v.Value), line: line}, nil
	case *ast.IntegerNode:
		return &node{shape: shapeNumber, text: v.Token.Value, line: line}, nil
	case *ast.FloatNode:
		return &node{shape: shapeNumber, text: v.Token.Value, line: line}, nil
	case *ast.StringNode:
		return &node{shape: shapeText, text: v.Value, line: line}, nil
	case *ast.LiteralNode:
		return &node{shape: shapeText, text: v.Value.Value, line: line}, nil
	case *ast.SequenceNode:
		return b.sequence(v, path, depth)
	case *ast.MappingNode:
		return b.mapping(v.Values, line, path, depth)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{v}, line, path, depth)
	}
	return nil, b.fail(line, path, "uses a YAML %s, which a capture may not; write the value itself", strings.ToLower(n.Type().String()))
}

func (b yamlBuilder) sequence(v *ast.SequenceNode, path string, depth int) (*node, error) {
	out := &node{shape: shapeList, line: lineOf(v)}
	for i, item := range v.Values {
		c, err := b.build(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, c)
	}
	return out, nil
}

func (b yamlBuilder) mapping(values []*ast.MappingValueNode, line int, path string, depth int) (*node, error) {
	out := &node{shape: shapeObject, line: line}
	for _, v := range values {
		key, err := b.key(v.Key, path)
		if err != nil {
			return nil, err
		}
		at := join(path, key)
		c, err := b.build(v.Value, at, depth+1)
		if err != nil {
			return nil, err
		}
		if c.line == 0 {
			c.line = lineOf(v.Key)
		}
		if err := out.add(key, lineOf(v.Key), c); err != nil {
			return nil, b.fail(lineOf(v.Key), at, "%v", err)
		}
	}
	if len(out.fields) > 0 {
		out.line = out.fields[0].line
	}
	return out, nil
}

func (b yamlBuilder) key(k ast.MapKeyNode, path string) (string, error) {
	switch v := k.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, nil
	}
	return "", b.fail(lineOf(k), path, "has a key that is not a plain name or number; write the name itself")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
