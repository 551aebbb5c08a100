// SPDX-License-Identifier: Apache-2.0

package money

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Nano is an amount in billionths of its currency's unit (1 USD is
// 1_000_000_000). It reaches ±9.2 billion units; sums of many amounts belong
// into a Sum.
type Nano int64

// Unit is one whole unit of a currency.
const Unit Nano = 1_000_000_000

// digits is how many decimal places an amount has.
const digits = 9

// Parse reads a decimal number such as "21.957642" or "-3". More than nine
// decimal places are an error unless they are zeros: an amount is exact.
func Parse(text string) (Nano, error) {
	sign, whole, part, err := split(text)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(whole+part, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read amount %q: it is too large", text)
	}
	return sign * Nano(n), nil
}

// split parts a decimal number into its sign, the digits before the point and
// the nine after it.
func split(text string) (sign Nano, whole, part string, err error) {
	sign, rest := 1, text
	switch {
	case strings.HasPrefix(rest, "-"):
		sign, rest = -1, rest[1:]
	case strings.HasPrefix(rest, "+"):
		rest = rest[1:]
	}
	whole, part, dotted := strings.Cut(rest, ".")
	if !allDigits(whole) || !allDigits(part) || whole == "" || dotted && part == "" {
		return 0, "", "", fmt.Errorf("read amount %q: write a decimal number, such as 21.957642", text)
	}
	if len(part) > digits {
		if strings.Trim(part[digits:], "0") != "" {
			return 0, "", "", fmt.Errorf("read amount %q: it has more than nine decimal places", text)
		}
		part = part[:digits]
	}
	return sign, whole, part + strings.Repeat("0", digits-len(part)), nil
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// String is the exact decimal number with at least two decimal places.
func (n Nano) String() string {
	text := strconv.FormatUint(n.abs(), 10)
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	whole, part := text[:len(text)-digits], strings.TrimRight(text[len(text)-digits:], "0")
	for len(part) < 2 {
		part += "0"
	}
	if n < 0 {
		whole = "-" + whole
	}
	return whole + "." + part
}

func (n Nano) abs() uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// MarshalText writes the exact decimal number: JSON numbers would be read as
// floats.
func (n Nano) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads what Parse reads.
func (n *Nano) UnmarshalText(text []byte) (err error) {
	*n, err = Parse(string(text))
	return err
}

// Float is the amount in whole units, as close as a float comes: for display.
func (n Nano) Float() float64 { return float64(n) / float64(Unit) }

// Round is the float, an amount in whole units, as the nearest Nano: for
// sources that give money as floating point. It fails where that is no number
// or too large.
func Round(units float64) (Nano, error) {
	scaled := math.RoundToEven(units * float64(Unit))
	if math.IsNaN(scaled) || math.Abs(scaled) >= math.MaxInt64 {
		return 0, fmt.Errorf("read amount %v: not an amount of money", units)
	}
	return Nano(scaled), nil
}
