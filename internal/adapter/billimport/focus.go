// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/gputally/gputally/internal/core/bill"
)

// focusFormat reads FOCUS 1.0 to 1.3. The version is told by the columns that
// it introduced.
func focusFormat(has map[string]bool) (*shape, error) {
	version := "1.0"
	for _, v := range []struct{ version, column string }{{"1.1", "skumeter"}, {"1.2", "invoiceid"}, {"1.3", "serviceprovidername"}} {
		if has[v.column] {
			version = v.version
		}
	}
	err := need(has, "FOCUS", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd", "EffectiveCost")
	return &shape{name: "FOCUS " + version, lines: focusLines, wants: []want{
		{[]string{"resourceid"}, "nothing in ResourceId: no line can be given to a machine"},
	}}, err
}

func focusLines(c *cells) []bill.Line {
	l := bill.Line{
		Payer: c.text("billingaccountid"), Account: c.text("subaccountid"),
		Provider: c.first("serviceprovidername", "providername"),
		Resource: c.text("resourceid"),
		Currency: c.currency("billingcurrency"),
		Service:  c.text("servicename"), SKU: c.first("skuid", "skupriceid"),
		Region: c.first("regionid", "regionname"), Description: c.text("chargedescription"),
		Usage: c.quantity("consumedquantity", "consumedunit"), Pricing: c.quantity("pricingquantity", "pricingunit"),
		Effective: c.amount("effectivecost"),
		Billed:    c.optional("billedcost"), List: c.optional("listcost"), Contracted: c.optional("contractedcost"),
		Correction: c.text("chargeclass") == "Correction",
		Period:     bill.Period{StartMS: c.instant("billingperiodstart"), EndMS: c.instant("billingperiodend")},
	}
	if len(c.problems) == 0 && l.Period.Check() != nil {
		c.wrong("billingperiodend", "the billing period ends before it begins at %s", c.text("billingperiodstart"))
	}
	c.charge(&l, "chargeperiodstart", "chargeperiodend")
	l.Category = focusCategory(c, l.Service)
	focusMachine(c, &l)
	return []bill.Line{l}
}

func focusCategory(c *cells, service string) bill.Category {
	category := bill.Category(c.text("chargecategory"))
	switch category {
	case bill.Usage, bill.Purchase:
		if isSupport(service) {
			return bill.Support
		}
	case bill.Tax, bill.Credit, bill.Adjustment:
	default:
		c.wrong("chargecategory", "write one of Usage, Purchase, Tax, Credit, Adjustment")
	}
	return category
}

// focusMachine finds out which machine the line pays for, and what of it.
func focusMachine(c *cells, l *bill.Line) {
	compute := strings.EqualFold(c.text("servicecategory"), "Compute")
	switch usageType := c.text("x_usagetype"); {
	case usageType != "":
		l.Part = bill.PartOfUsageType(usageType)
	case strings.Contains(strings.ToLower(l.Provider), "google"):
		l.Part = bill.PartOfSKU(cmp.Or(c.text("x_skudescription"), l.Description))
	case compute:
		l.Part = bill.PartOfUnit(cmp.Or(l.Pricing.Unit, l.Usage.Unit), l.Description)
	default:
		l.Part = bill.Other
	}
	l.Instance = bill.OfResource(bill.Named{
		ID: l.Resource, Name: c.text("resourcename"), Project: l.Account, Zone: c.text("availabilityzone"),
		Machine: compute && l.Part.OfMachine(),
	})
	l.InstanceType = instanceTypeOf(c.text("skupricedetails"))
	if l.Instance == "" {
		l.Part = ""
	}
}

// instanceTypeOf is the key InstanceType of SkuPriceDetails.
func instanceTypeOf(details string) string {
	if !strings.Contains(details, "InstanceType") {
		return ""
	}
	var d struct {
		InstanceType  string `json:"InstanceType"`
		XInstanceType string `json:"x_InstanceType"`
	}
	if json.Unmarshal([]byte(details), &d) != nil {
		return ""
	}
	return cmp.Or(d.InstanceType, d.XInstanceType)
}
