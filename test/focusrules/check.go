// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// holds says whether a row meets a condition. Null is not equal to any value: a
// charge without a class is "not a correction".
func (e *evaluation) holds(c *Check, row int) bool {
	if c == nil {
		return true
	}
	switch c.Function {
	case "":
		return true
	case "AND":
		for _, item := range c.Items {
			if !e.holds(item, row) {
				return false
			}
		}
		return true
	case "OR":
		for _, item := range c.Items {
			if e.holds(item, row) {
				return true
			}
		}
		return false
	case "CheckValue":
		return equals(e.table.at(row, c.Column), c.Value)
	case "CheckNotValue":
		return !equals(e.table.at(row, c.Column), c.Value)
	case "CheckSameValue", "CheckNotSameValue":
		a, b := e.table.at(row, c.A), e.table.at(row, c.B)
		if a.Null || b.Null {
			return false
		}
		return (a.Text == b.Text) == (c.Function == "CheckSameValue")
	}
	return e.meets(c, row)
}

// meets says whether a row meets a requirement. What is null meets every
// requirement on its value: whether it may be null is a requirement of its own.
func (e *evaluation) meets(c *Check, row int) bool {
	cell := e.table.at(row, c.Column)
	switch c.Function {
	case "AND":
		for _, item := range c.Items {
			if !e.meets(item, row) {
				return false
			}
		}
		return true
	case "OR":
		for _, item := range c.Items {
			if e.meets(item, row) {
				return true
			}
		}
		return false
	case "CheckValue":
		return c.Value != nil && cell.Null || equals(cell, c.Value)
	case "CheckNotValue":
		return !equals(cell, c.Value)
	case "CheckSameValue", "CheckNotSameValue":
		a, b := e.table.at(row, c.A), e.table.at(row, c.B)
		return a.Null || b.Null || (a.Text == b.Text) == (c.Function == "CheckSameValue")
	case "CheckGreaterOrEqualThanValue":
		return cell.Null || atLeast(cell.Text, *c.Value)
	case "ColumnByColumnEqualsColumnValue":
		return isProduct(e.table.at(row, c.A), e.table.at(row, c.B), e.table.at(row, c.Result))
	case "CheckNationalCurrency":
		return cell.Null || currencyForm.MatchString(cell.Text) && (len(e.options.Currencies) == 0 || e.options.Currencies[cell.Text])
	}
	return cell.Null || forms[c.Function](cell.Text)
}

func equals(cell Cell, value *string) bool {
	if value == nil {
		return cell.Null
	}
	if cell.Null {
		return false
	}
	if a, ok := number(cell.Text); ok {
		if b, ok := number(*value); ok {
			return a.Cmp(b) == 0
		}
	}
	return cell.Text == *value
}

var (
	// numeric is FOCUS's numeric format: an integer, a decimal, or scientific
	// notation; no separators, no signs of currency, no spaces.
	numeric      = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([Ee][+-]?[0-9]+)?$`)
	moment       = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	// unit is <plural-units>, <singular-unit>-<plural-time-units> or
	// <plural-units>/<singular-time-unit>, with a quantity before it or not.
	unit = regexp.MustCompile(`^([1-9][0-9]* )?[A-Za-z][A-Za-z ]*(-(Years|Months|Days|Hours|Minutes|Seconds)|/([1-9][0-9]* )?(Year|Month|Day|Hour|Minute|Second)s?)?$`)
)

// forms are the functions that look at one value alone.
var forms = map[string]func(string) bool{
	"TypeString":        func(string) bool { return true }, // whatever CSV holds is text
	"TypeDecimal":       isNumber,
	"FormatNumeric":     isNumber,
	"CheckDecimalValue": isNumber,
	"TypeDateTime":      isTime,
	"FormatDateTime":    func(s string) bool { return moment.MatchString(s) && isTime(s) },
	"FormatString":      func(s string) bool { return utf8.ValidString(s) && strings.TrimSpace(s) != "" },
	"FormatUnit":        unit.MatchString,
	"FormatCurrency":    currencyForm.MatchString,
	"FormatKeyValue":    isKeyValue,
}

func isNumber(s string) bool { _, ok := number(s); return ok }

func number(s string) (*big.Rat, bool) {
	const longest = 64
	if len(s) > longest || !numeric.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// isTime takes any way of writing a time that a database would take.
func isTime(s string) bool {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

func atLeast(text, least string) bool {
	a, ok := number(text)
	b, okToo := number(least)
	return ok && okToo && a.Cmp(b) >= 0
}

// isProduct: a times b is the result to its last digit.
func isProduct(a, b, result Cell) bool {
	if a.Null || b.Null || result.Null {
		return true
	}
	x, ok := number(a.Text)
	y, ok2 := number(b.Text)
	z, ok3 := number(result.Text)
	return ok && ok2 && ok3 && x.Mul(x, y).Cmp(z) == 0
}

// isKeyValue: an object of JSON whose values are no objects or arrays, each key
// once.
func isKeyValue(s string) bool {
	d := json.NewDecoder(strings.NewReader(s))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		k, err := d.Token()
		key, ok := k.(string)
		if err != nil || !ok || seen[key] {
			return false
		}
		seen[key] = true
		v, err := d.Token()
		if _, nested := v.(json.Delim); err != nil || nested {
			return false
		}
	}
	_, err := d.Token()
	return err == nil && !d.More()
}
