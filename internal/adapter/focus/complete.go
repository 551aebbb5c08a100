// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// Split is a charge and the rows it was split into.
type Split struct {
	Origin Origin
	Rows   []Row
}

// Complete fills in what follows from the effective costs: each element's ratio,
// each row's part of the quantity and of those costs that no row tells. All are
// apportioned, so that they sum to the whole exactly. It changes no amount that
// is there, and works on copies.
func (s Split) Complete() (Split, error) {
	out := Split{Origin: s.Origin, Rows: slices.Clone(s.Rows)}
	if len(out.Rows) == 0 || s.Origin.Moves {
		return out, nil
	}
	fail := func(err error) (Split, error) {
		return Split{}, fmt.Errorf("split of origin charge %q: %w", s.Origin.ID, err)
	}
	for i := range out.Rows {
		r := &out.Rows[i]
		r.Elements = slices.Clone(r.Elements)
		if len(r.Elements) == 0 {
			r.Elements = []Element{{Amount: r.Effective}}
		}
		if r.ResourceID != "" && r.ResourceName == "" {
			r.ResourceName = r.ResourceID
		}
	}
	weights, err := out.weights()
	if err != nil {
		return fail(err)
	}
	ratios, err := money.Apportion(money.Unit, weights)
	if err != nil {
		return fail(err)
	}
	perRow := make([]*big.Rat, len(out.Rows))
	n := 0
	for i := range out.Rows {
		perRow[i] = new(big.Rat)
		for j := range out.Rows[i].Elements {
			out.Rows[i].Elements[j].Ratio = Quantity(ratios[n])
			perRow[i].Add(perRow[i], weights[n])
			n++
		}
	}
	if err := out.share(perRow); err != nil {
		return fail(err)
	}
	return out, nil
}

// weights are the elements' amounts without their sign, which must be the same
// for all. Where all are 0 the elements weigh the same.
func (s Split) weights() ([]*big.Rat, error) {
	var weights []*big.Rat
	sign := 0
	for _, r := range s.Rows {
		for _, e := range r.Elements {
			w := new(big.Rat).SetInt64(int64(e.Amount))
			if w.Sign() != 0 && sign != 0 && w.Sign() != sign {
				return nil, fmt.Errorf("the allocated charges have different signs: book what is given back as a correction")
			}
			if w.Sign() != 0 {
				sign = w.Sign()
			}
			weights = append(weights, w.Abs(w))
		}
	}
	if sign == 0 {
		for _, w := range weights {
			w.SetInt64(1)
		}
	}
	return weights, nil
}

// share gives each row its part of the quantity, and of the costs that no row
// tells.
func (s Split) share(weights []*big.Rat) error {
	for _, c := range []struct {
		whole int64
		of    func(*Row) *int64
	}{
		{int64(s.Origin.Quantity), func(r *Row) *int64 { return (*int64)(&r.Quantity) }},
		{int64(s.Origin.Billed), func(r *Row) *int64 { return (*int64)(&r.Billed) }},
		{int64(s.Origin.List), func(r *Row) *int64 { return (*int64)(&r.List) }},
		{int64(s.Origin.Contracted), func(r *Row) *int64 { return (*int64)(&r.Contracted) }},
	} {
		told := slices.ContainsFunc(s.Rows, func(r Row) bool { return *c.of(&r) != 0 })
		if told || c.whole == 0 {
			continue
		}
		parts, err := money.Apportion(money.Nano(c.whole), weights)
		if err != nil {
			return err
		}
		for i := range s.Rows {
			*c.of(&s.Rows[i]) = int64(parts[i])
		}
	}
	return nil
}
