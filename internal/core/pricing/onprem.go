// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"

	"github.com/gputally/gputally/internal/core/money"
)

// OnPrem is the formula of a node that was bought:
//
//	(purchase − residual) / life + power × PUE × tariff + fixed
//
// per hour of the wall clock, whether the node is used or not. Divided by used
// hours instead, idle time would hide in the rate, and the rate would change
// with every idle hour.
type OnPrem struct {
	Purchase money.Nano // what the node cost, network and racks included if they are to be paid back
	Residual money.Nano // what it is worth at the end of its life
	// LifeHours is the life in hours of the wall clock: years × 8760.
	LifeHours int64
	// PowerKW is the mean power drawn at the plug, in kilowatts; PUE the
	// building's draw over the machines'. Nil is 0 and 1.
	PowerKW, PUE *big.Rat
	TariffKWh    money.Nano // price of a kilowatt-hour
	FixedMonth   money.Nano // rent, support, staff, … per month of 730 hours
}

// Hourly is the price of an hour, rounded once.
func (o OnPrem) Hourly() (money.Nano, error) {
	if err := o.check(); err != nil {
		return 0, fmt.Errorf("on-prem formula: %w", err)
	}
	sum := new(big.Rat).Sub(nanos(o.Purchase), nanos(o.Residual))
	sum.Quo(sum, new(big.Rat).SetInt64(o.LifeHours))
	if o.PowerKW != nil {
		energy := new(big.Rat).Mul(o.PowerKW, nanos(o.TariffKWh))
		if o.PUE != nil {
			energy.Mul(energy, o.PUE)
		}
		sum.Add(sum, energy)
	}
	sum.Add(sum, new(big.Rat).Quo(nanos(o.FixedMonth), big.NewRat(HoursOfMonth, 1)))
	return Rate(sum)
}

func (o OnPrem) check() error {
	switch {
	case o.LifeHours <= 0:
		return fmt.Errorf("the life is %d hours: it must be above 0", o.LifeHours)
	case o.Purchase < 0 || o.Residual < 0 || o.TariffKWh < 0 || o.FixedMonth < 0:
		return fmt.Errorf("no amount may be negative")
	case o.Residual > o.Purchase:
		return fmt.Errorf("the residual value %s is above the purchase price %s", o.Residual, o.Purchase)
	case o.PowerKW != nil && o.PowerKW.Sign() < 0:
		return fmt.Errorf("the power is negative")
	case o.PUE != nil && o.PUE.Cmp(big.NewRat(1, 1)) < 0:
		return fmt.Errorf("a PUE of %s is below 1: a building draws at least what its machines draw", o.PUE.FloatString(3))
	}
	return nil
}

// nanos is an amount as an exact number of billionths.
func nanos(n money.Nano) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }
