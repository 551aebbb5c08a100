// SPDX-License-Identifier: Apache-2.0

package tablefile

import (
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Column is one column of rows of type R. Exactly one of its functions is set.
type Column[R any] struct {
	Name string
	// Text is null where it is empty.
	Text func(R) string
	// JSON is a text that is JSON itself, null where it is empty.
	JSON func(R) string
	// Amount has nine decimal places.
	Amount func(R) *money.Nano
	Int    func(R) *int64
	// Wide is a whole number of up to 128 bits as decimal text, null where it is
	// empty.
	Wide func(R) string
	Real func(R) *float64
	// Time is null where it is zero. It is written in milliseconds of UTC.
	Time func(R) time.Time
}

// Text, Int and the others below make columns.
func Text[R any](name string, of func(R) string) Column[R] { return Column[R]{Name: name, Text: of} }

// JSON makes a column of nested values.
func JSON[R any](name string, of func(R) string) Column[R] { return Column[R]{Name: name, JSON: of} }

// Amount makes a column of money.
func Amount[R any](name string, of func(R) *money.Nano) Column[R] {
	return Column[R]{Name: name, Amount: of}
}

// Int makes a column of whole numbers.
func Int[R any](name string, of func(R) int64) Column[R] {
	return Column[R]{Name: name, Int: func(r R) *int64 { n := of(r); return &n }}
}

// Maybe makes a column of whole numbers that may be unknown.
func Maybe[R any](name string, of func(R) *int64) Column[R] { return Column[R]{Name: name, Int: of} }

// Wide makes a column of sums of 128 bits.
func Wide[R any](name string, of func(R) string) Column[R] { return Column[R]{Name: name, Wide: of} }

// Real makes a column of floating point: for signals, never for money.
func Real[R any](name string, of func(R) *float64) Column[R] { return Column[R]{Name: name, Real: of} }

// Time makes a column of moments, from Unix milliseconds; 0 is null.
func Time[R any](name string, of func(R) int64) Column[R] {
	return Column[R]{Name: name, Time: func(r R) time.Time {
		if ms := of(r); ms != 0 {
			return time.UnixMilli(ms).UTC()
		}
		return time.Time{}
	}}
}

// stamp is how texts say a moment.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }
