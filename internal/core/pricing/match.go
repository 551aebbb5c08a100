// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"strings"
)

// class is what chooses a row, the strongest first: a node by its name, a pool
// by its labels, an instance type, a model of GPU, and at last anything.
type class int

const (
	byName class = iota
	byLabel
	byType
	byModel
	byAny
	classes
)

func (s *Selector) class() class {
	switch {
	case s.Node != "" || s.ProviderID != "":
		return byName
	case len(s.Labels) > 0:
		return byLabel
	case s.InstanceType != "":
		return byType
	case s.Model != "":
		return byModel
	}
	return byAny
}

// matches says whether the selector chooses the node, its capacity and its
// devices left aside.
func (s *Selector) matches(n *Node) bool {
	for key, want := range s.Labels {
		if got, ok := n.Labels[key]; !ok || !strings.EqualFold(got, want) {
			return false
		}
	}
	return same(s.Provider, n.Provider) && same(s.Region, n.Region) && same(s.Zone, n.Zone) && same(s.Cluster, n.Cluster) &&
		same(s.InstanceType, n.InstanceType) && (s.Node == "" || s.Node == n.Name) && endsWith(n.ProviderID, s.ProviderID)
}

func same(want, got string) bool { return want == "" || strings.EqualFold(want, got) }

// endsWith: a row may name a whole provider id, or its end where that is
// unmistakable: an instance id of AWS, or a path of several parts. Numbers of
// scale sets ("3") are not. Azure writes its ids in any case.
func endsWith(whole, want string) bool {
	if want == "" || strings.EqualFold(want, whole) {
		return true
	}
	return unmistakable(want) && strings.HasSuffix(strings.ToLower(whole), "/"+strings.ToLower(strings.TrimPrefix(want, "/")))
}

func unmistakable(id string) bool {
	return strings.HasPrefix(id, "i-") || strings.Contains(strings.Trim(id, "/"), "/")
}

// sells says whether a row for one way of buying prices a node bought in
// another.
func (s *Selector) sells(c Capacity) bool {
	if c == "" {
		c = OnDemand
	}
	return s.Capacity == "" || s.Capacity == c
}

// MatchModel says whether a model of a book means the card that NVML names:
// "A100-SXM4-80GB", "nvidia a100-sxm4-80gb" and "A100*" all mean
// "NVIDIA A100-SXM4-80GB".
func MatchModel(want, model string) bool {
	if model == "" {
		return false
	}
	return wild(plainModel(want), plainModel(model))
}

// plainModel is a model without its maker, in lower case, its words joined by
// hyphens: labels of GPU feature discovery have those in place of blanks.
func plainModel(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), "-")
	s = strings.TrimPrefix(s, "nvidia-")
	return strings.TrimPrefix(s, "tesla-")
}

// wild matches a text against a pattern in which "*" is any text.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, last)
}
