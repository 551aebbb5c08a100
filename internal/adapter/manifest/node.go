// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// node is a value with its path, while an object is read. A field that is not
// there is a node without a value, from which nothing can be read.
type node struct {
	r    *reading
	v    *value
	path string
}

func (n node) there() bool { return n.v != nil && n.v.shape != null }

// is checks the shape. What has another is a mistake and reads as not there.
func (n node) is(want shape) bool {
	if !n.there() {
		return false
	}
	if n.v.shape != want {
		n.r.mistake(n.v.line, n.path, fmt.Sprintf("should be %s, and is %s", want, n.v.shape))
		return false
	}
	return true
}

// get is a field of a mapping.
func (n node) get(key string) node {
	if !n.is(mapping) {
		return node{}
	}
	path := key
	switch {
	case strings.ContainsAny(key, "./ "):
		path = n.path + "[" + key + "]"
	case n.path != "":
		path = n.path + "." + key
	}
	return node{r: n.r, v: n.v.fields[key], path: path}
}

// at is a field further down.
func (n node) at(keys ...string) node {
	for _, k := range keys {
		n = n.get(k)
	}
	return n
}

// each goes through a list.
func (n node) each(use func(item node)) {
	if !n.is(list) {
		return
	}
	for i, v := range n.v.items {
		if n.r.spent(v) {
			return
		}
		use(node{r: n.r, v: v, path: fmt.Sprintf("%s[%d]", n.path, i)})
	}
}

// fields goes through a mapping as it stands.
func (n node) fields(use func(key string, field node)) {
	if !n.is(mapping) {
		return
	}
	for _, k := range n.v.keys {
		if n.r.spent(n.v.fields[k]) {
			return
		}
		use(k, n.get(k))
	}
}

// text is a plain value.
func (n node) text() guard.Text {
	if !n.is(scalar) {
		return guard.Text{}
	}
	return guard.Text{Value: n.v.text, Field: n.path, Line: n.v.line, Given: true}
}

// flag is a plain value that is true or false. YAML 1.1, which the API server
// reads, has more words for true than one.
func (n node) flag() guard.Text {
	t := n.text()
	switch strings.ToLower(t.Value) {
	case "true", "yes", "on", "y":
		t.Value = "true"
	}
	return t
}

// string is a plain value alone.
func (n node) string() string { return n.text().Value }

// line of the value, 0 where there is none.
func (n node) line() int {
	if n.v == nil {
		return 0
	}
	return n.v.line
}
