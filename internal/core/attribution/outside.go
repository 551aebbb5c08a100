// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
)

// splitOutside gives a device in MIG mode what is held on it outside of its
// instances, and reports each holder. Such a device has no capacity of its own,
// and what NVML says is used on it is the instances' as well, so these holdings
// are in no balance: they have the sizes that NVML gives, or none.
func (w *work) splitOutside() {
	for _, p := range w.inv.parts {
		if !p.MIGParent || p.State != gpu.StateOK {
			continue
		}
		p.withoutMemory(w.piles(p))
		for i := range p.Holdings {
			h := &p.Holdings[i]
			if !w.s.Standalone && w.isLeak(p, h.Holder) && !w.grantedOn(p.ID.Device, h.Holder) {
				h.Leak = true
				w.reportLeak(p, *h)
			}
			w.reportOutside(p, *h)
		}
	}
}

func (w *work) reportOutside(p *part, h Holding) {
	w.find(Finding{
		Kind: OutsideInstances, Severity: Info, Holder: h.Holder, Partition: p.ID.String(), Device: p.ID.Device, Bytes: h.Bytes,
		Detail:   "holds memory of a GPU in MIG mode, and NVML lists it on none of its instances: it is in the balance of none",
		Evidence: []string{fmt.Sprintf("processes %v are listed on the device itself", h.PIDs)},
	})
}
