// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"testing"
	"time"
)

// TestOptedOut: "off" holds, with a date until the end of that day; a date that nobody
// can read holds for good; other words are no wish.
func TestOptedOut(t *testing.T) {
	at := time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC).UnixMilli()
	next := at + 2*hourMS
	for _, c := range []struct {
		text      string
		now, then bool
	}{
		{"", false, false}, {"on", false, false}, {"offer", false, false},
		{"off", true, true}, {" off: launch", true, true}, {"off, we know", true, true},
		{"off until 2027-01-31", true, false}, {"off until 2027-01-31: launch", true, false}, {"off until 2026-12-31", false, false},
		{"off until January", true, true},
	} {
		if now, then := optedOut(c.text, at) != "", optedOut(c.text, next) != ""; now != c.now || then != c.then {
			t.Errorf("%q: %v then %v, want %v then %v", c.text, now, then, c.now, c.then)
		}
	}
}
