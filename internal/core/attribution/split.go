// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// pile is what one holder has on one partition, while it is being summed.
type pile struct {
	holder workload.Holder
	pids   []int
	known  uint64
	// unsized is how many of its processes have no size.
	unsized int
	grade   gpu.Grade
	sm      float64
	smKnown bool
	// server: an MPS server, which may hold its clients' memory.
	server bool
}

// split divides a partition's memory at this moment: M = R + Σ h + G + F
// (accounting.md §2).
func (w *work) split(p *part) {
	piles := w.piles(p)
	p.SignalsGrade = signalsGrade(piles)
	switch {
	case p.State != gpu.StateOK || p.MIGParent:
		return
	case p.mem == nil:
		p.withoutMemory(piles)
		return
	}
	b := newBalance(*p.mem)
	piles = w.shareServer(p, piles)
	b.fillUnsized(piles)
	b.fit(piles)
	p.settle(b, piles)
}

// piles sums the processes of a partition by holder.
func (w *work) piles(p *part) []*pile {
	byHolder := map[workload.Holder]*pile{}
	for _, h := range p.held {
		o := w.owners[h.PID]
		holder := w.holderOn(p, o)
		c := byHolder[holder]
		if c == nil {
			c = &pile{holder: holder, grade: gpu.Measured}
			byHolder[holder] = c
		}
		c.add(h, p.mem)
		c.server = c.server || (o.isMPSServer() && h.Kind != sample.KindMPS)
	}
	out := make([]*pile, 0, len(byHolder))
	for _, c := range byHolder {
		slices.Sort(c.pids)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *pile) int { return a.holder.Compare(b.holder) })
	return out
}

// add takes one process. A size larger than the device is no size.
func (c *pile) add(h sample.Held, mem *sample.Memory) {
	c.pids = append(c.pids, h.PID)
	if h.SM != nil {
		c.sm += *h.SM
		c.smKnown = true
	}
	if h.Bytes == nil || (mem != nil && *h.Bytes > mem.Total) {
		c.unsized++
		return
	}
	c.known += *h.Bytes
}

// signalsGrade: a device-level signal says something of a holder only when
// there is one.
func signalsGrade(piles []*pile) gpu.Grade {
	pods := map[string]bool{}
	for _, c := range piles {
		pods[string(c.holder.Kind)+c.holder.PodKey()+c.holder.Unit] = true
	}
	if len(pods) > 1 {
		return gpu.Indivisible
	}
	return gpu.Measured
}

// withoutMemory keeps the processes' sizes of a device that reports no memory
// of its own. Capacity, free and unattributed stay unknown.
func (p *part) withoutMemory(piles []*pile) {
	sized := false
	for _, c := range piles {
		h := c.holding()
		if c.unsized > 0 {
			h.Bytes, h.Grade = nil, gpu.Unmeasured
		} else {
			sized = true
		}
		p.Holdings = append(p.Holdings, h)
	}
	if sized && p.inst == nil {
		p.EstimatedCapacity = p.dev.HostMemory
	}
}

func (c *pile) holding() Holding {
	bytes := c.known
	h := Holding{Holder: c.holder, Bytes: &bytes, Grade: c.grade, PIDs: c.pids}
	if c.smKnown {
		sm := c.sm
		h.SM, h.SMGrade = &sm, gpu.Estimated
	}
	return h
}

// settle writes the balance into the partition. Free is what is left of the
// capacity by subtraction, never NVML's own figure (dcgm-exporter#271).
func (p *part) settle(b *balance, piles []*pile) {
	sum := total(piles)
	used := sum + b.unattributed
	free := b.capacity - b.reserve - used
	capacity, reserve, unattributed := b.capacity, b.reserve, b.unattributed
	p.Capacity, p.Reserved, p.Used = &capacity, &reserve, &used
	p.Unattributed, p.Free, p.ReserveUnknown = &unattributed, &free, b.blended
	p.Grade = gpu.Measured
	if b.blended {
		p.Grade = gpu.Estimated
	}
	if b.skewed {
		p.Grade = gpu.Skewed
	}
	p.Holdings = slices.Grow(p.Holdings, len(piles))
	for _, c := range piles {
		if b.skewed {
			c.grade = gpu.Skewed
		}
		p.Holdings = append(p.Holdings, c.holding())
	}
}

func total(piles []*pile) uint64 {
	var sum uint64
	for _, c := range piles {
		sum += c.known
	}
	return sum
}
