// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// podWindow is what a batch says of a pod beside its GPUs.
type podWindow struct {
	startMS int64
	owner   workload.Owner
	// cpu is what was used of the request, nil where not known.
	cpu          *float64
	requestMilli int64
	hostBytes    uint64
	// requests is whether an engine had any at work or waiting, nil where it did not
	// tell.
	requests *bool
	engine   demand.Evidence
}

// aboutPods joins the records of a batch that are of one pod, by its key.
func aboutPods(b *usage.Batch) map[string]*podWindow {
	out := map[string]*podWindow{}
	of := func(h workload.Holder) *podWindow {
		k := h.PodKey()
		if out[k] == nil {
			out[k] = &podWindow{startMS: b.StartMS}
		}
		return out[k]
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		w := of(p.Holder)
		w.owner = p.Owner
		w.requestMilli, w.cpu = cpuOf(p)
		if p.PresentMS > 0 {
			w.hostBytes = max(p.MemoryRequestByteMS, p.MemoryByteMS) / uint64(p.PresentMS)
		}
	}
	for i := range b.Engines {
		e := &b.Engines[i]
		w := of(e.Holder)
		w.engine.Merge(demand.EvidenceOf(e))
		if e.RunningMax != nil && e.WaitingMax != nil {
			some := *e.RunningMax+*e.WaitingMax > 0 || w.requests != nil && *w.requests
			w.requests = &some
		}
	}
	return out
}

// cpuOf is what a pod asks for, and the share of it that it used. Where it asks for
// nothing the share is of one CPU.
func cpuOf(p *usage.PodRecord) (requestMilli int64, share *float64) {
	if p.PresentMS <= 0 {
		return 0, nil
	}
	requestMilli = p.CPURequestMilliMS / p.PresentMS
	if p.UnmeasuredMS > 0 {
		return requestMilli, nil
	}
	of := requestMilli
	if of == 0 {
		of = 1000
	}
	// Nanoseconds of a millisecond are millionths of a CPU.
	v := float64(p.CPUNanos) / float64(p.PresentMS) / 1000 / float64(of)
	return requestMilli, &v
}

// about adds what is known of the pod beside its GPUs to an hour.
func (b *building) about(p *podWindow, w signal.Window) {
	var cpu *float64
	var asked *bool
	if p != nil {
		if p.startMS >= b.ownerAt {
			b.ownerAt, b.Owner = p.startMS, p.owner
		}
		cpu, asked = p.cpu, p.requests
		b.CPU.Add(p.cpu, w.DurationMS)
		b.CPURequestMilli, b.HostBytes = max(b.CPURequestMilli, p.requestMilli), max(b.HostBytes, p.hostBytes)
		if b.told != p { // once, of however many pieces its window has
			b.told = p
			b.engine.Merge(p.engine)
		}
	}
	active := w.Active()
	switch {
	case w.MeasuredMS > 0 && w.MeasuredMS == w.DurationMS && !w.Running:
		// Without a process on the GPU none of its kernels ran and nobody was served from
		// there, whatever the device can tell and whoever else is on it.
		active = new(float64)
		if asked == nil {
			asked = new(bool)
		}
	case !w.Speaks():
		active = nil
	}
	b.Minutes.add(int((w.StartMS-b.HourMS)/minuteMS), active, cpu, asked)
}
