// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// kind is the type of a column.
type kind int

const (
	text kind = iota
	decimal
	instant
)

// column is one column; exactly one of its functions is set, by its kind. A nil
// amount, an empty text is null.
type column struct {
	name   string
	kind   kind
	text   func(*charge) string
	amount func(*charge) *money.Nano
	time   func(*charge) time.Time
}

// charge is one row to be written: an origin, whole (row is nil) or a part.
type charge struct {
	*Origin
	row *Row
}

func (c *charge) costs() Costs {
	if c.row != nil {
		return c.row.Costs
	}
	return c.Costs
}

func (c *charge) quantity() *money.Nano {
	if c.Unit == "" {
		return nil
	}
	q := money.Nano(c.Quantity)
	if c.row != nil {
		q = money.Nano(c.row.Quantity)
	}
	return &q
}

func txt(name string, of func(*charge) string) column { return column{name: name, text: of} }

func num(name string, of func(*charge) *money.Nano) column {
	return column{name: name, kind: decimal, amount: of}
}

func cost(name string, of func(Costs) money.Nano) column {
	return num(name, func(c *charge) *money.Nano { n := of(c.costs()); return &n })
}

func at(name string, of func(*charge) time.Time) column {
	return column{name: name, kind: instant, time: of}
}

// part is a text that only parts of a split have.
func part(name string, of func(*Origin, *Row) string) column {
	return txt(name, func(c *charge) string {
		if c.row == nil {
			return ""
		}
		return of(c.Origin, c.row)
	})
}

func detail(name string, of func(*Detail) string) column {
	return part(name, func(_ *Origin, r *Row) string { return of(&r.Detail) })
}

// columns are FOCUS 1.3's in alphabetical order, then ours. Left out are those
// of commitments and of unit prices: gputally publishes no price list, and a
// part's unit price times its quantity would not be its cost to the last digit.
var columns = []column{
	part("AllocatedMethodDetails", func(_ *Origin, r *Row) string { return methodDetails(r) }),
	part("AllocatedMethodId", func(o *Origin, _ *Row) string { return o.Method }),
	part("AllocatedResourceId", func(_ *Origin, r *Row) string { return r.ResourceID }),
	part("AllocatedResourceName", func(_ *Origin, r *Row) string { return r.ResourceName }),
	part("AllocatedTags", func(o *Origin, r *Row) string { return tagsJSON(without(r.Tags, o.Tags)) }),
	txt("AvailabilityZone", func(c *charge) string { return c.Zone }),
	cost("BilledCost", func(c Costs) money.Nano { return c.Billed }),
	txt("BillingAccountId", func(c *charge) string { return c.BillingAccountID }),
	txt("BillingAccountName", func(c *charge) string { return c.BillingAccountName }),
	txt("BillingCurrency", func(c *charge) string { return string(c.Currency) }),
	at("BillingPeriodEnd", func(c *charge) time.Time { return c.Billing.End }),
	at("BillingPeriodStart", func(c *charge) time.Time { return c.Billing.Start }),
	txt("ChargeCategory", func(c *charge) string { return string(c.Category) }),
	txt("ChargeClass", func(c *charge) string {
		if c.Correction {
			return "Correction"
		}
		return ""
	}),
	txt("ChargeDescription", func(c *charge) string { return c.Description }),
	txt("ChargeFrequency", func(c *charge) string { return c.frequency() }),
	at("ChargePeriodEnd", func(c *charge) time.Time { return c.Charge.End }),
	at("ChargePeriodStart", func(c *charge) time.Time { return c.Charge.Start }),
	num("ConsumedQuantity", func(c *charge) *money.Nano {
		if c.Category != Usage {
			return nil
		}
		return c.quantity()
	}),
	txt("ConsumedUnit", func(c *charge) string {
		if c.Category != Usage {
			return ""
		}
		return c.Unit
	}),
	cost("ContractedCost", func(c Costs) money.Nano { return c.Contracted }),
	cost("EffectiveCost", func(c Costs) money.Nano { return c.Effective }),
	txt("HostProviderName", func(c *charge) string { return cmp.Or(c.HostProvider, c.ServiceProvider) }),
	txt("InvoiceId", func(c *charge) string { return c.InvoiceID }),
	txt("InvoiceIssuerName", func(c *charge) string { return cmp.Or(c.InvoiceIssuer, c.ServiceProvider) }),
	cost("ListCost", func(c Costs) money.Nano { return c.List }),
	txt("PricingCategory", func(c *charge) string { return c.PricingCategory }),
	num("PricingQuantity", (*charge).quantity),
	txt("PricingUnit", func(c *charge) string { return c.Unit }),
	txt("ProviderName", func(c *charge) string { return c.ServiceProvider }),
	txt("PublisherName", func(c *charge) string { return cmp.Or(c.Publisher, c.ServiceProvider) }),
	txt("RegionId", func(c *charge) string { return c.RegionID }),
	txt("RegionName", func(c *charge) string { return c.RegionName }),
	txt("ResourceId", func(c *charge) string { return c.ResourceID }),
	txt("ResourceName", func(c *charge) string { return c.ResourceName }),
	txt("ResourceType", func(c *charge) string { return c.ResourceType }),
	txt("ServiceCategory", func(c *charge) string { return c.serviceCategory() }),
	txt("ServiceName", func(c *charge) string { return c.ServiceName }),
	txt("ServiceProviderName", func(c *charge) string { return c.ServiceProvider }),
	txt("ServiceSubcategory", func(c *charge) string { return c.serviceSubcategory() }),
	txt("SkuId", func(c *charge) string { return c.SkuID }),
	txt("SkuMeter", func(c *charge) string { return c.SkuMeter }),
	txt("SkuPriceDetails", func(c *charge) string { return c.skuDetails() }),
	txt("SkuPriceId", func(c *charge) string { return c.SkuPriceID }),
	txt("SubAccountId", func(c *charge) string { return c.SubAccountID }),
	txt("SubAccountName", func(c *charge) string { return c.SubAccountName }),
	txt("Tags", func(c *charge) string { return tagsJSON(c.Tags) }),

	detail("x_Cluster", func(d *Detail) string { return d.Cluster }),
	txt("x_CorrectionReason", func(c *charge) string { return c.Reason }),
	detail("x_GpuModel", func(d *Detail) string { return d.GPUModel }),
	detail("x_GpuUuid", func(d *Detail) string { return d.GPU }),
	detail("x_Grade", func(d *Detail) string { return d.Grade }),
	detail("x_Kind", func(d *Detail) string { return d.Kind }),
	detail("x_Namespace", func(d *Detail) string { return d.Namespace }),
	detail("x_Node", func(d *Detail) string { return d.Node }),
	txt("x_OriginChargeId", func(c *charge) string { return c.ID }),
	detail("x_Partition", func(d *Detail) string { return d.Partition }),
	detail("x_PlatformAccount", func(d *Detail) string { return d.PlatformAccount }),
	detail("x_PlatformAccountNote", func(d *Detail) string { return d.Note }),
	detail("x_PodName", func(d *Detail) string { return d.Pod }),
	txt("x_Policy", func(c *charge) string { return c.Price.Policy }),
	txt("x_PriceGrade", func(c *charge) string { return c.Price.Grade }),
	txt("x_PriceRevision", func(c *charge) string { return c.Price.Revision }),
	txt("x_PriceRow", func(c *charge) string { return c.Price.Row }),
	txt("x_PriceSource", func(c *charge) string { return c.Price.Source }),
	txt("x_PriceSplit", func(c *charge) string { return c.Price.Split }),
	detail("x_SharingMode", func(d *Detail) string { return d.SharingMode }),
	detail("x_WorkloadKind", func(d *Detail) string { return d.WorkloadKind }),
	detail("x_WorkloadName", func(d *Detail) string { return d.Workload }),
}

