// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
)

// Timeline is what was drawn. ok is false where no record named the GPU.
func (d *Drawing) Timeline() (t Timeline, ok bool) {
	t = d.out
	t.UUID, t.StepMS, t.Steps = d.uuid, d.stepMS, d.n
	t.From, t.To = time.UnixMilli(d.fromMS).UTC(), time.UnixMilli(d.toMS).UTC()
	t.Partitions, t.Events = []TimePartition{}, append([]TimeEvent{}, t.Events...)
	ids := make([]gpu.PartitionID, 0, len(d.parts))
	for id := range d.parts {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, gpu.PartitionID.Compare)
	for _, id := range ids {
		t.Partitions = append(t.Partitions, d.parts[id].finish(id, d.n))
	}
	slices.SortFunc(t.Events, func(a, b TimeEvent) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.XID, b.XID))
	})
	t.Grants, t.Gaps, t.Findings = joinGrants(d.grants), joinGaps(append(d.silence(), d.bad...)), d.findings.List()
	return t, len(d.known) > 0
}

func (p *partDrawing) finish(id gpu.PartitionID, n int) TimePartition {
	r := &p.record
	out := TimePartition{Key: id.String(), Profile: r.Profile, Start: r.Placement.Start, Size: r.Placement.Size, Slices: r.DeviceSlices, Stranded: r.StrandedSlices, Mode: r.Mode, Parent: r.MIGParent, Capacity: r.CapacityBytes, Grade: p.grade, Holders: []TimeHolder{}}
	for i, to := range []*[]*uint64{&out.Reserve, &out.Unattributed, &out.Free} {
		*to = means(p.sums[i], p.read)
	}
	for i, to := range []*[]*float64{&out.Busy, &out.SM, &out.Tensor, &out.DRAM, &out.PowerMW} {
		*to = make([]*float64, n)
		for at, w := range p.weight[i] {
			if w > 0 {
				v := p.signals[i][at] / w
				(*to)[at] = &v
			}
		}
	}
	for k, h := range p.holders {
		out.Holders = append(out.Holders, TimeHolder{
			Kind: k.Kind, Namespace: k.Namespace, Pod: k.Pod, PodUID: k.PodUID, Container: k.Container, Unit: k.Unit, Leak: k.leak,
			Workload: h.workload, Grade: h.grade, Peak: h.peak, Bytes: means(h.bytes, p.read),
		})
	}
	slices.SortFunc(out.Holders, func(a, b TimeHolder) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.Container, b.Container), cmp.Compare(a.Unit, b.Unit))
	})
	return out
}

// means divides sums by the time in which they were read; null where it never was.
func means(sums, read []uint64) []*uint64 {
	out := make([]*uint64, len(sums))
	for i, ms := range read {
		if ms > 0 {
			v := sums[i] / ms
			out[i] = &v
		}
	}
	return out
}

// silence is where no window of the GPU came.
func (d *Drawing) silence() (out []TimeGap) {
	slices.SortFunc(d.known, func(a, b gapSpan) int { return cmp.Compare(a.from, b.from) })
	at := d.fromMS
	say := func(to int64) {
		// A window may begin a little after the one before: the clock is not monotonic.
		if to-at > 2*joinMS {
			out = append(out, TimeGap{From: time.UnixMilli(at).UTC(), To: time.UnixMilli(to).UTC(), Reason: "no record", Kind: "unrecorded"})
		}
	}
	for _, k := range d.known {
		say(k.from)
		at = max(at, k.to)
	}
	say(d.untilMS)
	return out
}

func joinGrants(grants []TimeGrant) []TimeGrant {
	slices.SortFunc(grants, func(a, b TimeGrant) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Resource, b.Resource), a.From.Compare(b.From))
	})
	out := []TimeGrant{}
	for _, g := range grants {
		if n := len(out); n > 0 {
			l := &out[n-1]
			if l.Partition == g.Partition && l.PodUID == g.PodUID && l.Namespace == g.Namespace && l.Pod == g.Pod && l.Resource == g.Resource && g.From.Sub(l.To) <= joinMS*time.Millisecond {
				l.To, l.Workload, l.Reserved, l.Replicas = later(l.To, g.To), cmp.Or(g.Workload, l.Workload), g.Reserved, g.Replicas
				continue
			}
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b TimeGrant) int { return a.From.Compare(b.From) })
	return out
}

func joinGaps(gaps []TimeGap) []TimeGap {
	slices.SortFunc(gaps, func(a, b TimeGap) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason), a.From.Compare(b.From))
	})
	out := []TimeGap{}
	for _, g := range gaps {
		if n := len(out); n > 0 && out[n-1].Kind == g.Kind && out[n-1].Reason == g.Reason && g.From.Sub(out[n-1].To) <= joinMS*time.Millisecond {
			out[n-1].To = later(out[n-1].To, g.To)
			continue
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b TimeGap) int { return a.From.Compare(b.From) })
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
