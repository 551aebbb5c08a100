// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"cmp"
	"fmt"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// curFormat reads AWS CUR 2.0 as Data Exports writes it.
func curFormat(has map[string]bool) (*shape, error) {
	err := need(has, "AWS CUR 2.0", "bill_billing_period_start_date", "bill_billing_period_end_date", "line_item_currency_code",
		"line_item_line_item_type", "line_item_unblended_cost", "line_item_usage_start_date", "line_item_usage_end_date")
	return &shape{name: "AWS CUR 2.0", lines: curLines, wants: []want{
		{[]string{"line_item_resource_id"}, "nothing in line_item_resource_id: no line can be given to a machine. Export with INCLUDE_RESOURCES"},
	}}, err
}

// curTypes are AWS's line item types: the category of each, and how its
// amortised cost is computed. Others cost what they are billed.
var curTypes = map[string]struct {
	category  bill.Category
	effective func(*cells) money.Nano
}{
	"Usage":                    {bill.Usage, curBilled},
	"DiscountedUsage":          {bill.Usage, curNet("reservation_net_effective_cost", "reservation_effective_cost")},
	"SavingsPlanCoveredUsage":  {bill.Usage, curNet("savings_plan_net_savings_plan_effective_cost", "savings_plan_savings_plan_effective_cost")},
	"SavingsPlanNegation":      {bill.Adjustment, curNothing},
	"SavingsPlanUpfrontFee":    {bill.Purchase, curNothing},
	"SavingsPlanRecurringFee":  {bill.Purchase, curUnusedPlan},
	"RIFee":                    {bill.Purchase, curUnusedReservation},
	"Fee":                      {bill.Purchase, curFee},
	"Tax":                      {bill.Tax, curBilled},
	"Credit":                   {bill.Credit, curBilled},
	"Refund":                   {bill.Adjustment, curBilled},
	"BundledDiscount":          {bill.Adjustment, curBilled},
	"EdpDiscount":              {bill.Adjustment, curBilled},
	"PrivateRateDiscount":      {bill.Adjustment, curBilled},
	"RiVolumeDiscount":         {bill.Adjustment, curBilled},
	"SppDiscount":              {bill.Adjustment, curBilled},
	"Discount":                 {bill.Adjustment, curBilled},
	"DistributorDiscount":      {bill.Adjustment, curBilled},
	"MigrationDiscount":        {bill.Adjustment, curBilled},
	"CapacityReservationUsage": {bill.Usage, curBilled},
}

func curLines(c *cells) []bill.Line {
	l := bill.Line{
		Provider: "AWS", Payer: c.text("bill_payer_account_id"), Account: c.text("line_item_usage_account_id"),
		Resource: c.text("line_item_resource_id"), InstanceType: c.text("product_instance_type"),
		Currency: c.currency("line_item_currency_code"),
		Service:  c.first("product_servicecode", "line_item_product_code"), SKU: c.text("product_sku"),
		Region: c.first("product_region_code", "product_region"), Description: c.text("line_item_line_item_description"),
		Usage:  c.quantity("line_item_usage_amount", "pricing_unit"),
		List:   c.optional("pricing_public_on_demand_cost"),
		Period: bill.Period{StartMS: c.instant("bill_billing_period_start_date"), EndMS: c.instant("bill_billing_period_end_date")},
	}
	if len(c.problems) == 0 && l.Period.Check() != nil {
		c.wrong("bill_billing_period_end_date", "the billing period ends before it begins")
	}
	c.charge(&l, "line_item_usage_start_date", "line_item_usage_end_date")
	if parent := c.text("split_line_item_parent_resource_id"); parent != "" {
		return []bill.Line{curSplit(c, l, parent)}
	}
	billed := curBilled(c)
	l.Billed = &billed
	curCharge(c, &l)
	l.Part = bill.PartOfUsageType(c.text("line_item_usage_type"))
	l.Instance = bill.OfResource(bill.Named{ID: l.Resource})
	if l.Instance == "" {
		l.Part = ""
	}
	return []bill.Line{l}
}

// curCharge sets category and amortised cost by the line item type.
func curCharge(c *cells, l *bill.Line) {
	name := c.text("line_item_line_item_type")
	t, known := curTypes[name]
	if !known {
		c.note(fmt.Sprintf("line item type %q is not known: its lines are adjustments at what they are billed", name))
		t.category, t.effective = bill.Adjustment, curBilled
	}
	l.Category, l.Effective = t.category, t.effective(c)
	if (l.Category == bill.Usage || l.Category == bill.Purchase) && (isSupport(l.Service) || isSupport(c.text("line_item_product_code"))) {
		l.Category = bill.Support
	}
}

// curSplit is a line of AWS's split cost allocation: what a pod or task used of
// a machine whose own lines are in the bill, too.
func curSplit(c *cells, l bill.Line, parent string) bill.Line {
	l.Category, l.List = bill.Usage, nil
	l.SplitOf = bill.Instance(cmp.Or(string(bill.OfResource(bill.Named{ID: parent})), parent))
	for _, pair := range [][2]string{
		{"split_line_item_net_split_cost", "split_line_item_split_cost"},
		{"split_line_item_net_unused_cost", "split_line_item_unused_cost"},
	} {
		column := pair[0]
		if c.text(column) == "" {
			column = pair[1]
		}
		if n := c.optional(column); n != nil {
			l.Effective = c.sum(column, l.Effective, *n)
		}
	}
	return l
}

// curBilled is what the line is billed: after discounts where the export tells
// it, since the discounts' own lines are 0 then.
func curBilled(c *cells) money.Nano {
	return curNet("line_item_net_unblended_cost", "line_item_unblended_cost")(c)
}

func curNet(net, gross string) func(*cells) money.Nano {
	return func(c *cells) money.Nano {
		if c.text(net) != "" {
			return c.amount(net)
		}
		return c.amount(gross)
	}
}

func curNothing(*cells) money.Nano { return 0 }

// curFee: a reservation's fee is spread over what it covers; any other fee is
// what it is.
func curFee(c *cells) money.Nano {
	if c.text("reservation_reservation_a_r_n") != "" {
		return 0
	}
	return curBilled(c)
}

// curUnusedPlan is the part of the commitment that nothing used.
func curUnusedPlan(c *cells) money.Nano {
	return c.sum("savings_plan_used_commitment", c.amount("savings_plan_total_commitment_to_date"), -c.amount("savings_plan_used_commitment"))
}

// curUnusedReservation is the part of the reservation that nothing used.
func curUnusedReservation(c *cells) money.Nano {
	return c.sum("reservation_unused_recurring_fee", c.amount("reservation_unused_amortized_upfront_fee_for_billing_period"), c.amount("reservation_unused_recurring_fee"))
}
