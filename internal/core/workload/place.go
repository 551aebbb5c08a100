// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strconv"
	"strings"
)

// Placement is what a pod asks of its node beside room, in short texts: keys and values
// of labels and taints have none of the characters between them.
type Placement struct {
	// Selector is spec.nodeSelector: "KEY=VALUE,…", in order.
	Selector string `json:"selector,omitempty"`
	// Affinity is its required node affinity: terms, of which one must hold, with ";"
	// between them, of requirements with "," between them: "KEY In A|B", "KEY Exists",
	// "KEY Gt 5". A term that looks at fields of the node has the requirement "fields".
	Affinity string `json:"affinity,omitempty"`
	// Tolerations are those for taints that keep pods away: "KEY=VALUE:EFFECT", without
	// value where any will do, without effect likewise; "*" is any key.
	Tolerations string `json:"tolerations,omitempty"`
}

// The effects of a taint that keep a pod away (core/v1 TaintEffect).
const (
	TaintNoSchedule = "NoSchedule"
	TaintNoExecute  = "NoExecute"
)

// Tolerates reports whether the pod stands a taint "KEY=VALUE:EFFECT"
// (k8s.io/api/core/v1 Toleration.ToleratesTaint).
func (p Placement) Tolerates(taint string) bool {
	pair, effect := cutLast(taint, ":")
	key, _, _ := strings.Cut(pair, "=")
	for t := range strings.SplitSeq(p.Tolerations, ",") {
		is, only := cutLast(t, ":")
		if t != "" && (only == "" || only == effect) && (is == "*" || is == pair || is == key) {
			return true
		}
	}
	return false
}

func cutLast(text, sep string) (before, after string) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):]
	}
	return text, ""
}

// Allows reports whether the pod may be on a node with such labels: its selector and
// its required affinity hold. What looks at fields does not.
func (p Placement) Allows(labels map[string]string) bool {
	for pair := range strings.SplitSeq(p.Selector, ",") {
		key, want, _ := strings.Cut(pair, "=")
		if got, ok := labels[key]; pair != "" && (!ok || got != want) {
			return false
		}
	}
	if p.Affinity == "" {
		return true
	}
	for term := range strings.SplitSeq(p.Affinity, ";") {
		if holds(term, labels) {
			return true
		}
	}
	return false
}

// holds: all requirements of a term do. A term without any matches nothing
// (core/v1 NodeSelectorTerm).
func holds(term string, labels map[string]string) bool {
	if term == "" {
		return false
	}
	for r := range strings.SplitSeq(term, ",") {
		if !meets(strings.Fields(r), labels) {
			return false
		}
	}
	return true
}

// meets is one requirement: KEY, operator, and values where it has some.
func meets(r []string, labels map[string]string) bool {
	if len(r) < 2 {
		return false
	}
	var values []string
	if len(r) > 2 {
		values = strings.Split(r[2], "|")
	}
	got, there := labels[r[0]]
	switch r[1] {
	case "In":
		return there && slices.Contains(values, got)
	case "NotIn":
		return !there || !slices.Contains(values, got)
	case "Exists":
		return there
	case "DoesNotExist":
		return !there
	case "Gt", "Lt":
		return there && len(values) == 1 && compares(r[1], got, values[0])
	}
	return false
}

func compares(operator, got, than string) bool {
	a, errA := strconv.ParseInt(got, 10, 64)
	b, errB := strconv.ParseInt(than, 10, 64)
	if errA != nil || errB != nil {
		return false
	}
	return operator == "Gt" && a > b || operator == "Lt" && a < b
}
