// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
)

// podBook follows the CPU and memory of the pods, by PodKey.
type podBook map[string]*podTrack

type podTrack struct {
	last    attribution.PodResult
	present bool
	counted bool
	cpu     counter
	sum     PodRecord
}

// observe takes the CPU counters of the pods that were already followed. A pod
// seen for the first time only sets its mark: whether it began since the last
// sample or was merely unreadable then is not known.
func (b podBook) observe(pods []attribution.PodResult, from, to int64) {
	for i := range pods {
		t := b[pods[i].Holder.PodKey()]
		if t != nil && !t.counted {
			t.counted = true
			t.cpu.observe(pods[i].CPUNanos, from, to)
		}
	}
}

func (b podBook) clear() {
	for _, t := range b {
		t.counted = false
		t.cpu.clear()
	}
}

// skip forgets what the counters grew by before a time.
func (b podBook) skip(to int64) {
	for _, t := range b {
		t.cpu.take(to)
	}
}

// install holds the pods of a sample from now on.
func (b podBook) install(pods []attribution.PodResult, now int64) {
	for _, t := range b {
		t.present = false
	}
	for i := range pods {
		p := &pods[i]
		t := b[p.Holder.PodKey()]
		if t == nil {
			t = &podTrack{}
			t.cpu.observe(p.CPUNanos, now, now)
			b[p.Holder.PodKey()] = t
		}
		if !t.present {
			t.hold(p)
		}
	}
}

// hold takes a pod as it is now. What it belongs to stands while its object is
// not known.
func (t *podTrack) hold(p *attribution.PodResult) {
	had := t.last
	t.last, t.present = *p, true
	if p.Holder.Pod == "" {
		t.last.Owner, t.last.Labels, t.last.About = had.Owner, had.Labels, had.About
	}
}

// accrue adds dt milliseconds ending at a time. In a gap the counter and the
// requests go on; memory and presence were not seen. So it is for a pod that
// could not be read.
func (b podBook) accrue(dt, to int64, gap bool) {
	for _, t := range b {
		if nanos, ok := t.cpu.take(to); ok {
			t.sum.CPUNanos = addUint(t.sum.CPUNanos, nanos)
		}
		if t.present {
			t.accrue(dt, gap)
		}
	}
}

func (t *podTrack) accrue(dt int64, gap bool) {
	ms := uint64(dt)
	if gap || t.last.MemoryBytes == nil {
		t.sum.UnmeasuredMS += dt
	} else {
		t.sum.PresentMS += dt
		t.sum.MemoryByteMS = addUint(t.sum.MemoryByteMS, mulUint(*t.last.MemoryBytes, ms))
	}
	if t.last.CPUMilli > 0 {
		t.sum.CPURequestMilliMS += min(t.last.CPUMilli, 1<<40) * dt
	}
	if t.last.MemoryReq > 0 {
		t.sum.MemoryRequestByteMS = addUint(t.sum.MemoryRequestByteMS, mulUint(uint64(t.last.MemoryReq), ms))
	}
}

// write returns the records of the window and starts the next. A pod that was
// not there in the whole window is forgotten.
func (b podBook) write(span Span) []PodRecord {
	var out []PodRecord
	for key, t := range b {
		if t.sum.PresentMS+t.sum.UnmeasuredMS > 0 || t.sum.CPUNanos > 0 {
			t.sum.Span, t.sum.Holder = span, t.last.Holder
			t.sum.Owner, t.sum.Labels, t.sum.About = t.last.Owner, t.last.Labels, t.last.About
			out = append(out, t.sum)
		} else if !t.present {
			delete(b, key)
		}
		t.sum = PodRecord{}
	}
	slices.SortFunc(out, func(a, c PodRecord) int { return a.Holder.Compare(c.Holder) })
	return out
}
