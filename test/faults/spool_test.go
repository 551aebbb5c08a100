// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"testing"

	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// records reads every record of a spool, in order. Whatever the fault was, each
// must be whole, there once, and balance to the byte.
func records(t *testing.T, dir string) []usage.Batch {
	t.Helper()
	var all []usage.Batch
	report, err := spool.Verify(dir, func(e spool.Entry) error {
		all = append(all, e.Batch)
		return e.Batch.Check()
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Duplicates)+len(report.Holes) > 0 {
		t.Errorf("records there twice: %v; missing: %v", report.Duplicates, report.Holes)
	}
	for _, p := range report.Problems {
		if p.Kind != spool.TornTail {
			t.Errorf("damage: %v", p)
		}
	}
	return all
}

// checkTiled: each record begins where the one before ended. No time is there
// twice, and none is missing without a gap record that names it.
func checkTiled(t *testing.T, all []usage.Batch) {
	t.Helper()
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		end := a.StartMS + a.DurationMS
		if b.StartMS != end {
			t.Errorf("record %s/%d begins at %d, %d ms after the end of %s/%d", b.Boot, b.Seq, b.StartMS, b.StartMS-end, a.Boot, a.Seq)
		}
	}
}

// times are the sums over a partition's records, ms.
type times struct{ measured, unmeasured, unavailable, grantsUnknown int64 }

func timesOf(all []usage.Batch, id gpu.PartitionID) (sum times, reasons []string) {
	for _, b := range all {
		for _, p := range b.Partitions {
			if p.Partition == id {
				sum.measured += p.MeasuredMS
				sum.unmeasured += p.UnmeasuredMS
				sum.unavailable += p.UnavailableMS
				sum.grantsUnknown += p.GrantsUnknownMS
				reasons = append(reasons, p.Reasons...)
			}
		}
	}
	return sum, reasons
}

// stopped ends the agent and reads what it wrote.
func (n *node) stopped() []usage.Batch {
	n.t.Helper()
	if err := n.agent.Stop(); err != nil {
		n.t.Errorf("stop: %v", err)
	}
	return records(n.t, n.agent.Spool)
}

func (n *node) id(i int) gpu.PartitionID { return gpu.Whole(gpu.UUID(n.gpus[i].Get("uuid"))) }
