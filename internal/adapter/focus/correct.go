// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"fmt"
	"slices"
)

// Style is how a correction is booked.
type Style string

// The styles of FOCUS: the differences, or the old rows taken back and the new
// ones booked.
const (
	Delta  Style = "delta"
	Ledger Style = "ledger"
)

// Correct books the change of a split whose billing period is closed, in the
// open one: another allocation, another price, or both. The closed period stays
// as it is; with the correction added, every resource has what it should have.
// Both splits are of the same origin charge.
func Correct(was, is Split, open Span, style Style, reason string) (Split, error) {
	was, err := was.Complete()
	if err == nil {
		is, err = is.Complete()
	}
	if err != nil {
		return Split{}, err
	}
	a, b := &was.Origin, &is.Origin
	if a.ID != b.ID || a.Currency != b.Currency || a.Charge != b.Charge || a.Unit != b.Unit {
		return Split{}, fmt.Errorf("correct origin charge %q: the corrected charge %q is another one (%s from %s, before %s from %s)",
			a.ID, b.ID, b.Currency, stamp(b.Charge.Start), a.Currency, stamp(a.Charge.Start))
	}
	out := Split{Origin: late(*b, open, reason)}
	out.Origin.Moves = true
	out.Origin.Costs = b.Costs.minus(a.Costs)
	out.Origin.Quantity = b.Quantity - a.Quantity
	for _, r := range was.Rows {
		out.Rows = append(out.Rows, r.negated())
	}
	out.Rows = append(out.Rows, is.Rows...)
	if style == Delta {
		out.Rows = netted(out.Rows)
	}
	return out, nil
}

// Late books a charge that was not known when its billing period was closed.
func Late(s Split, open Span, reason string) Split {
	s.Origin = late(s.Origin, open, reason)
	return s
}

// Drift books a difference of costs alone, such as one of rounding, that no
// single charge has: about one SKU price if the charge names it (itemised),
// about several if not (bulk). The charge gives the dimensions; its period is
// the one the difference arose in.
func Drift(about Origin, id string, costs Costs, open Span, reason string) Split {
	o := late(about, open, reason)
	o.ID, o.Costs, o.Category = id, costs, Adjustment
	o.Quantity, o.Unit, o.Method = 0, "", ""
	o.ResourceID, o.ResourceName, o.ResourceType = "", "", ""
	if o.SkuPriceID == "" {
		o.SkuID, o.SkuMeter, o.InstanceType, o.GPUCount = "", "", "", 0
	}
	return Split{Origin: o}
}

func late(o Origin, open Span, reason string) Origin {
	o.Correction, o.Billing, o.Reason, o.InvoiceID = true, open, reason, ""
	return o
}

func (c Costs) minus(o Costs) Costs {
	return Costs{c.Billed - o.Billed, c.Effective - o.Effective, c.List - o.List, c.Contracted - o.Contracted}
}

func (r Row) negated() Row {
	r.Costs = Costs{}.minus(r.Costs)
	r.Quantity = -r.Quantity
	r.Elements = slices.Clone(r.Elements)
	for i := range r.Elements {
		e := &r.Elements[i]
		e.Amount, e.Ratio, e.Used = -e.Amount, -e.Ratio, ""
	}
	return r
}

// netted adds up the rows of the same resource and leaves out what did not
// change.
func netted(rows []Row) (out []Row) {
	place := map[rowKey]int{}
	for _, r := range rows {
		k := r.key()
		at, found := place[k]
		if !found {
			place[k] = len(out)
			out = append(out, r)
			continue
		}
		sum := out[at]
		sum.Costs = Costs{sum.Billed + r.Billed, sum.Effective + r.Effective, sum.List + r.List, sum.Contracted + r.Contracted}
		sum.Quantity += r.Quantity
		sum.Elements = addElements(sum.Elements, r.Elements)
		sum.Tags, sum.ResourceName, sum.Detail = r.Tags, r.ResourceName, r.Detail
		out[at] = sum
	}
	return slices.DeleteFunc(out, func(r Row) bool {
		return r.Costs == Costs{} && r.Quantity == 0 && !slices.ContainsFunc(r.Elements, Element.moves)
	})
}

func (e Element) moves() bool { return e.Amount != 0 || e.Ratio != 0 }

func addElements(to, add []Element) []Element {
	to = slices.Clone(to)
	for _, e := range add {
		e.Used = "" // a difference of uses is no use
		i := slices.IndexFunc(to, func(o Element) bool { return o.Unit == e.Unit })
		if i < 0 {
			to = append(to, e)
			continue
		}
		to[i].Amount += e.Amount
		to[i].Ratio += e.Ratio
	}
	return slices.DeleteFunc(to, func(e Element) bool { return !e.moves() })
}
