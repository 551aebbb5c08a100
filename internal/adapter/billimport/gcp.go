// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// gcpFormat reads GCP's detailed billing export, table
// gcp_billing_export_resource_v1_…, as JSON or as CSV with the nested fields
// named service.id or service_id and the arrays as JSON.
func gcpFormat(has map[string]bool) (*shape, error) {
	f := &shape{name: "GCP detailed export", lines: gcpLines, wants: []want{
		{[]string{"credits"}, "nothing in credits: discounts and credits are not in these costs. Export the column, in CSV as TO_JSON_STRING(credits)"},
		{[]string{"resource_name", "resource_global_name"}, "nothing in resource.name and resource.global_name: no line can be given to a machine. Use the detailed export"},
	}}
	return f, need(has, f.name, "cost", "currency", "invoice.month", "usage_start_time", "usage_end_time")
}

func gcpLines(c *cells) []bill.Line {
	l := bill.Line{
		Provider: "Google Cloud", Payer: c.text("billing_account_id"), Account: c.first("project_id", "project_number"),
		Resource: c.first("resource_global_name", "resource_name"),
		Currency: c.currency("currency"),
		Service:  c.text("service_description"), SKU: c.text("sku_id"), Region: c.first("location_region", "location_location"),
		Description: c.text("sku_description"),
		Usage:       c.quantity("usage_amount", "usage_unit"), Pricing: c.quantity("usage_amount_in_pricing_units", "usage_pricing_unit"),
		List:   c.optional("cost_at_list"),
		Period: gcpPeriod(c),
	}
	c.charge(&l, "usage_start_time", "usage_end_time")
	cost := c.amount("cost")
	l.Contracted = &cost
	priced, apart := gcpCredits(c)
	effective := c.sum("cost", cost, priced)
	l.Effective, l.Billed = effective, &effective
	l.Category = gcpCategory(c, &l)
	gcpMachine(c, &l)
	if apart == 0 {
		return []bill.Line{l}
	}
	credit := l
	credit.Category, credit.Effective, credit.Billed = bill.Credit, apart, &apart
	credit.List, credit.Contracted, credit.Usage, credit.Pricing = nil, nil, bill.Quantity{}, bill.Quantity{}
	return []bill.Line{l, credit}
}

// gcpPeriod is the invoice month, "202609".
func gcpPeriod(c *cells) bill.Period {
	t, err := time.Parse("200601", c.text("invoice_month"))
	if err != nil {
		c.wrong("invoice_month", "write the month as 202609")
		return bill.Period{}
	}
	return bill.Month(t.Year(), t.Month())
}

func gcpCategory(c *cells, l *bill.Line) bill.Category {
	switch t := c.text("cost_type"); t {
	case "", "regular":
		switch {
		case isSupport(l.Service):
			return bill.Support
		case strings.HasPrefix(l.Description, "Commitment"):
			return bill.Purchase
		}
		return bill.Usage
	case "tax":
		return bill.Tax
	case "adjustment", "rounding_error":
		return bill.Adjustment
	default:
		c.note("cost type " + strconv.Quote(t) + " is not known: its lines are adjustments")
		return bill.Adjustment
	}
}

func gcpMachine(c *cells, l *bill.Line) {
	l.Instance = bill.OfResource(bill.Named{
		ID: c.text("resource_global_name"), Name: c.text("resource_name"), Project: c.text("project_id"), Zone: c.text("location_zone"),
	})
	if l.Instance == "" {
		return
	}
	l.Part = bill.PartOfSKU(l.Description)
	for _, label := range gcpLabels(c) {
		if label.Key == "compute.googleapis.com/machine_spec" {
			l.InstanceType = label.Value
		}
	}
}

type gcpLabel struct{ Key, Value string }

func gcpLabels(c *cells) (labels []gcpLabel) {
	text := c.text("system_labels")
	if text == "" || json.Unmarshal([]byte(text), &labels) != nil {
		return nil
	}
	return labels
}

// gcpPriced are the credits that are a lower price of the line itself. All
// others stay apart: promotions, free tiers, and committed use discounts, whose
// fee stands on lines of its own that name no machine. Taking the discount
// without the fee would make the machine free.
var gcpPriced = map[string]bool{"DISCOUNT": true, "SUSTAINED_USAGE_DISCOUNT": true, "SUBSCRIPTION_BENEFIT": true}

// gcpCredits sums the row's credits: those that belong to its price, and the
// others.
func gcpCredits(c *cells) (priced, apart money.Nano) {
	text := c.text("credits")
	if text == "" {
		return 0, 0
	}
	var credits []struct {
		Type   string
		Amount json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &credits); err != nil {
		c.wrong("credits", "write the credits as JSON, as TO_JSON_STRING(credits) does: %s", err)
		return 0, 0
	}
	for _, credit := range credits {
		amount := unnull(strings.Trim(string(credit.Amount), `"`))
		n, rounded, err := amountOf(amount)
		if err != nil {
			c.wrong("credits", "amount %q: %s", amount, err)
			return 0, 0
		}
		if rounded {
			c.count("credits", amount)
		}
		if gcpPriced[credit.Type] {
			priced = c.sum("credits", priced, n)
		} else {
			apart = c.sum("credits", apart, n)
		}
	}
	return priced, apart
}
