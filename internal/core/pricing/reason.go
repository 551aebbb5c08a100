// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"slices"
	"strings"
)

// whyNot says why no book prices the node at a moment, and what would: a hole
// in the books is closed by whoever reads this.
func (c *candidates) whyNot(ms int64, reasons []string) string {
	n := c.node
	if Virtual(n.Labels) {
		return "the node is virtual: its pods are billed, not it"
	}
	if len(reasons) > 0 {
		return strings.Join(reasons, "; ")
	}
	for i, b := range c.of {
		for _, rows := range c.rows[i] {
			for _, r := range rows {
				if why := r.whyNot(n, ms); why != "" {
					return fmt.Sprintf("%s: row %s %s", b.Name, r.ID, why)
				}
			}
		}
	}
	if regions := c.elsewhere(); len(regions) > 0 {
		return fmt.Sprintf("no price of %s in region %q: there are prices for %s", n.InstanceType, n.Region, strings.Join(regions, ", "))
	}
	return "no price for " + n.describe()
}

// whyNot says why a row that chooses the node does not price it.
func (r *Row) whyNot(n *Node, ms int64) string {
	switch {
	case r.Price.Charge != nil:
		return "" // other hours of a bill explain nothing
	case !r.sells(n.Capacity):
		return fmt.Sprintf("is a price of %s capacity, and the node is %s", r.Capacity, orUnknown(string(n.Capacity)))
	case ms < r.From:
		return "begins on " + day(r.From)
	case r.To != 0 && ms >= r.To:
		return "ended on " + day(r.To)
	case r.Price.GPU != nil && len(n.Slots) == 0:
		return "prices GPUs, and none are known on the node"
	case r.Price.GPU == nil && len(n.Slots) > 0 && (r.Price.VCPU != nil || r.Price.GiB != nil):
		return "prices CPU and memory, and nothing prices the GPUs of the node"
	}
	return ""
}

// elsewhere are the regions, at most five, for which the instance type has a
// price.
func (c *candidates) elsewhere() (regions []string) {
	if c.node.InstanceType == "" {
		return nil
	}
	for _, b := range c.books {
		for _, i := range b.typed[strings.ToLower(c.node.InstanceType)] {
			if r := &b.Rows[i]; r.Region != "" && !slices.Contains(regions, r.Region) && same(r.Provider, c.node.Provider) {
				regions = append(regions, r.Region)
			}
		}
	}
	if len(regions) > 5 {
		regions = append(regions[:4:4], fmt.Sprintf("%d more", len(regions)-4))
	}
	return regions
}

// describe names what prices are found by.
func (n *Node) describe() string {
	parts := []string{"instance type " + orUnknown(n.InstanceType)}
	if n.Provider != "" || n.Region != "" {
		parts = append(parts, fmt.Sprintf("of %s in %s", orUnknown(n.Provider), orUnknown(n.Region)))
	}
	var models []string
	for _, s := range n.Slots {
		if !slices.Contains(models, s.Model) {
			models = append(models, s.Model)
		}
	}
	switch {
	case len(n.Slots) == 0:
		parts = append(parts, "without GPUs")
	default:
		parts = append(parts, fmt.Sprintf("with GPUs of model %s", orUnknown(strings.Join(models, ", "))))
	}
	return strings.Join(parts, " ") + ": add a row to the price book, by label, instance type or model"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
