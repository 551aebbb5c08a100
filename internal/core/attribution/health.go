// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/gpu"

// findUnhealthy reports devices that could not be read: lost ones, which cost
// money and serve nobody, and those that hang or answer with an error.
func (w *work) findUnhealthy() {
	for _, p := range w.inv.parts {
		if p.inst != nil {
			continue
		}
		f := Finding{Severity: Warning, Partition: p.ID.String(), Device: p.ID.Device, Victims: grantees(p)}
		switch p.State {
		case gpu.StateLost:
			f.Kind, f.Severity = DeviceUnavailable, Critical
			f.Detail = "the GPU is lost: drain the node and reset or replace it; it is still paid for"
		case gpu.StateHung, gpu.StateUnreadable:
			f.Kind = DeviceUnmeasured
			f.Detail = "the GPU could not be read: what is held on it is unknown meanwhile"
		default:
			continue
		}
		if p.Reason != "" {
			f.Evidence = []string{p.Reason}
		}
		w.find(f)
	}
}
