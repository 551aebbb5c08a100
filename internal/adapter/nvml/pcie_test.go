// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"testing"
)

// TestPCIeWithoutGPM: traffic is asked for while there is a process, on whole
// devices that have no GPM, and is not known elsewhere.
func TestPCIeWithoutGPM(t *testing.T) {
	n := newNode(t)
	busy := n.state.GPU("t4", "pcie_rx=2000000", "pcie_tx=9")
	n.state.Proc(busy, os.Getpid(), gib)
	n.state.GPU("t4", "pcie_rx=5")
	cut := n.state.GPU("a100-40gb", "mig=1", "pcie_rx=5")
	n.state.MIG(cut, "1g.5gb", 7, 0)
	n.state.Proc(cut, os.Getpid(), gib, "gi=7", "ci=0")
	newer := n.state.GPU("h100", "pcie_rx=5")
	n.state.Proc(newer, os.Getpid(), gib)
	absurd := n.state.GPU("t4", "pcie_rx=4294967295")
	n.state.Proc(absurd, os.Getpid(), gib)
	n.open()
	devices := n.good()
	if got := devices[0].Signals.PCIeRxPerS; got == nil || *got != 2_000_000*1024 {
		t.Errorf("traffic of a T4 with a process: %v", got)
	}
	if devices[0].Signals.PCIeTxPerS != nil {
		t.Error("what leaves a device is read without GPM")
	}
	for i, why := range []string{1: "without a process", 2: "in MIG mode", 3: "by GPM, at its first sample", 4: "beyond any link"} {
		if i > 0 && devices[i].Signals.PCIeRxPerS != nil {
			t.Errorf("traffic %s: %d", why, *devices[i].Signals.PCIeRxPerS)
		}
	}
}
