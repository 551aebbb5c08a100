// SPDX-License-Identifier: Apache-2.0

package manifest

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

// parseYAML reads one document, whose first line is line base+1 of its file.
func parseYAML(text string, base int) (v *value, err error) {
	defer func() {
		// The YAML library is known to panic on some malformed texts.
		if p := recover(); p != nil {
			v, err = nil, &syntaxError{base + 1, fmt.Sprintf("this is not valid YAML (%v)", p)}
		}
	}()
	tokens := lexer.Tokenize(text)
	if line := strictyaml.TooDeep(tokens, maxDepth); line > 0 {
		return nil, &syntaxError{base + line, fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, notYAML(err, base, text)
	}
	c := converter{base: base, anchors: map[string]*value{}}
	for _, d := range file.Docs {
		if d.Body != nil && v == nil {
			if v, err = c.value(d.Body); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func notYAML(err error, base int, text string) error {
	out := &syntaxError{base + 1, "this is not valid YAML: " + err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		out.msg = "this is not valid YAML: " + y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			out.line = base + t.Position.Line
		}
	}
	if strings.Contains(text, "{{") {
		out.msg += "; it looks like a template: render it first (helm template … | gputally guard scan -f -)"
	}
	return out
}

// converter makes values of the nodes of a document.
type converter struct {
	base    int
	anchors map[string]*value
	budget  budget
	depth   int
}

func (c *converter) value(n ast.Node) (*value, error) {
	if c.depth++; c.depth > 3*maxDepth {
		return nil, &syntaxError{c.line(n), fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	defer func() { c.depth-- }()
	if err := c.budget.take(1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *ast.TagNode:
		return c.value(n.Value)
	case *ast.AnchorNode:
		v, err := c.value(n.Value)
		if err == nil {
			c.anchors[n.Name.GetToken().Value] = v
		}
		return v, err
	case *ast.AliasNode:
		return c.alias(n)
	case *ast.SequenceNode:
		return c.list(n)
	case *ast.MappingNode:
		return c.mapping(n, n.Values)
	case *ast.MappingValueNode:
		return c.mapping(n, []*ast.MappingValueNode{n})
	}
	return c.scalar(n), nil
}

func (c *converter) alias(n *ast.AliasNode) (*value, error) {
	name := n.Value.GetToken().Value
	if v, ok := c.anchors[name]; ok {
		return v, nil
	}
	return nil, &syntaxError{c.line(n), fmt.Sprintf("alias *%s has no anchor &%s before it in this document", name, name)}
}

func (c *converter) scalar(n ast.Node) *value {
	out := &value{shape: scalar, line: c.line(n)}
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		out.shape = null
	case *ast.StringNode:
		out.text = n.Value
	case *ast.LiteralNode:
		out.text = n.Value.Value
	default:
		if t := n.GetToken(); t != nil {
			out.text = t.Value
		}
	}
	return out
}

func (c *converter) list(n *ast.SequenceNode) (*value, error) {
	out := &value{shape: list, line: c.line(n)}
	for _, item := range n.Values {
		v, err := c.value(item)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, v)
	}
	return out, nil
}

// mapping reads fields; those of merge keys (<<) come last and count only where
// the mapping has none of that name.
func (c *converter) mapping(n ast.Node, values []*ast.MappingValueNode) (*value, error) {
	out := &value{shape: mapping, line: c.line(n)}
	var merged []*value
	for i, f := range values {
		v, err := c.value(f.Value)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.line = c.line(f.Key)
		}
		if f.Key.IsMergeKey() {
			merged = append(merged, v)
			continue
		}
		key, err := c.key(f.Key)
		if err == nil {
			err = out.set(key, c.line(f.Key), v)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range merged {
		if err := c.merge(out, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// key is the name of a field. It may be tagged, anchored or an alias.
func (c *converter) key(n ast.Node) (string, error) {
	if k, ok := n.(*ast.MappingKeyNode); ok {
		n = k.Value
	}
	v, err := c.value(n)
	if err != nil {
		return "", err
	}
	if v.shape != scalar {
		return "", &syntaxError{c.line(n), "the name of a field should be a plain value, and is " + v.shape.String()}
	}
	return v.text, nil
}

func (c *converter) merge(into, from *value) error {
	if from.shape == list {
		for _, item := range from.items {
			if item.shape == list {
				return &syntaxError{item.line, "a merge key (<<) takes a mapping, or a list of mappings"}
			}
			if err := c.merge(into, item); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.budget.take(len(from.keys)); err != nil {
		return err
	}
	for _, key := range from.keys {
		if _, has := into.fields[key]; !has {
			if err := into.set(key, from.line, from.fields[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is the line of a node in the file.
func (c *converter) line(n ast.Node) int {
	if n == nil {
		return 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return c.base + t.Position.Line
	}
	return 0
}
