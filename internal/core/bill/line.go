// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
)

// Line is one line of a bill, in one shape for all providers.
type Line struct {
	// Source is the id the operator gave to where the bill comes from, such as
	// one export of one payer account. Period is the billing period the line is
	// billed in, which need not be the one its charge fell into.
	Source string `json:"source"`
	Period Period `json:"period"`
	// Row finds the line again in the file.
	Row Row `json:"row"`

	// Payer is the account that is billed, Account the one that used (an AWS
	// account, a GCP project, an Azure subscription).
	Payer    string `json:"payer,omitempty"`
	Account  string `json:"account,omitempty"`
	Provider string `json:"provider,omitempty"`

	// Resource is what the bill names; Instance is the machine this is, "" for
	// what is none: a volume, a bucket, a tax.
	Resource     string   `json:"resource,omitempty"`
	Instance     Instance `json:"instance,omitempty"`
	InstanceType string   `json:"instance_type,omitempty"`
	// Part is what of the machine the line pays for.
	Part Part `json:"part,omitempty"`
	// SplitOf is set on a provider's own split-cost lines, which tell the money
	// of that machine's lines once more, by pod. They are never added to it.
	SplitOf Instance `json:"split_of,omitempty"`

	// The charge fell into [StartMS, EndMS).
	StartMS int64 `json:"start_ms"`
	EndMS   int64 `json:"end_ms"`

	// Effective is the amortised cost: a commitment's price is spread over what
	// it covers. The others are nil where the bill does not tell them.
	Effective  money.Nano     `json:"effective"`
	Billed     *money.Nano    `json:"billed,omitempty"`
	List       *money.Nano    `json:"list,omitempty"`
	Contracted *money.Nano    `json:"contracted,omitempty"`
	Currency   money.Currency `json:"currency"`

	Category Category `json:"category"`
	// Correction marks a change of an earlier, invoiced period.
	Correction bool `json:"correction,omitempty"`

	Service     string `json:"service,omitempty"`
	SKU         string `json:"sku,omitempty"`
	Region      string `json:"region,omitempty"`
	Description string `json:"description,omitempty"`

	Usage   Quantity `json:"usage"`
	Pricing Quantity `json:"pricing"`
}

// Row is a place in a bill's file. Number counts data rows from 1, the header
// not among them.
type Row struct {
	File   string `json:"file"`
	Number int64  `json:"number"`
}

// String is "file row 7".
func (r Row) String() string { return fmt.Sprintf("%s row %d", r.File, r.Number) }

// Quantity is a decimal number as the bill writes it, with its unit. An empty
// amount is not told.
type Quantity struct {
	Amount string `json:"amount,omitempty"`
	Unit   string `json:"unit,omitempty"`
}

// Category is what kind of charge a line is: the five of FOCUS, and support,
// which providers book as usage or purchase of nothing one can touch.
type Category string

// The categories. All but Usage are kept apart and never spread silently over
// machines.
const (
	Usage      Category = "Usage"
	Purchase   Category = "Purchase"
	Tax        Category = "Tax"
	Credit     Category = "Credit"
	Adjustment Category = "Adjustment"
	Support    Category = "Support"
)

// Categories are all of them, in the order reports print them.
func Categories() []Category {
	return []Category{Usage, Purchase, Support, Adjustment, Credit, Tax}
}

// maxCharge is the longest charge period that is taken for real.
const maxCharge = 400 * 24 * hourMS

// Check returns an error that names the first thing about the line that cannot
// be: it stands before any sum.
func (l *Line) Check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("bill line at %s: %w", l.Row, fmt.Errorf(format, a...))
	}
	known := false
	for _, c := range Categories() {
		known = known || c == l.Category
	}
	switch {
	case l.Source == "":
		return bad("it has no source")
	case !known:
		return bad("category %q is none of %v", l.Category, Categories())
	case l.EndMS < l.StartMS:
		return bad("its charge period %s ends before it begins", Period{l.StartMS, l.EndMS})
	case l.EndMS-l.StartMS > maxCharge:
		return bad("its charge period %s is longer than 400 days", Period{l.StartMS, l.EndMS})
	case l.Currency.Check() != nil:
		return bad("%w", l.Currency.Check())
	case l.Period.Check() != nil:
		return bad("billing %w", l.Period.Check())
	}
	return nil
}
