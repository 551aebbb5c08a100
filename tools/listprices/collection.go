// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// seen is one price on one day.
type seen struct {
	of
	node, gpu *money.Nano
	day       int64
	source    string
}

// of is what a price is for.
type of struct {
	provider, region, instanceType, model string
	currency                              money.Currency
}

// change is a day on which a seller changed the prices, in one currency, of
// types that begin with a prefix.
type change struct {
	provider, prefix string
	currency         money.Currency
	day              int64
}

// collection is everything that was read.
type collection struct {
	prices  []seen
	shapes  map[[2]string]pricing.Shape // by provider and instance type
	changes []change
}

func (c *collection) shape(provider, instanceType string, s pricing.Shape) {
	if c.shapes == nil {
		c.shapes = map[[2]string]pricing.Shape{}
	}
	c.shapes[[2]string{provider, instanceType}] = s
}

// rows are the prices as rows of the list, in order, without those in doubt.
func (c *collection) rows() (rows []pricing.Row, dropped []pricing.DoubtfulRow) {
	byWhat := map[of][]seen{}
	for _, p := range c.prices {
		byWhat[p.of] = append(byWhat[p.of], p)
	}
	for _, prices := range byWhat {
		rows = append(rows, c.history(prices)...)
	}
	slices.SortFunc(rows, func(a, b pricing.Row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Region, b.Region), cmp.Compare(a.From, b.From))
	})
	dropped = pricing.Doubts(&pricing.Book{Rows: rows}, pricing.SanityRules{NeedSource: true})
	doubtful := map[int]bool{}
	for _, d := range dropped {
		doubtful[d.Place] = true
	}
	var kept []pricing.Row
	for i, r := range rows {
		if !doubtful[i] {
			kept = append(kept, r)
		}
	}
	return kept, dropped
}

// history turns what was seen of one price into rows, one for each time it
// changed. The price is taken to hold from the day it was first seen until the
// day on which it changed, or, where that is not known, another was seen. The
// first one has no beginning: it was in effect when it was first seen, unless a
// change is known to lie before that. The last one ends where a change is known
// and the new price is not.
func (c *collection) history(prices []seen) (rows []pricing.Row) {
	slices.SortStableFunc(prices, func(a, b seen) int { return cmp.Compare(a.day, b.day) })
	for _, p := range prices {
		last := len(rows) - 1
		if last >= 0 && equal(rows[last].Price.Node, p.node) && equal(rows[last].Price.GPU, p.gpu) {
			rows[last].Retrieved = p.day
			rows[last].Source = p.source
			continue
		}
		row := pricing.Row{
			Selector: pricing.Selector{Provider: p.provider, Region: p.region, InstanceType: p.instanceType, Model: p.model, Capacity: pricing.OnDemand},
			Currency: p.currency, Price: pricing.Price{Node: p.node, GPU: p.gpu, HostIncluded: p.gpu != nil},
			Shape: c.shapes[[2]string{p.provider, p.instanceType}], FirstSeen: p.day, Retrieved: p.day, Source: p.source,
		}
		if last >= 0 {
			rows[last].To = c.changed(p, rows[last].Retrieved, p.day)
			row.From = rows[last].To
		} else {
			row.From = c.changed(p, 0, 0)
			if row.From > p.day {
				row.From = 0
			}
		}
		rows = append(rows, row)
	}
	newest := &rows[len(rows)-1]
	if known := c.changed(prices[len(prices)-1], 0, 0); known > newest.Retrieved {
		newest.To = known
	}
	for i := range rows {
		rows[i].ID = listprices.ID(&rows[i])
	}
	return rows
}

// changed is the day of a known change of the price in (after, until], else
// until. Without an until it is the last one known, or 0.
func (c *collection) changed(p seen, after, until int64) int64 {
	day := until
	for _, ch := range c.changes {
		if ch.provider == p.provider && ch.currency == p.currency && strings.HasPrefix(p.instanceType, ch.prefix) && ch.day > after && (until == 0 || ch.day <= until) {
			day = ch.day
		}
	}
	return day
}

func equal(a, b *money.Nano) bool { return a == b || a != nil && b != nil && *a == *b }

func parseDay(text string) (int64, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, fmt.Errorf("%q is no day: %w", text, err)
	}
	return t.UnixMilli(), nil
}
