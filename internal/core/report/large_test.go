// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
)

// TestLargeFleetsFit: the nanoseconds of a fleet's CPUs go beyond 64 bits within a
// month.
func TestLargeFleetsFit(t *testing.T) {
	lines := make([]ledger.Line, 5)
	for i := range lines {
		lines[i].EntryKind, lines[i].Resource, lines[i].Currency = allocation.Direct, allocation.ResourceCPU, "USD"
		lines[i].StartMS, lines[i].CPUNanos, lines[i].CPURequestMilliMS = at("2026-11-01 00:00"), 1<<62, 1<<62
		lines[i].HourMS = lines[i].StartMS
	}
	r, err := Run(Spec{Month: month("2026-11"), By: []Dimension{Node}}, Input{Lines: linesOf(lines)})
	if err != nil {
		t.Fatal(err)
	}
	const want = "23058430092136939520" // 5 × 2^62
	if q := r.Sections[0].Rows[0].Quantities; q.CPUNanos.String() != want || q.CPURequestMilliMS.String() != want {
		t.Errorf("%s nanoseconds and %s requests, want %s", q.CPUNanos, q.CPURequestMilliMS, want)
	}
}
