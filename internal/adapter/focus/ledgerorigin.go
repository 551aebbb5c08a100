// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// sellers are how FOCUS exports of the clouds name themselves and what they sell
// machines as, by pricing.ProviderOf.
var sellers = map[string]struct{ provider, service string }{
	"aws":   {"AWS", "Amazon Elastic Compute Cloud"},
	"gcp":   {"Google Cloud", "Compute Engine"},
	"azure": {"Microsoft", "Virtual Machines"},
}

func (e *exporter) provider(name string) string {
	return cmp.Or(sellers[name].provider, name, e.Account.Provider, "unknown")
}

func (e *exporter) account(o Origin, cluster string) Origin {
	o.BillingAccountID = cmp.Or(e.Account.ID, "gputally")
	o.BillingAccountName = cmp.Or(e.Account.Name, o.BillingAccountID)
	o.SubAccountID, o.SubAccountName = cluster, cluster
	return o
}

// origin is the charge of a piece, without its costs. The basis is that of the
// line that speaks last.
func (e *exporter) origin(p place, last *ledger.Line) Origin {
	node, _ := e.piece(p)
	provider := cmp.Or(node.Provider, pricing.ProviderOf(node.ProviderID))
	o := e.account(Origin{
		ID:      fmt.Sprintf("%s/%s/%s/%d/%s", p.Cluster, p.Node, stamp(spanOf(p.startMS, 1).Start), p.durationMS, p.currency),
		Billing: monthSpan(ledger.MonthOf(p.startMS)), Charge: spanOf(p.startMS, p.durationMS), Currency: p.currency,
		Category: Usage, PricingCategory: pricingCategory(node), Quantity: hoursOf(p.durationMS), Unit: "Hours",
		ServiceProvider: e.provider(provider), ServiceName: cmp.Or(sellers[provider].service, "GPU nodes"),
		ResourceID: cmp.Or(node.ProviderID, p.Cluster+"/"+p.Node), ResourceName: p.Node, ResourceType: "Instance",
		RegionID: node.Region, RegionName: node.Region, Zone: node.Zone,
		SkuID: cmp.Or(node.InstanceType, "gpu-node"), SkuMeter: "Instance Hours", InstanceType: node.InstanceType, GPUCount: int64(len(node.Slots)),
		Method: "gputally-1: " + last.Policy,
		Price:  Price{Policy: last.Policy, Grade: string(last.Price)},
	}, p.Cluster)
	o.Description = "GPU node " + p.Node
	if node.InstanceType != "" {
		o.Description += " (" + node.InstanceType + ")"
	}
	if b := last.Basis; b != nil {
		o.Price.Source, o.Price.Row, o.Price.Revision, o.Price.Split = b.Source, b.Row, b.Revision, b.Split
	}
	o.SkuPriceID = cmp.Or(strings.Trim(o.Price.Source+"/"+o.Price.Row, "/"), "unknown")
	if p.Cluster != "" {
		o.Tags = map[string]string{"cluster": p.Cluster}
	}
	return o
}

// hoursOf is milliseconds in billionths of an hour, to the nearest.
func hoursOf(ms int64) Quantity { return Quantity((ms*2500 + 4) / 9) }

// pricingCategory is FOCUS's word for how the node was bought.
func pricingCategory(n pricing.Node) string {
	switch cmp.Or(n.Capacity, pricing.CapacityOf(n.Labels)) {
	case pricing.Spot:
		return "Dynamic"
	case pricing.Reserved:
		return "Committed"
	}
	return "Standard"
}

// piece is the node as it was, and what it has, as far as is known.
func (e *exporter) piece(p place) (node pricing.Node, cost pricing.NodeCost) {
	r := e.nodes[p.NodeHour]
	if r == nil {
		return node, cost
	}
	for i := range r.Nodes {
		if at := &r.Nodes[i]; at.FromMS <= p.startMS && p.startMS < at.ToMS {
			node = at.Node
		}
	}
	for i := range r.Costs {
		if c := &r.Costs[i]; c.StartMS <= p.startMS && p.startMS < c.StartMS+c.DurationMS {
			cost = *c
		}
	}
	return node, cost
}

// splits is what lines of a piece come to: the charges above 0, and those below,
// each nil where there is none. They are two origin charges, since the parts of
// one have one sign.
func (e *exporter) splits(p place, lines []*ledger.Line) (out [2]*Split) {
	if len(lines) == 0 {
		return out
	}
	last := lines[0]
	for _, l := range lines {
		if l.Booking > last.Booking || l.Booking == last.Booking && l.Step == ledger.Booked {
			last = l
		}
	}
	_, cost := e.piece(p)
	rows := rowsOf(lines, e.Pods, &cost)
	for sign, signed := range [2][]Row{only(rows, false), only(rows, true)} {
		if len(signed) == 0 {
			continue
		}
		s := &Split{Origin: e.origin(p, last), Rows: signed}
		if sign == 1 {
			s.Origin.ID += "/credit"
		}
		var sum money.Nano
		for i := range signed {
			sum += signed[i].Effective
		}
		s.Origin.Costs = Costs{sum, sum, sum, sum}
		out[sign] = s
	}
	return out
}

// only is the rows with those of their elements that are below 0, or are not. One
// of 0 goes with the rest of its row.
func only(rows []Row, negative bool) (out []Row) {
	for _, r := range rows {
		one := r
		one.Elements, one.Costs = nil, Costs{}
		for _, e := range r.Elements {
			if below := e.Amount < 0 || e.Amount == 0 && r.Effective < 0; below == negative {
				one.Elements = append(one.Elements, e)
				one.Effective += e.Amount
			}
		}
		if len(one.Elements) > 0 {
			out = append(out, one)
		}
	}
	return out
}
