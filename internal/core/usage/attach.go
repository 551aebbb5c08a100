// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// attach notes what a sample says happened since the one before it, in the
// pieces of that time. What belongs to a partition that only this sample has
// is returned, to be noted once the sample is installed.
func (in *Integrator) attach(r *attribution.Result, before int64) []func() {
	var late []func()
	for device, events := range r.Events {
		for _, e := range inEventOrder(events) {
			if !in.addEvent(device, e) {
				late = append(late, func() { in.addEvent(device, e) })
			}
		}
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		for _, a := range p.Accounted {
			// Alive at the sample before: what it held was seen there.
			if int64(min(a.RunMS, 1<<62)) > in.now-before {
				continue
			}
			note := func() { in.tracks[p.ID].addAccounted(a) }
			if t := in.tracks[p.ID]; t != nil && t.piece != nil && (len(t.piece.grants) > 0 || len(p.Grants) == 0) {
				note()
			} else {
				late = append(late, note)
			}
		}
	}
	return late
}

// inEventOrder sorts a copy, so that records do not depend on the order in
// which a source listed what it saw in one interval.
func inEventOrder(events []sample.Event) []sample.Event {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b sample.Event) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.XID, b.XID),
			cmp.Compare(instanceOf(a), instanceOf(b)), cmp.Compare(a.Detail, b.Detail),
		)
	})
	return events
}

func instanceOf(e sample.Event) uint32 {
	if e.Instance == nil {
		return gpu.WholeDevice
	}
	return *e.Instance
}

// addEvent notes an event with the instance it names, else with the whole
// device, else with the device's first instance; false when none is known.
func (in *Integrator) addEvent(device gpu.UUID, e sample.Event) bool {
	of := in.tracksOf(device)
	if len(of) == 0 {
		return false
	}
	to := of[0]
	for _, t := range of {
		if t.id.Instance == instanceOf(e) {
			to = t
		}
	}
	to.piece.addEvents([]sample.Event{e})
	return true
}

// addAccounted notes a process that lived between two samples with the only
// pod that has a grant here, else with an unknown holder. Its peak times its
// life is an upper bound: it stands beside the balance.
func (t *track) addAccounted(a sample.Accounted) {
	h := workload.Holder{Kind: workload.KindUnknown}
	if g := t.piece.grants; len(g) == 1 {
		h = g[0].grant.Holder
		if c := g[0].grant.Containers; len(c) == 1 {
			h.Container = c[0]
		}
	}
	sum := t.piece.holder(holderKey{Holder: h})
	sum.accounted = addUint(sum.accounted, mulUint(a.MaxMemory, a.RunMS))
}
