// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"fmt"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// readPolicy reads how prices are split. What is not given is the default's.
func readPolicy(o *strictyaml.Object, currency money.Currency) *pricing.Policy {
	before := o.Found()
	p := pricing.DefaultPolicy()
	if rule := o.Text("rule"); rule != "" {
		p.Rule = pricing.Rule(rule)
	}
	if o.Has("references") {
		p.References = nil
	}
	o.List("references", func(i int, item *strictyaml.Object) {
		p.References = append(p.References, readReference(item, i, currency))
	})
	o.Sub("ratio", func(r *strictyaml.Object) {
		p.Ratio = pricing.Ratio{GPU: r.Decimal("gpu"), CPU: r.Decimal("cpu"), Memory: r.Decimal("memory")}
	})
	o.List("gpu_rates", func(_ int, item *strictyaml.Object) {
		p.GPURates = append(p.GPURates, pricing.ModelRate{Model: item.Text("model"), Hourly: item.AmountOr0("gpu_hour"), Currency: orElse(item.Currency("currency"), currency)})
		if !item.Has("gpu_hour") {
			item.Add(item.Line, item.At("gpu_hour"), "is missing: give the price of a GPU-hour")
		}
	})
	if err := p.Check(); err != nil && o.Found() == before {
		o.Add(o.Line, o.Path, "%v", err)
	}
	return &p
}

// readReference reads the price of CPU and memory: as two prices, or as two
// nodes without GPUs that they follow from.
func readReference(o *strictyaml.Object, i int, currency money.Currency) pricing.Reference {
	ref := pricing.Reference{Name: o.Text("name"), Currency: orElse(o.Currency("currency"), currency), VCPU: o.AmountOr0("vcpu_hour"), GiB: o.AmountOr0("gib_hour")}
	if ref.Name == "" {
		ref.Name = fmt.Sprintf("reference %d", i+1)
	}
	var nodes []pricing.CPUNode
	o.List("pair", func(_ int, n *strictyaml.Object) {
		nodes = append(nodes, pricing.CPUNode{VCPU: n.Count("vcpu", 1, 1<<20), GiB: n.Count("memory_gib", 1, 1<<20), Hourly: n.AmountOr0("node_hour")})
	})
	switch {
	case !o.Has("pair"):
		return ref
	case len(nodes) != 2 || o.Has("vcpu_hour") || o.Has("gib_hour"):
		o.Add(o.Line, o.Path, "give either vcpu_hour and gib_hour, or a pair of two nodes")
		return ref
	}
	solved, err := pricing.ReferenceOf(ref.Name, ref.Currency, nodes[0], nodes[1])
	if err != nil {
		o.Add(o.Line, o.At("pair"), "%v", err)
	}
	return solved
}

func orElse(c, fallback money.Currency) money.Currency {
	if c == "" {
		return fallback
	}
	return c
}
