// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/gputally/gputally/internal/core/money"
)

// object is a mapping of the file while it is read: every key that is asked for
// is a key it may have, and done reports the others. Mistakes are collected,
// and what is wrong reads as what is not there.
type object struct {
	*mistakes
	path   string
	line   int
	keys   []string // as they stand
	fields map[string]field
	known  []string
}

type field struct {
	line  int
	value ast.Node
}

// object opens a node that should be a mapping.
func (m *mistakes) object(n ast.Node, path string) *object {
	o := &object{mistakes: m, path: path, line: lineOf(n), fields: map[string]field{}}
	values, ok := pairs(n)
	if !ok {
		m.add(o.line, path, "should be a mapping of names to values, such as \"model: NVIDIA L4\"")
	}
	for _, v := range values {
		key, line := v.Key.GetToken().Value, lineOf(v.Key)
		if _, twice := o.fields[key]; twice {
			m.add(line, o.at(key), "is given twice; keep one of them")
			continue
		}
		o.keys = append(o.keys, key)
		o.fields[key] = field{line: line, value: v.Value}
	}
	if len(o.keys) > 0 {
		o.line = o.fields[o.keys[0]].line
	}
	return o
}

func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, true
	}
	return nil, false
}

func (o *object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get is the field of a key, which from now on is one that may be there.
func (o *object) get(key string) (field, bool) {
	o.known = append(o.known, key)
	f, ok := o.fields[key]
	return f, ok
}

func (o *object) has(key string) bool { _, ok := o.fields[key]; return ok }

// done reports keys that nobody asked for.
func (o *object) done() {
	for _, key := range o.keys {
		if !slices.Contains(o.known, key) {
			o.add(o.fields[key].line, o.at(key), "is not a field that belongs here; there are %s", strings.Join(o.known, ", "))
		}
	}
}

// text is a scalar as it is written, so that numbers keep their digits.
func (o *object) text(key string) string {
	f, ok := o.get(key)
	if !ok {
		return ""
	}
	text, ok := scalar(f.value)
	if !ok || strings.TrimSpace(text) == "" {
		o.add(f.line, o.at(key), "should be a plain value; leave the field out where there is none")
		return ""
	}
	return text
}

func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// read reads a scalar with a function that names the text in its errors.
func read[T any](o *object, key string, parse func(string) (T, error)) (out T, ok bool) {
	text := o.text(key)
	if text == "" {
		return out, false
	}
	out, err := parse(text)
	if err != nil {
		o.add(o.fields[key].line, o.at(key), "%v", err)
		var none T
		return none, false
	}
	return out, true
}

// amount is an amount of money, exact, or nil.
func (o *object) amount(key string) *money.Nano {
	if n, ok := read(o, key, money.Parse); ok {
		return &n
	}
	return nil
}

func (o *object) amountOr0(key string) money.Nano {
	n, _ := read(o, key, money.Parse)
	return n
}

// moment is a UTC day or a moment, in Unix milliseconds.
func (o *object) moment(key string) int64 {
	ms, _ := read(o, key, parseMoment)
	return ms
}

func parseMoment(text string) (int64, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil && t.UnixMilli() > 0 && t.Year() < 10_000 {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is no moment: write a day such as 2026-12-01, which begins at midnight UTC, or a moment such as 2026-12-01T08:00:00+01:00", text)
}

func (o *object) currency(key string) money.Currency {
	c, _ := read(o, key, func(text string) (money.Currency, error) { c := money.Currency(text); return c, c.Check() })
	return c
}

func (o *object) count(key string, least, most int64) int64 {
	n, _ := read(o, key, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is no whole number from %d to %d", text, least, most)
		}
		return n, nil
	})
	return n
}

func (o *object) flag(key string) (value, given bool) {
	return read(o, key, func(text string) (bool, error) {
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("%q: write true or false", text)
	})
}

var plainDecimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,30})?$`)

// decimal is an exact number that is no money, or nil.
func (o *object) decimal(key string) *big.Rat {
	r, _ := read(o, key, func(text string) (*big.Rat, error) {
		if !plainDecimal.MatchString(text) {
			return nil, fmt.Errorf("%q: write a decimal number of 0 or more, such as 1.25", text)
		}
		r, _ := new(big.Rat).SetString(text)
		return r, nil
	})
	return r
}

// list opens each item of a sequence of mappings.
func (o *object) list(key string, each func(i int, item *object)) {
	f, ok := o.get(key)
	if !ok {
		return
	}
	seq, ok := f.value.(*ast.SequenceNode)
	if !ok {
		o.add(f.line, o.at(key), "should be a list, each item on a line that begins with \"- \"")
		return
	}
	for i, v := range seq.Values {
		item := o.mistakes.object(v, fmt.Sprintf("%s[%d]", o.at(key), i))
		each(i, item)
		item.done()
	}
}

// sub opens a mapping inside this one.
func (o *object) sub(key string, use func(*object)) {
	if f, ok := o.get(key); ok {
		in := o.mistakes.object(f.value, o.at(key))
		use(in)
		in.done()
	}
}

// texts is a mapping of free names to plain values.
func (o *object) texts(key string) (out map[string]string) {
	f, ok := o.get(key)
	if !ok {
		return nil
	}
	in := o.mistakes.object(f.value, o.at(key))
	out = map[string]string{}
	for _, k := range in.keys {
		out[k] = in.text(k)
	}
	if len(out) == 0 {
		o.add(f.line, o.at(key), "is empty; leave it out, or name a label and its value")
	}
	return out
}
