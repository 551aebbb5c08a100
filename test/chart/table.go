// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Row is one value of the chart: its path, its default as JSON, and what the comment
// above it says. A comment that begins with "# --" describes the value below it as a
// whole; a mapping without one is described key by key.
type Row struct{ Key, Default, About string }

// Table lists the values in values.yaml, in its order.
func Table(text []byte) ([]Row, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("values.yaml: want keys with values")
	}
	return rowsOf("", doc.Content[0])
}

func rowsOf(prefix string, m *yaml.Node) ([]Row, error) {
	var out []Row
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		path, about := prefix+key.Value, aboutIn(key.HeadComment)
		if about == "" && value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			below, err := rowsOf(path+".", value)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
			continue
		}
		text, err := defaultOf(value)
		if err != nil {
			return nil, fmt.Errorf("values.yaml: %s: %w", path, err)
		}
		out = append(out, Row{path, text, about})
	}
	return out, nil
}

// aboutIn is what stands from "# --" on, in one line.
func aboutIn(comment string) string {
	_, text, ok := strings.Cut("\n"+comment, "\n# -- ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\n# ", " "))
}

func defaultOf(n *yaml.Node) (string, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}
