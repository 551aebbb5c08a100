// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"fmt"
	"time"
)

// Period is a span of time, [StartMS, EndMS) in Unix milliseconds. A billing
// period is usually a month of UTC.
type Period struct {
	StartMS int64 `json:"start_ms"`
	EndMS   int64 `json:"end_ms"`
}

// Month is the calendar month of UTC.
func Month(year int, month time.Month) Period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return Period{StartMS: start.UnixMilli(), EndMS: start.AddDate(0, 1, 0).UnixMilli()}
}

// String is "2026-09" for a month, else "2026-09-01T00:00:00Z/2026-09-11T00:00:00Z".
func (p Period) String() string {
	start, end := time.UnixMilli(p.StartMS).UTC(), time.UnixMilli(p.EndMS).UTC()
	if p == Month(start.Year(), start.Month()) {
		return start.Format("2006-01")
	}
	return start.Format(time.RFC3339) + "/" + end.Format(time.RFC3339)
}

// Check returns an error unless the period has a length.
func (p Period) Check() error {
	if p.EndMS <= p.StartMS {
		return fmt.Errorf("period %s ends before it begins", p)
	}
	return nil
}

// Overlaps says whether the periods share time.
func (p Period) Overlaps(o Period) bool { return p.StartMS < o.EndMS && o.StartMS < p.EndMS }
