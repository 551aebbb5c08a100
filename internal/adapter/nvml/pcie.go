// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	binding "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// pcie reads the traffic to a device that has no GPM: what came in 20 ms, for
// which the driver makes the caller wait. That is one look in each sample, as
// all the others are, and the samples of a window make the mean. Nobody reads
// a device without a process for its traffic, and what leaves the device enters
// no rule: neither is asked for, so neither costs another 20 ms. In MIG mode
// the call does not exist.
func (r *reading) pcie() {
	if r.gpmSupported() || len(r.out.Processes) == 0 || !r.begin(symPCIeThroughput) {
		return
	}
	kb, ret := r.handle.GetPcieThroughput(binding.PCIE_UTIL_RX_BYTES)
	if r.ok(ret) && uint64(kb) <= maxTrafficMiB*1024 {
		b := uint64(kb) * 1024
		r.out.Signals.PCIeRxPerS = &b
	}
}
