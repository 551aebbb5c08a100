// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"time"
)

// Month is a calendar month of UTC, the period in which lines are booked:
// twelve times the year, plus 0 for January to 11 for December.
type Month int

// MonthOf is the month of a moment in Unix milliseconds.
func MonthOf(ms int64) Month {
	t := time.UnixMilli(ms).UTC()
	return Month(t.Year()*12 + int(t.Month()) - 1)
}

// ParseMonth reads "2026-11".
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, fmt.Errorf("read month %q: write year and month, such as 2026-11", text)
	}
	return MonthOf(t.UnixMilli()), nil
}

// StartMS is when the month begins, in Unix milliseconds.
func (m Month) StartMS() int64 {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// EndMS is when the next month begins.
func (m Month) EndMS() int64 { return (m + 1).StartMS() }

// String is "2026-11".
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/12, int(m)%12+1) }

// MarshalText writes what String writes.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what ParseMonth reads.
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}
