// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

var errDecimal = errors.New("write a decimal number, such as 21.957642: no currency sign, no comma")

// amountOf reads a decimal number, with an exponent or not. What has more than
// nine decimal places is rounded to nine once, half to even, and said to be.
func amountOf(text string) (n money.Nano, rounded bool, err error) {
	text = strings.TrimSpace(text)
	if n, err := money.Parse(text); err == nil {
		return n, false, nil
	}
	digits, places, err := scan(text)
	if err != nil {
		return 0, false, err
	}
	const want = 9
	exact := places <= want
	switch shift := int64(want - places); {
	case shift >= 0:
		digits.Mul(digits, power(shift))
	default:
		exact = roundHalfEven(digits, power(-shift))
	}
	if !digits.IsInt64() {
		return 0, false, errors.New("the amount is larger than 9 billion")
	}
	return money.Nano(digits.Int64()), !exact, nil
}

// scan is the number as digits and how many of them are decimal places.
func scan(text string) (digits *big.Int, places int, err error) {
	const longest = 80
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	var e int
	if scientific {
		if e, err = strconv.Atoi(exponent); err != nil || e < -longest || e > longest {
			return nil, 0, errDecimal
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	if !negative {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}
	if len(mantissa) > longest {
		return nil, 0, errDecimal
	}
	whole, part, dotted := strings.Cut(mantissa, ".")
	if whole == "" || dotted && part == "" || !digitsOnly(whole) || !digitsOnly(part) {
		return nil, 0, errDecimal
	}
	digits, ok := new(big.Int).SetString(whole+part, 10)
	if !ok {
		return nil, 0, errDecimal
	}
	if negative {
		digits.Neg(digits)
	}
	return digits, len(part) - e, nil
}

func digitsOnly(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

func power(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// roundHalfEven divides n by the power of ten and says whether nothing was lost.
func roundHalfEven(n, by *big.Int) (exact bool) {
	rest := new(big.Int)
	sign := n.Sign()
	n.QuoRem(n, by, rest)
	rest.Abs(rest)
	if rest.Sign() == 0 {
		return true
	}
	switch rest.Lsh(rest, 1).Cmp(by) {
	case 1:
		n.Add(n, big.NewInt(int64(sign)))
	case 0:
		if n.Bit(0) == 1 {
			n.Add(n, big.NewInt(int64(sign)))
		}
	}
	return false
}
