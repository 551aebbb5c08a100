// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// findExternal reports compute processes outside Kubernetes. A display
// server's graphics context is the host's, and no finding.
func (w *work) findExternal() {
	if w.s.Standalone {
		return
	}
	for _, p := range w.inv.parts {
		for _, h := range p.held {
			o := w.owners[h.PID]
			if o.holder.Kind != workload.KindHost || o.daemon || h.Kind == sample.KindGraphics {
				continue
			}
			w.find(Finding{
				Kind: ExternalProcess, Severity: Warning, Holder: o.holder, PID: h.PID,
				Partition: p.ID.String(), Device: p.ID.Device, Bytes: h.Bytes, Victims: grantees(p),
				Detail:   "a process outside Kubernetes holds GPU memory; the scheduler does not know of it",
				Evidence: []string{"process " + o.comm + ", " + o.holder.Unit},
			})
		}
	}
}

func grantees(p *part) []string {
	var out []string
	for _, g := range p.Grants {
		if !g.Admin {
			out = append(out, g.Holder.Account())
		}
	}
	return out
}
