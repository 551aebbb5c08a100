// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how sure it is that a container reaches GPUs.
type Severity int

// The severities, from least to most.
const (
	Low Severity = iota + 1
	Medium
	High
	Critical
)

var severityWords = []string{Low: "low", Medium: "medium", High: "high", Critical: "critical"}

// Severities are all of them, most severe first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low} }

// String is the severity as a word.
func (s Severity) String() string {
	if s < Low || s > Critical {
		return fmt.Sprintf("severity %d", int(s))
	}
	return severityWords[s]
}

// MarshalText makes it a word in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ParseSeverity reads such a word.
func ParseSeverity(word string) (Severity, error) {
	for _, s := range Severities() {
		if s.String() == word {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is no severity; write critical, high, medium or low", word)
}

// Means says when a rule gives this severity.
func (s Severity) Means() string {
	switch s {
	case Critical:
		return "the container reaches GPUs whatever the settings of the node are"
	case High:
		return "the container reaches GPUs it was not given on a node with NVIDIA's default settings, or can change GPUs of others"
	case Medium:
		return "it depends on something the manifest does not show: the image, a ConfigMap, a setting of the node"
	case Low:
		return "unlikely or of little harm alone, and worth knowing"
	}
	return ""
}

// Finding is a way by which a container could reach a GPU it did not ask for.
type Finding struct {
	Rule     ID       `json:"rule"`
	Severity Severity `json:"severity"`
	Object   Object   `json:"object"`
	// Container is empty where the whole pod is meant.
	Container string `json:"container,omitempty"`
	Role      Role   `json:"role,omitempty"`
	Place
	// Pods are those in which it was found, for what was found in running pods.
	Pods *Pods `json:"pods,omitempty"`
	// Value is what the field says.
	Value string `json:"value"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

// Pods says in how many pods of one workload something was found.
type Pods struct {
	Count int `json:"count"`
	// First are the names of some of them.
	First []string `json:"first"`
}

// order is by severity, then as the input stands; what stands in no line, by its object.
func order(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		strings.Compare(a.File, b.File), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line), cmp.Compare(lineless(a), lineless(b)),
		strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Field, b.Field), strings.Compare(a.Object.String(), b.Object.String()),
	)
}

// lineless is the object of a finding in no line of a file.
func lineless(f Finding) string {
	if f.Line > 0 {
		return ""
	}
	return f.Object.String()
}

// Worst is the highest severity among findings, 0 where there are none.
func Worst(findings []Finding) Severity {
	worst := Severity(0)
	for _, f := range findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, order)
	return findings
}

func sortExempted(exempted []Exempted) {
	slices.SortStableFunc(exempted, func(a, b Exempted) int { return order(a.Finding, b.Finding) })
}
