// SPDX-License-Identifier: Apache-2.0

package policyfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/pricing"
)

// SplitBy is how prices are split: by the price book's own policy (nil: it says
// nothing, and the default counts), with this policy's rule in place of its rule
// where this one names one. A rule may need parameters that the book lacks.
func (f *File) SplitBy(book *pricing.Policy) (pricing.Policy, error) {
	out := pricing.DefaultPolicy()
	if book != nil {
		out = *book
	}
	if f.Split != "" {
		out.Rule = f.Split
	}
	if err := out.Check(); err != nil {
		return out, fmt.Errorf("%w; its parameters belong into the split section of the price book", err)
	}
	return out, nil
}

func checkRule(r pricing.Rule) error {
	if slices.Contains(pricing.Rules(), r) {
		return nil
	}
	names := make([]string, 0, len(pricing.Rules()))
	for _, known := range pricing.Rules() {
		names = append(names, string(known))
	}
	return fmt.Errorf("%q is no rule; write one of %s", string(r), strings.Join(names, ", "))
}
