// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Conversion is a rate at which an operator has amounts of one currency turned into
// another, from a time until before another. Nothing is ever converted at a rate that
// nobody stated. It holds for all books and bills.
type Conversion struct {
	// Rate units of Into are one of Currency.
	Currency, Into money.Currency
	Rate           *big.Rat
	From, To       int64 // Unix milliseconds, whole hours of UTC; To 0 is until further notice
	// Source says whose rate it is.
	Source string
}

// Check returns an error that says what is wrong with it.
func (c *Conversion) Check() error {
	for _, code := range []money.Currency{c.Currency, c.Into} {
		if code == "" {
			return errors.New("it needs two currencies: currency is converted into the currency of into")
		}
		if err := code.Check(); err != nil {
			return err
		}
	}
	switch {
	case c.Currency == c.Into:
		return fmt.Errorf("it converts %s into itself", c.Currency)
	case c.Rate == nil || c.Rate.Sign() <= 0:
		return fmt.Errorf("it needs a rate above 0: how many %s one %s is", c.Into, c.Currency)
	case c.From%hourMS != 0 || c.To%hourMS != 0:
		return errors.New("it must begin and end with an hour of UTC: hours are priced whole")
	case c.To != 0 && c.To <= c.From:
		return fmt.Errorf("it ends on %s, before it begins on %s", day(c.To), day(c.From))
	}
	return nil
}

// at says whether it holds for a moment.
func (c *Conversion) at(ms int64) bool { return ms >= c.From && (c.To == 0 || ms < c.To) }

// CheckConversion returns an error where one cannot stand behind others of its book:
// two rates for one currency at one time.
func CheckConversion(others []Conversion, c *Conversion) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range others {
		if b := &others[i]; b.Currency == c.Currency && (b.at(c.From) || c.at(b.From)) {
			return fmt.Errorf("there are two rates for %s at one time, %s and %s: end the one where the other begins", c.Currency, decimal(b.Rate), decimal(c.Rate))
		}
	}
	return nil
}

func checkConversions(all []Conversion) error {
	for i := range all {
		if err := CheckConversion(all[:i], &all[i]); err != nil {
			return fmt.Errorf("conversion %d: %w", i+1, err)
		}
	}
	return nil
}

// conversion is the rate stated for a currency at a moment: that of the first book
// that has one.
func (p *Prices) conversion(of money.Currency, ms int64) *Conversion {
	for _, b := range p.books {
		for i := range b.Convert {
			if c := &b.Convert[i]; c.Currency == of && c.at(ms) {
				return c
			}
		}
	}
	return nil
}

// convert turns a cost into the currency that its own is converted into, if it is.
// Each part is multiplied by the rate and rounded once, half to even; the total is
// their sum. What was converted is not converted again.
func (p *Prices) convert(cost *NodeCost) error {
	if !cost.Priced {
		return nil
	}
	c := p.conversion(cost.Currency, cost.StartMS)
	if c == nil {
		return nil
	}
	parts := []*money.Nano{&cost.CPU, &cost.Memory}
	for i := range cost.Slots {
		parts = append(parts, &cost.Slots[i].Cost)
	}
	var sum money.Sum
	for _, n := range parts {
		var err error
		if *n, err = c.of(*n); err != nil {
			return err
		}
		sum.Add(*n)
	}
	var err error
	if cost.Total, err = sum.Nano(); err != nil {
		return err
	}
	cost.Currency = c.Into
	cost.Basis.Notes = append(slices.Clone(cost.Basis.Notes), c.note(cost.Basis.Hourly))
	cost.Basis.Hourly, err = c.of(cost.Basis.Hourly)
	return err
}

func (c *Conversion) of(n money.Nano) (money.Nano, error) {
	return Rate(new(big.Rat).Mul(nanos(n), c.Rate))
}

// note says at which rate an hourly price was converted.
func (c *Conversion) note(hourly money.Nano) string {
	text := fmt.Sprintf("%s %s per hour, converted at %s %s per %s", hourly, c.Currency, decimal(c.Rate), c.Into, c.Currency)
	if c.Source != "" {
		text += ": " + c.Source
	}
	return text
}

// decimal writes a rate as it was stated: with the places that it has.
func decimal(r *big.Rat) string {
	text := r.FloatString(30)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
