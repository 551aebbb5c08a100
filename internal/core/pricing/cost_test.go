// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

func TestNodeCostCheck(t *testing.T) {
	sound := func() NodeCost {
		return NodeCost{Node: "n", StartMS: 3_600_000, DurationMS: 3_600_000, Priced: true, Currency: "USD", Total: 10,
			Slots: []SlotCost{{"a", 3}, {"b", 3}}, CPU: 3, Memory: 1}
	}
	if c := sound(); c.Check() != nil {
		t.Fatal(c.Check())
	}
	for want, spoil := range map[string]func(*NodeCost){
		"sum to":          func(c *NodeCost) { c.CPU++ },
		"without a price": func(c *NodeCost) { c.Priced = false },
		"not after":       func(c *NodeCost) { c.Slots[1].Slot = "a" },
		"no piece":        func(c *NodeCost) { c.StartMS += 1 },
		"no piece of":     func(c *NodeCost) { c.DurationMS = 0 },
		"parts sum":       func(c *NodeCost) { c.Total = money.Nano(-10) },
	} {
		c := sound()
		spoil(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
