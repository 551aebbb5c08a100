// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// priceOf is what a node and one of its devices cost in a whole hour, nil where the
// piece is not a whole hour, has no price, or has cards of several prices.
func priceOf(c *pricing.NodeCost) *advice.Price {
	if !c.Priced || c.DurationMS != 3_600_000 || len(c.Slots) == 0 {
		return nil
	}
	// Slots of one price differ by a billionth, where it does not divide.
	least := c.Slots[0].Cost
	for _, s := range c.Slots {
		if d := s.Cost - least; d < -1 || d > 1 {
			return nil
		}
		least = min(least, s.Cost)
	}
	ref := c.Basis.Source
	if c.Basis.Row != "" {
		ref += " " + c.Basis.Row
	}
	return &advice.Price{Currency: string(c.Currency), DeviceHour: money.Nano(least), NodeHour: c.Total, Ref: ref, Split: c.Basis.Split, Grade: string(c.Basis.Grade)}
}
