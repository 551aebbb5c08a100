// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a configuration file of a container runtime. The library checks
// it and gives the expressions, which keep their lines.
func parseTOML(text string) (*value, error) {
	var all map[string]any
	if err := toml.Unmarshal([]byte(text), &all); err != nil {
		line := 0
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			line, _ = at.Position()
		}
		return nil, &syntaxError{line, "this is not valid TOML: " + err.Error()}
	}
	t := tomlReader{root: &value{shape: mapping, line: 1}}
	t.p.Reset([]byte(text))
	into := t.root
	for t.p.NextExpression() {
		e := t.p.Expression()
		switch e.Kind {
		case unstable.Table:
			into = t.table(t.root, e, false)
		case unstable.ArrayTable:
			into = t.table(t.root, e, true)
		case unstable.KeyValue:
			t.keyValue(into, e)
		}
	}
	if err := t.p.Error(); err != nil {
		return nil, &syntaxError{0, "this is not valid TOML: " + err.Error()}
	}
	return t.root, nil
}

type tomlReader struct {
	p    unstable.Parser
	root *value
}

type tomlKey struct {
	name string
	line int
}

func (t *tomlReader) keys(e *unstable.Node) (out []tomlKey) {
	for it := e.Key(); it.Next(); {
		out = append(out, tomlKey{string(it.Node().Data), t.line(it.Node())})
	}
	return out
}

func (t *tomlReader) line(n *unstable.Node) int {
	if n.Raw.Length == 0 {
		return 0
	}
	return t.p.Shape(n.Raw).Start.Line
}

// table is the mapping that a header names: of an array, a new one.
func (t *tomlReader) table(at *value, e *unstable.Node, array bool) *value {
	keys := t.keys(e)
	for i, k := range keys {
		if array && i == len(keys)-1 {
			return at.appended(k)
		}
		at = at.below(k)
	}
	return at
}

func (t *tomlReader) keyValue(into *value, e *unstable.Node) {
	keys := t.keys(e)
	for _, k := range keys[:len(keys)-1] {
		into = into.below(k)
	}
	last := keys[len(keys)-1]
	v := t.value(e.Value(), last.line)
	_ = into.set(last.name, last.line, v) // the library has refused a key given twice
}

func (t *tomlReader) value(n *unstable.Node, line int) *value {
	v := &value{shape: scalar, line: line, text: string(n.Data)}
	switch n.Kind {
	case unstable.Array:
		v.shape, v.text = list, ""
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, t.value(it.Node(), line))
		}
	case unstable.InlineTable:
		v.shape, v.text = mapping, ""
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				t.keyValue(v, it.Node())
			}
		}
	}
	return v
}

// below is the mapping under a key, made where it is not there. Of an array of
// tables it is the last.
func (v *value) below(k tomlKey) *value {
	next := v.fields[k.name]
	if next == nil {
		next = &value{shape: mapping, line: k.line}
		_ = v.set(k.name, k.line, next) // it is not there
	}
	if next.shape == list && len(next.items) > 0 {
		next = next.items[len(next.items)-1]
	}
	return next
}

func (v *value) appended(k tomlKey) *value {
	all := v.fields[k.name]
	if all == nil {
		all = &value{shape: list, line: k.line}
		_ = v.set(k.name, k.line, all) // it is not there
	}
	one := &value{shape: mapping, line: k.line}
	all.items = append(all.items, one)
	return one
}

// toml reads a file of settings of a container runtime or of NVIDIA's toolkit.
func (r *reading) toml(text string) {
	v, err := parseTOML(text)
	if err != nil {
		at := asSyntax(err)
		r.mistake(at.line, "", at.msg+"; correct it, and scan again")
		return
	}
	n := node{r: r, v: v}
	switch {
	case n.get("nvidia-container-runtime").there() || n.get("nvidia-container-cli").there() || n.get("accept-nvidia-visible-devices-envvar-when-unprivileged").there():
		r.toolkit(n)
	case n.get("plugins").there() || n.get("crio").there():
		r.runtime(n)
	default:
		r.mistake(1, "", fmt.Sprintf("is no configuration that is known: neither NVIDIA's container toolkit's (%s), containerd's nor CRI-O's; leave it out", "/etc/nvidia-container-runtime/config.toml"))
	}
}
