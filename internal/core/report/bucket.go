// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"
)

// bucket is the name of the time that holds a moment. Names of one dimension
// sort as the times do.
func bucket(d Dimension, ms int64) string {
	t := time.UnixMilli(ms).UTC()
	switch d {
	case Hour:
		return t.Format("2006-01-02T15Z")
	case Day:
		return t.Format("2006-01-02")
	case Week:
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	return t.Format("2006-01")
}
