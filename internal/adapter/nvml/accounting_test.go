// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"

	"github.com/gputally/gputally/internal/core/sample"
)

func TestAccounting(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "accounting=1")
	n.state.Acct(g, 5, "maxmem=1073741824", "time=900", "start=1700000000000000") // ended long ago
	seen := n.state.Proc(g, 10, gib)
	n.open()
	equal(t, "what was there before", n.one().Accounted, nil)

	n.state.Acct(g, 6, "maxmem=2147483648", "time=1200", "start=1700000001000000")
	n.rewrite()
	equal(t, "between two samples", n.one().Accounted, []sample.Accounted{
		{PID: 6, MaxMemory: 2 * gib, StartUS: 1700000001000000, RunMS: 1200},
	})
	equal(t, "told once", n.one().Accounted, nil)

	seen.Remove() // it was in a sample: its memory is accounted for
	n.state.Acct(g, 10, "maxmem=1073741824", "time=15000", "start=1700000000000000")
	n.rewrite()
	equal(t, "a process that was sampled", n.one().Accounted, nil)
}

// A process that a sample did not see and that still runs is asked for again,
// although the ring has not changed.
func TestAccountingWaits(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "accounting=1")
	n.open()
	n.one()
	n.state.Acct(g, 6, "maxmem=2147483648", "time=0", "start=1700000001000000")
	record := n.state.Fault(g, "not_found", "nvmlDeviceGetAccountingStats")
	n.rewrite()
	equal(t, "not readable yet", n.one().Accounted, nil)
	record.Remove()
	n.rewrite()
	equal(t, "it can be read now", len(n.one().Accounted), 1)
	equal(t, "told once", n.one().Accounted, nil)
}

func TestAccountingOff(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "accounting=0")
	n.open()
	n.one()
	n.state.Acct(g, 6, "maxmem=2147483648", "time=1200", "start=1700000001000000")
	n.rewrite()
	equal(t, "accounting off", n.one().Accounted, nil)
}
