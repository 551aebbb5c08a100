// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// readPolicy reads how prices are split. What is not given is the default's.
func readPolicy(o *object, currency money.Currency) *pricing.Policy {
	before := len(o.found)
	p := pricing.DefaultPolicy()
	if rule := o.text("rule"); rule != "" {
		p.Rule = pricing.Rule(rule)
	}
	if o.has("references") {
		p.References = nil
	}
	o.list("references", func(i int, item *object) { p.References = append(p.References, readReference(item, i, currency)) })
	o.sub("ratio", func(r *object) {
		p.Ratio = pricing.Ratio{GPU: r.decimal("gpu"), CPU: r.decimal("cpu"), Memory: r.decimal("memory")}
	})
	o.list("gpu_rates", func(_ int, item *object) {
		p.GPURates = append(p.GPURates, pricing.ModelRate{Model: item.text("model"), Hourly: item.amountOr0("gpu_hour"), Currency: orElse(item.currency("currency"), currency)})
		if !item.has("gpu_hour") {
			item.add(item.line, item.at("gpu_hour"), "is missing: give the price of a GPU-hour")
		}
	})
	if err := p.Check(); err != nil && len(o.found) == before {
		o.add(o.line, o.path, "%v", err)
	}
	return &p
}

// readReference reads the price of CPU and memory: as two prices, or as two
// nodes without GPUs that they follow from.
func readReference(o *object, i int, currency money.Currency) pricing.Reference {
	ref := pricing.Reference{Name: o.text("name"), Currency: orElse(o.currency("currency"), currency), VCPU: o.amountOr0("vcpu_hour"), GiB: o.amountOr0("gib_hour")}
	if ref.Name == "" {
		ref.Name = fmt.Sprintf("reference %d", i+1)
	}
	var nodes []pricing.CPUNode
	o.list("pair", func(_ int, n *object) {
		nodes = append(nodes, pricing.CPUNode{VCPU: n.count("vcpu", 1, 1<<20), GiB: n.count("memory_gib", 1, 1<<20), Hourly: n.amountOr0("node_hour")})
	})
	switch {
	case !o.has("pair"):
		return ref
	case len(nodes) != 2 || o.has("vcpu_hour") || o.has("gib_hour"):
		o.add(o.line, o.path, "give either vcpu_hour and gib_hour, or a pair of two nodes")
		return ref
	}
	solved, err := pricing.ReferenceOf(ref.Name, ref.Currency, nodes[0], nodes[1])
	if err != nil {
		o.add(o.line, o.at("pair"), "%v", err)
	}
	return solved
}

func orElse(c, fallback money.Currency) money.Currency {
	if c == "" {
		return fallback
	}
	return c
}
