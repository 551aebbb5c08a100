// SPDX-License-Identifier: Apache-2.0

// Package v1 owns the shapes of version 1 of the HTTP API: what stands in its
// answers and bodies, and how values of core become them. A field that is here is
// never given another meaning; fields may be added.
//
// Every figure has its unit in its name: _ms is milliseconds, _byte_ms
// byte-milliseconds. Money is a decimal number in a string, exact to a billionth;
// so are byte-milliseconds, which a JSON number would not hold. Times are RFC 3339
// in UTC. What nobody knows is null or left out, never 0.
//
// It does no I/O; paths and parameters are package api's.
package v1

import "time"

// at is a moment in Unix milliseconds; 0 is no moment.
func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// start is a moment in Unix milliseconds, 1970 included.
func start(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// list makes shapes of values; nothing is an empty list, not null.
func list[From, To any](in []From, of func(*From) To) []To {
	out := make([]To, 0, len(in))
	for i := range in {
		out = append(out, of(&in[i]))
	}
	return out
}

// orEmpty is the list, or an empty one.
func orEmpty[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}
