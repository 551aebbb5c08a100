// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"github.com/gputally/gputally/internal/core/attribution"
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
	// requestBytes is what it asks for of the host's memory, memory what it used, nil
	// where not read.
	requestBytes uint64
	memory       *uint64
	about        attribution.PodAbout
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
		w.about = p.About
		if p.PresentMS > 0 {
			used := p.MemoryByteMS / uint64(p.PresentMS)
			w.memory = &used
		}
		if ms := p.PresentMS + p.UnmeasuredMS; ms > 0 {
			w.requestBytes = p.MemoryRequestByteMS / uint64(ms)
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
	ms := p.PresentMS + p.UnmeasuredMS
	if ms <= 0 {
		return 0, nil
	}
	requestMilli = p.CPURequestMilliMS / ms
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
			b.ownerAt, b.Owner, b.About = p.startMS, p.owner, p.about
		}
		cpu, asked = p.cpu, p.requests
		b.CPU.Add(p.cpu, w.DurationMS)
		b.CPURequestMilli, b.MemoryRequestBytes = max(b.CPURequestMilli, p.requestMilli), max(b.MemoryRequestBytes, p.requestBytes)
		if p.memory != nil && (b.MemoryBytes == nil || *b.MemoryBytes < *p.memory) {
			b.MemoryBytes = p.memory
		}
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
