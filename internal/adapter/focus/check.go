// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/gputally/gputally/internal/core/money"
)

// Check returns an error that names the origin charge and the first thing that
// is not as FOCUS wants it; above all, that the parts are the whole.
func (s Split) Check() error {
	if err := s.Origin.check(); err != nil {
		return fmt.Errorf("origin charge %q: %w", s.Origin.ID, err)
	}
	if len(s.Rows) == 0 {
		return nil
	}
	if err := errors.Join(s.checkSums(), s.checkRows()); err != nil {
		return fmt.Errorf("split of origin charge %q: %w", s.Origin.ID, err)
	}
	return nil
}

func (o *Origin) check() error {
	if o.ID == "" {
		return errors.New("it has no id")
	}
	if err := o.Currency.Check(); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{
		{"billing account id", o.BillingAccountID}, {"billing account name", o.BillingAccountName},
		{"service provider", o.ServiceProvider}, {"service name", o.ServiceName}, {"description", o.Description},
	} {
		if f.value == "" {
			return fmt.Errorf("it has no %s, which FOCUS wants", f.name)
		}
	}
	for _, p := range []struct{ has, needs, hasName, needsName string }{
		{o.SubAccountID, o.SubAccountName, "sub account", "a name"},
		{o.RegionID, o.RegionName, "region", "a name"},
		{o.ResourceID, o.ResourceType, "resource", "a type"},
		{o.SkuPriceID, o.SkuID, "SKU price", "an SKU"},
		{o.SkuID, o.SkuMeter, "SKU", "a meter"},
	} {
		if p.has != "" && p.needs == "" {
			return fmt.Errorf("its %s %q has not %s", p.hasName, p.has, p.needsName)
		}
	}
	return errors.Join(o.checkTimes(), o.checkCategory())
}

func (o *Origin) checkTimes() error {
	for _, s := range []struct {
		name string
		span Span
	}{{"billing", o.Billing}, {"charge", o.Charge}} {
		if !s.span.End.After(s.span.Start) {
			return fmt.Errorf("its %s period from %s to %s has no length", s.name, stamp(s.span.Start), stamp(s.span.End))
		}
	}
	// FOCUS: a correction is of a period that was invoiced, so it is older than
	// the open one; any other charge falls into the period it is billed in.
	switch {
	case o.Correction && o.Charge.End.After(o.Billing.Start):
		return fmt.Errorf("a correction's charge period, to %s, must lie before the open billing period, from %s", stamp(o.Charge.End), stamp(o.Billing.Start))
	case !o.Correction && (o.Charge.Start.Before(o.Billing.Start) || o.Charge.End.After(o.Billing.End)):
		return fmt.Errorf("its charge period from %s lies outside its billing period from %s: book it as a correction", stamp(o.Charge.Start), stamp(o.Billing.Start))
	}
	return nil
}

func (o *Origin) checkCategory() error {
	switch o.Category {
	case Usage, Purchase:
		if !o.Correction && (o.Quantity == 0 || o.Unit == "" || o.SkuID == "" || o.SkuPriceID == "" || o.PricingCategory == "") {
			return fmt.Errorf("%s needs quantity (%s %q), SKU (%q, price %q) and pricing category (%q)", o.Category, o.Quantity, o.Unit, o.SkuID, o.SkuPriceID, o.PricingCategory)
		}
	case Tax:
		if o.Quantity != 0 || o.SkuID != "" || o.PricingCategory != "" {
			return errors.New("a tax has no quantity, SKU or pricing category")
		}
	case Credit, Adjustment:
	default:
		return fmt.Errorf("its category %q is none of FOCUS", o.Category)
	}
	if o.Category == Usage && o.Correction && o.Unit == "" {
		return errors.New("a correction of usage needs the unit of its quantity; one of costs only is an Adjustment")
	}
	if o.Quantity != 0 && o.Unit == "" {
		return fmt.Errorf("its quantity %s has no unit", o.Quantity)
	}
	return nil
}

// checkSums holds the law: the parts sum to the whole, in every column that can
// be summed.
func (s Split) checkSums() error {
	o := &s.Origin
	for _, c := range []struct {
		name  string
		whole money.Nano
		of    func(*Row) money.Nano
	}{
		{"EffectiveCost", o.Effective, func(r *Row) money.Nano { return r.Effective }},
		{"BilledCost", o.Billed, func(r *Row) money.Nano { return r.Billed }},
		{"ListCost", o.List, func(r *Row) money.Nano { return r.List }},
		{"ContractedCost", o.Contracted, func(r *Row) money.Nano { return r.Contracted }},
		{"PricingQuantity", money.Nano(o.Quantity), func(r *Row) money.Nano { return money.Nano(r.Quantity) }},
	} {
		var sum money.Sum
		for i := range s.Rows {
			sum.Add(c.of(&s.Rows[i]))
		}
		if got, err := sum.Nano(); err != nil || got != c.whole {
			return fmt.Errorf("%s of its %d allocated charges sums to %s, of the origin it is %s", c.name, len(s.Rows), sum, c.whole)
		}
	}
	var ratios, want money.Sum
	if !o.Moves {
		want.Add(money.Unit)
	}
	for _, r := range s.Rows {
		var parts money.Sum
		for _, e := range r.Elements {
			ratios.Add(money.Nano(e.Ratio))
			parts.Add(e.Amount)
		}
		if n, err := parts.Nano(); err != nil || n != r.Effective {
			return fmt.Errorf("the elements of %s sum to %s, its EffectiveCost is %s", r.name(), parts, r.Effective)
		}
	}
	if ratios != want {
		return fmt.Errorf("AllocatedRatio sums to %s, not to %s", ratios, want)
	}
	return nil
}

func (s Split) checkRows() error {
	if s.Origin.Method == "" {
		return errors.New("it has no method (AllocatedMethodId)")
	}
	seen := map[rowKey]bool{}
	for i := range s.Rows {
		r := &s.Rows[i]
		switch {
		case r.ResourceID == "" && r.ResourceName != "":
			return fmt.Errorf("%q has a name and no id", r.ResourceName)
		case r.ResourceID == "" && r.Detail.PlatformAccount == "":
			return fmt.Errorf("row %d belongs to no resource and no platform account", i+1)
		case len(r.Tags) > 0 && r.ResourceID == "":
			return fmt.Errorf("%s has tags, and is no resource", r.name())
		case slices.ContainsFunc(r.Elements, func(e Element) bool { return e.Used != "" && (e.Unit == "" || !number.MatchString(e.Used)) }):
			return fmt.Errorf("%s has an element whose use is no decimal number, or has no unit: %+v", r.name(), r.Elements)
		case !utf8.ValidString(r.ResourceID + r.ResourceName):
			return fmt.Errorf("%q is no UTF-8", r.ResourceName)
		}
		if k := r.key(); seen[k] && !s.Origin.Correction {
			return fmt.Errorf("%s is there twice", r.name())
		} else {
			seen[k] = true
		}
	}
	return nil
}

// number is a decimal number as JSON writes it.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// rowKey tells the rows of one origin apart.
type rowKey struct {
	resource, account, note, kind, gpu, partition string
}

func (r *Row) key() rowKey {
	return rowKey{r.ResourceID, r.Detail.PlatformAccount, r.Detail.Note, r.Detail.Kind, r.Detail.GPU, r.Detail.Partition}
}

func (r *Row) name() string {
	if r.ResourceID != "" {
		return fmt.Sprintf("the charge of %s (%s)", r.ResourceName, r.ResourceID)
	}
	return fmt.Sprintf("the charge of the account %s", r.Detail.PlatformAccount)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
