// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// form is what the schema of SARIF 2.1.0 asks of one kind of object, as far as
// a scan writes it: which properties must be there, which there are (the schema
// allows no others), and what each holds.
type form struct {
	must  []string
	props map[string]any // a *form, a list of one ([]*form), or a check
}

type holds func(v any) string // what is wrong with it, or ""

func isText(v any) string {
	if s, ok := v.(string); !ok || s == "" {
		return "is no text"
	}
	return ""
}

func isURI(v any) string {
	s, ok := v.(string)
	if _, err := url.Parse(s); !ok || err != nil || s == "" {
		return "is no URI reference"
	}
	return ""
}

func atLeast(least float64) holds {
	return func(v any) string {
		if n, ok := v.(float64); !ok || n < least || n != float64(int(n)) {
			return fmt.Sprintf("is no whole number from %v", least)
		}
		return ""
	}
}

func oneWordOf(words ...string) holds {
	return func(v any) string {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			return fmt.Sprintf("is none of %v", words)
		}
		return ""
	}
}

func isFlag(v any) string {
	if _, ok := v.(bool); !ok {
		return "is neither true nor false"
	}
	return ""
}

// textMap: partialFingerprints, whose values are texts.
func textMap(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return "is no object"
	}
	for _, x := range m {
		if isText(x) != "" {
			return "holds what is no text"
		}
	}
	return ""
}

// bag: a property bag may hold anything; its tags are texts, each once.
func bag(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return "is no object"
	}
	seen := map[any]bool{}
	tags, _ := m["tags"].([]any)
	for _, tag := range tags {
		if isText(tag) != "" || seen[tag] {
			return "has tags that are no texts, or one twice"
		}
		seen[tag] = true
	}
	return ""
}

func sarifForm() *form {
	level := oneWordOf("none", "note", "warning", "error")
	message := &form{must: []string{"text"}, props: map[string]any{"text": holds(isText)}}
	location := &form{props: map[string]any{
		"physicalLocation": &form{must: []string{"artifactLocation"}, props: map[string]any{
			"artifactLocation": &form{must: []string{"uri"}, props: map[string]any{"uri": holds(isURI)}},
			"region":           &form{props: map[string]any{"startLine": atLeast(1)}},
		}},
		"logicalLocations": []*form{{props: map[string]any{"fullyQualifiedName": holds(isText)}}},
	}}
	rule := &form{must: []string{"id"}, props: map[string]any{
		"id": holds(isText), "name": holds(isText), "shortDescription": message, "fullDescription": message, "help": message,
		"defaultConfiguration": &form{props: map[string]any{"level": level}}, "properties": holds(bag),
	}}
	result := &form{must: []string{"message", "ruleId"}, props: map[string]any{
		"ruleId": holds(isText), "ruleIndex": atLeast(0), "level": level, "message": message, "locations": []*form{location},
		"partialFingerprints": holds(textMap), "properties": holds(bag),
		"suppressions": []*form{{must: []string{"kind"}, props: map[string]any{"kind": oneWordOf("inSource", "external"), "justification": holds(isText)}}},
	}}
	notice := &form{must: []string{"message"}, props: map[string]any{"level": level, "message": message, "locations": []*form{location}}}
	driver := &form{must: []string{"name"}, props: map[string]any{"name": holds(isText), "version": holds(isText), "rules": []*form{rule}}}
	run := &form{must: []string{"tool", "results"}, props: map[string]any{
		"tool":        &form{must: []string{"driver"}, props: map[string]any{"driver": driver}},
		"invocations": []*form{{must: []string{"executionSuccessful"}, props: map[string]any{"executionSuccessful": holds(isFlag), "toolExecutionNotifications": []*form{notice}}}},
		"results":     []*form{result},
	}}
	return &form{must: []string{"version", "runs"}, props: map[string]any{"$schema": holds(isURI), "version": oneWordOf("2.1.0"), "runs": []*form{run}}}
}

// wrongs says what in v is not of the form.
func (f *form) wrongs(path string, v any) (out []string) {
	m, ok := v.(map[string]any)
	if !ok {
		return []string{path + " is no object"}
	}
	for _, key := range f.must {
		if _, has := m[key]; !has {
			out = append(out, path+"."+key+" is missing")
		}
	}
	for key, x := range m {
		at := path + "." + key
		switch want := f.props[key].(type) {
		case nil:
			out = append(out, at+" is no property of the standard that is known here")
		case holds:
			if wrong := want(x); wrong != "" {
				out = append(out, at+" "+wrong)
			}
		case *form:
			out = append(out, want.wrongs(at, x)...)
		case []*form:
			list, ok := x.([]any)
			if !ok {
				out = append(out, at+" is no list")
			}
			for i, item := range list {
				out = append(out, want[0].wrongs(fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	return out
}

// TestGuardSARIF: the output has the shape that the schema of SARIF 2.1.0 asks
// for, with findings, exempted ones, what was not looked at and mistakes in it.
func TestGuardSARIF(t *testing.T) {
	for name, documents := range map[string][]string{"clean": {cleanPod}, "all": {leakyPod, mountPod, rollout, badYAML}} {
		_, out, _ := guardRun(t, documents, "-o", "sarif", "--exempt", "default/Pod/mount=storage driver")
		var log map[string]any
		if err := json.Unmarshal([]byte(out), &log); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range sarifForm().wrongs("log", log) {
			t.Errorf("%s: %s", name, wrong)
		}
		if name == "all" {
			checkSARIFContent(t, log["runs"].([]any)[0].(map[string]any))
		}
	}
}

func checkSARIFContent(t *testing.T, run map[string]any) {
	t.Helper()
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	results := run["results"].([]any)
	if len(results) != 2 {
		t.Fatalf("%d results, want the leak and the exempted mount", len(results))
	}
	suppressed := 0
	for _, r := range results {
		r := r.(map[string]any)
		if rules[int(r["ruleIndex"].(float64))].(map[string]any)["id"] != r["ruleId"] {
			t.Errorf("ruleIndex %v leads to another rule than %v", r["ruleIndex"], r["ruleId"])
		}
		if r["suppressions"] != nil {
			suppressed++
		}
	}
	invocation := run["invocations"].([]any)[0].(map[string]any)
	notices, _ := invocation["toolExecutionNotifications"].([]any)
	if suppressed != 1 || invocation["executionSuccessful"] != false || len(notices) != 2 {
		t.Errorf("%d suppressed, invocation %v", suppressed, invocation)
	}
}
