// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
)

// Comparison is the same price under one rule.
type Comparison struct {
	Rule  Rule
	Parts HourParts
	// Used is the rule that was used in the end: another one where the rule
	// cannot split this price, as Notes say.
	Used  Rule
	Notes []string
}

// HourParts are the parts of an hourly price. They sum to it.
type HourParts struct{ GPUs, CPU, Memory money.Nano }

// SplitAll splits the price of an hour of a node by every rule, side by side.
// The hourly price is that on demand, in the currency given. A rule whose
// parameters the policy lacks is left out.
func SplitAll(policy Policy, n *Node, hourly money.Nano, currency money.Currency) ([]Comparison, error) {
	ready, err := n.ready()
	if err != nil {
		return nil, err
	}
	var out []Comparison
	for _, rule := range Rules() {
		one := policy
		one.Rule = rule
		if one.Check() != nil {
			continue
		}
		s := one.splitBy(&ready, &hourly, currency)
		c := Comparison{Rule: rule, Used: s.rule, Notes: s.notes}
		if err := c.Parts.of(hourly, &s.weights); err != nil {
			return nil, fmt.Errorf("split %s by %s: %w", hourly, rule, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (p *HourParts) of(hourly money.Nano, w *weights) error {
	slots, cpu, memory, err := w.apportion(hourly)
	if err != nil {
		return err
	}
	p.CPU, p.Memory = cpu, memory
	for _, s := range slots {
		p.GPUs += s // parts of an amount that fits: their sum does, too
	}
	return nil
}
