// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
)

// MoneyClass says whose money a change saves.
type MoneyClass string

// The classes. Only Cash and Avoidable make an invoice smaller.
const (
	Cash      MoneyClass = "cash"
	Avoidable MoneyClass = "avoidable"
	Capacity  MoneyClass = "capacity"
	Enabler   MoneyClass = "enabler"
	NoMoney   MoneyClass = "none"
)

// Money is what a change does in a month of MonthHours, in three figures that
// are never added: the tenant's charge, the platform's capacity, the invoice.
type Money struct {
	Currency string `json:"currency"`
	// ChargeDelta is by how much the workload's charge falls, nil where only a
	// rating of the recorded windows under the change can tell.
	ChargeDelta *money.Nano `json:"charge_delta"`
	// ChargeNote says which hours were divided again for it, or why it is not known.
	// Empty: the price of what changes is the charge, and nothing had to be divided.
	ChargeNote string `json:"charge_note,omitempty"`
	// FreedIdle can be handed out again, FreedStranded cannot. Below 0 the
	// account shrinks, as idle does with a node that goes.
	FreedIdle     money.Nano `json:"freed_idle"`
	FreedStranded money.Nano `json:"freed_stranded"`
	// CashLow is by the worst day, CashMean by all of them.
	CashLow  money.Nano `json:"cash_low"`
	CashMean money.Nano `json:"cash_mean"`
	// Avoidable is what need not be bought, by how long pods waited for it.
	Avoidable money.Nano `json:"avoidable,omitempty"`
	Class     MoneyClass `json:"class"`
	PriceRef  string     `json:"price_ref,omitempty"`
	Split     string     `json:"split,omitempty"`
	Grade     string     `json:"grade,omitempty"`
}

// Price is what the device that a workload has costs. It serves a workload with
// a whole device or MIG instance of its own for all of the time, under basis
// held: its charge is the price of the slices then. Under another policy the
// caller divides recorded hours again and replaces ChargeDelta (package counterfactual).
type Price struct {
	Currency string
	// DeviceHour and NodeHour are for an hour.
	DeviceHour money.Nano
	NodeHour   money.Nano
	Ref        string // the row of the price book
	Split      string // how the node's price was divided
	Grade      string // listed or billed
}

// month is an hourly amount in a month.
func month(hourly money.Nano) (money.Nano, error) {
	out := hourly * MonthHours
	if out/MonthHours != hourly {
		return 0, fmt.Errorf("a month at %s an hour is too large an amount", hourly)
	}
	return out, nil
}

// part is num/den of an amount, by the division that the ledger uses.
func part(total money.Nano, num, den int64) (money.Nano, error) {
	if num < 0 || den < num {
		return 0, fmt.Errorf("divide %s: %d of %d is no part", total, num, den)
	}
	parts, err := money.ApportionInts(total, num, den-num)
	if err != nil {
		return 0, err
	}
	return parts[0], nil
}

// money is money without figures under a price.
func (p *Price) money(class MoneyClass) *Money {
	return &Money{Currency: p.Currency, Class: class, PriceRef: p.Ref, Split: p.Split, Grade: p.Grade}
}

// Times is the money of n of the same.
func (m *Money) Times(n int64) (*Money, error) {
	var sum *Money
	for range n {
		var err error
		if sum, err = sum.Plus(m); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// Plus is the money of two changes of one kind together; nil is none yet. A charge
// that is not known in one of them is not known of both, and neither is money in two
// currencies.
func (m *Money) Plus(o *Money) (*Money, error) {
	if m == nil {
		out := *o
		return &out, nil
	}
	if m.Currency != o.Currency {
		return nil, fmt.Errorf("add %s to %s", o.Currency, m.Currency)
	}
	out := *m
	if m.ChargeDelta == nil || o.ChargeDelta == nil {
		out.ChargeDelta = nil
	} else {
		out.ChargeDelta = new(money.Nano)
		*out.ChargeDelta = *m.ChargeDelta
	}
	for _, f := range []struct {
		to   *money.Nano
		more *money.Nano
	}{{out.ChargeDelta, o.ChargeDelta}, {&out.FreedIdle, &o.FreedIdle}, {&out.FreedStranded, &o.FreedStranded},
		{&out.CashLow, &o.CashLow}, {&out.CashMean, &o.CashMean}, {&out.Avoidable, &o.Avoidable}} {
		if f.to == nil {
			continue
		}
		var sum money.Sum
		sum.Add(*f.to)
		sum.Add(*f.more)
		var err error
		if *f.to, err = sum.Nano(); err != nil {
			return nil, err
		}
	}
	return &out, nil
}
