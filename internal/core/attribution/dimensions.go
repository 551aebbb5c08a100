// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gputally/gputally/internal/core/workload"
)

// MaxCostLabels is how many labels of a pod may be cost dimensions,
// MaxCostLabelBytes how much of a value is kept. Kubernetes lets a label have 63
// bytes; what is longer is an annotation, and is cut before the first character
// that does not fit.
const (
	MaxCostLabels     = 16
	MaxCostLabelBytes = 256
)

// DefaultCostLabels are those that people commonly charge by.
func DefaultCostLabels() []string {
	return []string{"team", "project", "cost-center", "environment", "app.kubernetes.io/name", "app.kubernetes.io/part-of"}
}

// CheckCostLabels finds what a list of keys may not have: more than
// MaxCostLabels, a key twice, one that no label or annotation can have.
func CheckCostLabels(keys []string) error {
	if len(keys) > MaxCostLabels {
		return fmt.Errorf("%d keys are more than %d", len(keys), MaxCostLabels)
	}
	for i, key := range keys {
		switch {
		case !isLabelKey(key):
			return fmt.Errorf("%q is no key of a label: write NAME or DOMAIN/NAME of letters, digits, '-', '_' and '.'", key)
		case slices.Contains(keys[:i], key):
			return fmt.Errorf("%q is there twice", key)
		}
	}
	return nil
}

// isLabelKey is Kubernetes' rule for keys (apimachinery's IsQualifiedName), less
// where letters and digits must stand.
func isLabelKey(key string) bool {
	domain, name, ok := strings.Cut(key, "/")
	if !ok {
		domain, name = "-", key
	}
	return domain != "" && len(domain) <= 253 && name != "" && len(name) <= 63 && onlyKeyRunes(domain) && onlyKeyRunes(name)
}

func onlyKeyRunes(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// costLabels are the values of the keys that are cost dimensions: the pod's
// label, else its annotation. One that is empty says nothing.
func (p Policy) costLabels(pod workload.Pod) (out map[string]string) {
	keys := p.CostLabels
	if keys == nil {
		keys = defaultCostLabels
	}
	for _, key := range keys {
		value, ok := pod.Labels[key]
		if !ok {
			value = pod.Annotations[key]
		}
		if value = cut(value, MaxCostLabelBytes); value == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

var defaultCostLabels = DefaultCostLabels()

// cut is the beginning of a text, of whole characters.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
