// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"fmt"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// cells reads the cells of one row and gathers what is wrong with them.
type cells struct {
	record
	at       bill.Row
	rounded  map[string]*Rounded
	note     func(...string)
	problems []*Problem
}

func (c *cells) wrong(column, format string, a ...any) {
	c.problems = append(c.problems, &Problem{
		File: c.at.File, Row: c.at.Number, Column: c.title(column), Value: c.text(column), What: fmt.Sprintf(format, a...),
	})
}

// first is the first of the columns that has a value.
func (c *cells) first(columns ...string) string {
	for _, column := range columns {
		if v := c.text(column); v != "" {
			return v
		}
	}
	return ""
}

// amount is money that must be there.
func (c *cells) amount(column string) money.Nano {
	if c.text(column) == "" {
		c.wrong(column, "an amount of money is missing: without it the bill does not add up. Export the column, filled")
		return 0
	}
	if n := c.optional(column); n != nil {
		return *n
	}
	return 0
}

// optional is money that may be missing: nil then.
func (c *cells) optional(column string) *money.Nano {
	text := c.text(column)
	if text == "" {
		return nil
	}
	n, rounded, err := amountOf(text)
	if err != nil {
		c.wrong(column, "%s", err)
		return nil
	}
	if rounded {
		c.count(column, text)
	}
	return &n
}

// sum adds amounts of one row.
func (c *cells) sum(column string, amounts ...money.Nano) money.Nano {
	var s money.Sum
	for _, n := range amounts {
		s.Add(n)
	}
	total, err := s.Nano()
	if err != nil {
		c.wrong(column, "%s", err)
	}
	return total
}

func (c *cells) count(column, text string) {
	title := c.title(column)
	r := c.rounded[title]
	if r == nil {
		r = &Rounded{Column: title, First: c.at, Value: text}
		c.rounded[title] = r
	}
	r.Cells++
}

// instant is a time, in Unix milliseconds.
func (c *cells) instant(column string) int64 {
	ms, err := instantOf(c.text(column))
	if err != nil {
		c.wrong(column, "%s", err)
	}
	return ms
}

// charge reads the charge period.
func (c *cells) charge(l *bill.Line, start, end string) {
	l.StartMS, l.EndMS = c.instant(start), c.instant(end)
	if len(c.problems) == 0 && l.EndMS < l.StartMS {
		c.wrong(end, "the charge ends before it begins at %s", c.text(start))
	}
}

// currency is the code of ISO 4217.
func (c *cells) currency(column string) money.Currency {
	code := money.Currency(strings.TrimSpace(c.text(column)))
	if err := code.Check(); err != nil {
		c.wrong(column, "%s", err)
	}
	return code
}

func (c *cells) quantity(amount, unit string) bill.Quantity {
	return bill.Quantity{Amount: c.text(amount), Unit: c.text(unit)}
}

// layouts are the forms of time that bills are seen with. What has no zone is
// UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07", time.DateOnly,
}

func instantOf(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, fmt.Errorf("a time is missing")
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if name, _ := t.Zone(); layout == "2006-01-02 15:04:05 MST" && name != "UTC" && name != "GMT" {
			return 0, fmt.Errorf("times of the zone %s cannot be told from others of that name: export in UTC", name)
		}
		const first, last = 1990, 2200
		if t.Year() < first || t.Year() > last {
			return 0, fmt.Errorf("a bill of the year %d", t.Year())
		}
		return t.UnixMilli(), nil
	}
	return 0, fmt.Errorf("write a time as 2026-09-01T10:00:00Z")
}
