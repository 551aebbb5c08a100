// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// decoder reads values out of a tree. It keeps the first mistake; after that
// every read returns a zero value, so callers need not check at each step.
type decoder struct {
	name string
	err  error
}

func (d *decoder) fail(line int, path, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{File: d.name, Line: line, Field: path, Msg: fmt.Sprintf(format, args...)}
	}
}

// object is an object being read: every field asked for is remembered, and
// done reports those that nobody asked for.
type object struct {
	d    *decoder
	n    *node
	path string
	seen map[string]bool
}

func (d *decoder) object(n *node, path string) *object {
	if n.shape != shapeObject {
		d.wrong(n, path, "an object (key: value)")
		n = &node{shape: shapeObject, line: n.line}
	}
	return &object{d: d, n: n, path: path, seen: map[string]bool{}}
}

func (d *decoder) wrong(n *node, path, want string) {
	got := string(n.shape)
	if n.text != "" {
		got = fmt.Sprintf("%s (%q)", got, clip(n.text))
	}
	d.fail(n.line, path, "is %s; write %s", got, want)
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// get returns the value of a field, nil when it is not there.
func (o *object) get(key string) *node {
	o.seen[key] = true
	return o.n.find(key)
}

// need is get for a field that must be there.
func (o *object) need(key string) *node {
	n := o.get(key)
	if n == nil {
		o.d.fail(o.n.line, o.at(key), "is missing; add it")
		return &node{shape: shapeNull, line: o.n.line}
	}
	return n
}

func (o *object) at(key string) string { return join(o.path, key) }

// done refuses fields that are not known here.
func (o *object) done() {
	for _, f := range o.n.fields {
		if !o.seen[f.key] {
			o.d.fail(f.line, join(o.path, f.key), "is not a field that a capture knows here; known are %s", knownFields(o.seen))
		}
	}
}

func (d *decoder) list(n *node, path string) []*node {
	if n.shape != shapeList {
		d.wrong(n, path, "a list")
		return nil
	}
	return n.items
}

// text reads a text; a bare number or truth value is taken as written.
func (d *decoder) text(n *node, path string) string {
	switch n.shape {
	case shapeText, shapeNumber, shapeBool:
		return n.text
	}
	d.wrong(n, path, "a text")
	return ""
}

func (d *decoder) boolean(n *node, path string) bool {
	if n.shape != shapeBool {
		d.wrong(n, path, "true or false")
	}
	return n.text == "true"
}

func (d *decoder) uint(n *node, path string, bits int) uint64 {
	v, err := strconv.ParseUint(n.text, 10, bits)
	if n.shape != shapeNumber || err != nil {
		d.wrong(n, path, "a whole number, 0 or more")
	}
	return v
}

func (d *decoder) int(n *node, path string) int64 {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if n.shape != shapeNumber || err != nil {
		d.wrong(n, path, "a whole number")
	}
	return v
}

func (d *decoder) float(n *node, path string) float64 {
	v, err := strconv.ParseFloat(n.text, 64)
	if n.shape != shapeNumber || err != nil {
		d.wrong(n, path, "a number")
	}
	return v
}

func (d *decoder) time(n *node, path string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, n.text)
	if n.shape != shapeText || err != nil {
		d.wrong(n, path, `a moment such as "2026-11-03T10:00:00Z"`)
	}
	return t.UTC()
}

// millis reads a time offset or length: seconds, with up to three decimals,
// or a text such as "10m" or "1h30m".
func (d *decoder) millis(n *node, path string) int64 {
	if n.shape == shapeText {
		v, err := time.ParseDuration(n.text)
		if err != nil || v%time.Millisecond != 0 {
			d.wrong(n, path, `seconds such as 90, or a text such as "1m30s"`)
		}
		return d.within(n, path, v.Milliseconds())
	}
	ms, ok := milliseconds(n.text)
	if n.shape != shapeNumber || !ok {
		d.wrong(n, path, "seconds, with at most three decimals")
	}
	return d.within(n, path, ms)
}

// longest is how far from the start of the window anything may lie.
const longest = 400 * 24 * time.Hour

func (d *decoder) within(n *node, path string, ms int64) int64 {
	if ms > longest.Milliseconds() || ms < -longest.Milliseconds() {
		d.fail(n.line, path, "is %s, more than 400 days; write a shorter time", clip(n.text))
		return 0
	}
	return ms
}

// milliseconds reads decimal seconds exactly.
func milliseconds(text string) (int64, bool) {
	whole, part, _ := strings.Cut(text, ".")
	if len(part) > 3 {
		return 0, false
	}
	v, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	return v, err == nil
}

func knownFields(seen map[string]bool) string {
	keys := sortedKeys(seen)
	return strings.Join(keys, ", ")
}
