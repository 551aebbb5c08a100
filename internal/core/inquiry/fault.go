// SPDX-License-Identifier: Apache-2.0

package inquiry

// NotFound says that what was asked for is not there.
type NotFound struct {
	What string // "node", "line", "month"
	Name string
	Hint string // what there is instead, or how to find it
}

// Error names the thing.
func (e *NotFound) Error() string { return "there is no " + e.What + " " + e.Name }

// Refused says that something cannot be done as things stand: a month that is
// not over, a bill whose period overlaps another.
type Refused struct {
	// Code is a word that does not change: "hours_missing", "month_open".
	Code string
	Why  string
	Hint string
}

// Error says why.
func (e *Refused) Error() string { return e.Why }

// Wrong is a parameter that cannot be, where *report.Invalid does not fit.
type Wrong struct {
	Field   string
	Value   string
	Why     string
	Allowed []string
}

// Error names the parameter, its value and why it cannot be.
func (e *Wrong) Error() string { return e.Field + " is " + quote(e.Value) + ": " + e.Why }

func quote(s string) string { return `"` + s + `"` }
