// SPDX-License-Identifier: Apache-2.0

package focusrules

// defects are rules of model 1.2 whose machine form does not say what their own
// text says. They are not evaluated, and listed as such.
var defects = map[string]string{
	"BilledCost-C-005-C":                   "any difference between provider and invoice issuer counts as a payment to a third party",
	"CommitmentDiscountQuantity-C-007-C":   "asks corrections for null, which C-006 leaves free",
	"CommitmentDiscountStatus-C-003-C":     "asks for a value where the text asks for null",
	"CommitmentDiscountStatus-C-004-C":     "asks for a value where there is no commitment discount, the text where there is one",
	"CommitmentDiscountStatus-C-005-M":     "its values are not those of FOCUS (Used, Unused)",
	"ConsumedQuantity-C-006-C":             "applies to corrections, the text to all other charges",
	"EffectiveCost-C-005-C":                "asks every purchase for 0, the text those that cover future charges",
	"InvoiceId-C-004-C":                    "asks every row for null: its condition is not in the model",
	"InvoiceId-C-005-C":                    "asks every row for a value: its condition is not in the model",
	"PricingCurrencyEffectiveCost-C-004-M": "looks at another column",
}