// Columns are the names of all columns in their order.
func Columns() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

func (o *Origin) frequency() string {
	switch {
	case o.Frequency != "":
		return o.Frequency
	case o.Category == Usage:
		return "Usage-Based"
	}
	return "One-Time"
}

func (o *Origin) serviceCategory() string { return cmp.Or(o.ServiceCategory, "Compute") }

func (o *Origin) serviceSubcategory() string {
	if o.ServiceSubcategory != "" {
		return o.ServiceSubcategory
	}
	switch category := o.serviceCategory(); category {
	case "Compute":
		return "Virtual Machines"
	case "Other":
		return "Other (Other)"
	default:
		return "Other (" + category + ")"
	}
}

// skuDetails has FOCUS's own keys; it needs a SKU price to be about.
func (o *Origin) skuDetails() string {
	if o.SkuPriceID == "" || o.InstanceType == "" && o.GPUCount == 0 {
		return ""
	}
	return marshal(struct {
		GPUCount     int64  `json:"GpuCount,omitempty"`
		InstanceType string `json:"InstanceType,omitempty"`
	}{o.GPUCount, o.InstanceType})
}

// methodDetails is AllocatedMethodDetails: ratios as exact decimals.
func methodDetails(r *Row) string {
	type element struct {
		Ratio json.Number `json:"AllocatedRatio"`
		Unit  string      `json:"UsageUnit,omitempty"`
		Used  json.Number `json:"UsageQuantity,omitempty"`
	}
	var d struct {
		Elements []element `json:"Elements"`
	}
	for _, e := range r.Elements {
		d.Elements = append(d.Elements, element{json.Number(plainNumber(money.Nano(e.Ratio))), e.Unit, json.Number(e.Used)})
	}
	return marshal(d)
}

// plainNumber is the decimal without trailing zeros.
func plainNumber(n money.Nano) string {
	return strings.TrimSuffix(strings.TrimRight(n.String(), "0"), ".")
}

// without is the tags less those that the origin has, too.
func without(tags, origin map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if o, same := origin[k]; !same || o != v {
			out[k] = v
		}
	}
	return out
}

// tagsJSON is an object with its keys in order; no tags are null.
func tagsJSON(tags map[string]string) string {
	if len(tags) == 0 {
		return ""
	}
	return marshal(tags)
}

func marshal(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // a bad number: checked before
	}
	return strings.TrimSuffix(b.String(), "\n")
}
