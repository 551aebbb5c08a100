// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// The hours behind prices that are not per hour. A price per month is one for
// 730 hours, a twelfth of 8760, whatever the month: so do clouds quote it.
const (
	HoursOfMonth = 730
	HoursOfYear  = 8760
)

const hourMS = 3_600_000

// Rate is an exact number of billionths per hour as a whole number of them,
// rounded half to even. Rates are rounded here and nowhere else, once, before
// anything is computed with them: from then on all arithmetic is exact, and
// what a whole hour costs is the rate itself.
func Rate(nanos *big.Rat) (money.Nano, error) {
	whole, rest := new(big.Int).DivMod(nanos.Num(), nanos.Denom(), new(big.Int))
	up := rest.Lsh(rest, 1).Cmp(nanos.Denom())
	if up > 0 || up == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	if !whole.IsInt64() {
		return 0, errors.New("the price is too large")
	}
	return money.Nano(whole.Int64()), nil
}

// PerHour is a price for so many hours as a price per hour.
func PerHour(amount money.Nano, hours int64) (money.Nano, error) {
	if hours <= 0 {
		return 0, fmt.Errorf("a price of %s for %d hours: the hours must be above 0", amount, hours)
	}
	return Rate(big.NewRat(int64(amount), hours))
}

// plainNumber bounds what ParseRate reads, so that no text makes it work long.
var plainNumber = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$`)

// ParseRate reads a price per hour that may be finer than a billionth, as
// generated files have them ("3.95625e-05", "88.4899999025753").
func ParseRate(text string) (money.Nano, error) {
	units, ok := new(big.Rat), plainNumber.MatchString(text)
	if ok {
		_, ok = units.SetString(text)
	}
	if !ok {
		return 0, fmt.Errorf("read price %q: write a decimal number, such as 21.957642", text)
	}
	n, err := Rate(units.Mul(units, new(big.Rat).SetInt64(int64(money.Unit))))
	if err != nil {
		return 0, fmt.Errorf("read price %q: %w", text, err)
	}
	return n, nil
}

// portion is the part of an amount that falls on the first ms of total ms.
// What a piece costs is a difference of two, so that however a time is cut, its
// pieces sum to the amount.
func portion(amount money.Nano, ms, total int64) (money.Nano, error) {
	switch {
	case ms <= 0:
		return 0, nil
	case ms >= total:
		return amount, nil
	}
	parts, err := money.ApportionInts(amount, ms, total-ms)
	if err != nil {
		return 0, err
	}
	return parts[0], nil
}

// day prints the UTC day of a moment, with the time where it is not midnight.
func day(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	if ms%(24*hourMS) == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}
