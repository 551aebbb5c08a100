// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml "github.com/goccy/go-yaml"
)

// story is what the conversion needs to know of one.
type story struct {
	Story  int    `yaml:"story"`
	ID     string `yaml:"id"`
	Title  string `yaml:"title"`
	Oracle string `yaml:"oracle"`
	Reason string `yaml:"oracle_skip"`
	Nodes  []struct {
		Name string `yaml:"name"`
		GPUs []struct {
			UUID *string `yaml:"uuid"`
		} `yaml:"gpus"`
	} `yaml:"nodes"`
	Expect struct {
		Findings []map[string]any `yaml:"findings"`
		Allowed  []map[string]any `yaml:"allowed_findings"`
		Nulls    []string         `yaml:"nulls"`
	} `yaml:"expect"`
}

func readStory(text []byte) (story, error) {
	var s story
	if err := yaml.Unmarshal(text, &s); err != nil {
		return s, err
	}
	if s.Story != 1 || s.ID == "" {
		return s, fmt.Errorf("is version %d, with id %q; this tool reads story: 1", s.Story, s.ID)
	}
	return s, nil
}

// ledgerKinds are findings of the pricing, not of the node.
var ledgerKinds = map[string]bool{"unpriced": true}

// convert rewrites the lines that differ between the formats:
//   - story: 1 is capture: 1;
//   - a node whose GPU has no UUID has no NVML;
//   - findings and nulls about money stand under expect.money;
//   - findings that are right although the story does not say so are allowed.
func convert(text string, s story, allowed []map[string]any) string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "story: 1":
			line = "capture: 1"
		case strings.HasPrefix(line, "  findings:"), strings.HasPrefix(line, "  allowed_findings:"), strings.HasPrefix(line, "  nulls:"):
			continue
		case line == "  money:":
			out = append(out, line)
			out = append(out, moneyLines(s)...)
			continue
		case strings.HasPrefix(line, "  podresources:") && hasNoUUID(s):
			out = append(out, "  nvml: {ok: false, error: ERROR_LIBRARY_NOT_FOUND}")
		}
		out = append(out, line)
	}
	node, _ := byStage(s.Expect.Findings)
	out = append(out, listLine("  findings", node)...)
	out = append(out, listLine("  allowed_findings", append(s.Expect.Allowed, allowed...))...)
	out = append(out, textLine("  nulls", nullsAbout(s, false))...)
	return strings.Join(out, "\n") + "\n"
}

func hasNoUUID(s story) bool {
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			if g.UUID == nil {
				return true
			}
		}
	}
	return false
}

func moneyLines(s story) []string {
	_, ledger := byStage(s.Expect.Findings)
	return append(listLine("    findings", ledger), textLine("    nulls", nullsAbout(s, true))...)
}

func byStage(findings []map[string]any) (node, ledger []map[string]any) {
	for _, f := range findings {
		if ledgerKinds[fmt.Sprint(f["kind"])] {
			ledger = append(ledger, f)
		} else {
			node = append(node, f)
		}
	}
	return node, ledger
}

func nullsAbout(s story, money bool) []string {
	return slices.DeleteFunc(slices.Clone(s.Expect.Nulls), func(n string) bool { return strings.HasSuffix(n, " money") != money })
}

// listLine writes findings in one line each, or nothing.
func listLine(key string, findings []map[string]any) []string {
	if len(findings) == 0 {
		return nil
	}
	indent := key[:len(key)-len(strings.TrimLeft(key, " "))]
	out := []string{key + ":"}
	for _, f := range findings {
		keys := slices.SortedFunc(maps.Keys(f), func(a, b string) int { return rank(a) - rank(b) })
		var parts []string
		for _, k := range keys {
			parts = append(parts, k+": "+flow(f[k]))
		}
		out = append(out, indent+"- {"+strings.Join(parts, ", ")+"}")
	}
	return out
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// flow writes a value as YAML flow style has it: words bare, the rest quoted.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		if plain.MatchString(v) {
			return v
		}
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, flow(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	b, _ := json.Marshal(v) // values of a parsed story always have a JSON form
	return string(b)
}

func rank(key string) int {
	return slices.Index([]string{"kind", "pod", "pid", "partition", "partitions", "victim", "by_mib", "foreign", "resource", "node", "reason"}, key)
}

func textLine(key string, list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{key + ": [" + strings.Join(list, ", ") + "]"}
}
