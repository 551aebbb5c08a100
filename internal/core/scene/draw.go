// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Drawing makes a timeline from batches of one node, in any order.
type Drawing struct {
	uuid         gpu.UUID
	fromMS, toMS int64
	untilMS      int64 // up to when there should be records
	stepMS       int64
	n            int
	out          Timeline
	parts        map[gpu.PartitionID]*partDrawing
	grants       []TimeGrant
	known        []gapSpan // windows that came
	bad          []TimeGap
	findings     *Findings
}

// partDrawing sums one partition by step.
type partDrawing struct {
	record  usage.PartitionRecord // the newest
	read    []uint64              // ms with memory
	sums    [3][]uint64           // reserve, unattributed, free
	signals [5][]float64
	weight  [5][]float64
	grade   gpu.Grade
	holders map[holderKey]*holderDrawing
}

type holderKey struct {
	workload.Holder
	leak bool
}

type holderDrawing struct {
	workload string
	bytes    []uint64
	peak     uint64
	grade    gpu.Grade
}

type gapSpan struct{ from, to int64 }

// Draw begins a timeline of a GPU. from is rounded down to a step, to up.
func Draw(uuid gpu.UUID, from, to time.Time) *Drawing {
	step := StepOf(to.Sub(from)).Milliseconds()
	first := from.UnixMilli() / step * step
	last := (to.UnixMilli() + step - 1) / step * step
	return &Drawing{uuid: uuid, fromMS: first, toMS: last, untilMS: to.UnixMilli(), stepMS: step, n: int((last - first) / step), parts: map[gpu.PartitionID]*partDrawing{}, findings: NewFindings()}
}

// Until says up to when there can be records: the window that is under way when a
// timeline is asked for is no gap. It never makes the time longer.
func (d *Drawing) Until(ms int64) { d.untilMS = min(d.untilMS, ms) }

// Add takes a batch.
func (d *Drawing) Add(b *usage.Batch) {
	if b.Gap != nil {
		d.gap(b.Gap.StartMS, b.Gap.StartMS+b.Gap.DurationMS, b.Gap.Reason, "unrecorded")
	}
	if b.StartMS >= d.toMS || b.StartMS+b.DurationMS <= d.fromMS {
		return
	}
	owners := ownersOf(b.Pods)
	seen := false
	for i := range b.Partitions {
		if p := &b.Partitions[i]; p.Partition.Device == d.uuid {
			seen = true
			d.partition(p)
		}
	}
	if !seen {
		return
	}
	d.out.Cluster, d.out.Node = b.Cluster, b.Node
	d.known = append(d.known, gapSpan{b.StartMS, b.StartMS + b.DurationMS})
	for i := range b.Holders {
		if h := &b.Holders[i]; h.Partition.Device == d.uuid {
			d.holder(h, owners)
		}
	}
	for i := range b.Grants {
		if g := &b.Grants[i]; g.Partition.Device == d.uuid {
			d.grant(g, owners)
		}
	}
	d.find(b)
}

// find takes the findings that are of this device, or of no device at all.
func (d *Drawing) find(b *usage.Batch) {
	of := *b
	of.Findings = nil
	for i := range b.Findings {
		f := &b.Findings[i]
		if f.Device == d.uuid || f.Partition == string(d.uuid) || slices.Contains(f.Partitions, string(d.uuid)) {
			of.Findings = append(of.Findings, *f)
		}
	}
	d.findings.Add(&of, d.fromMS, d.toMS)
}

// cells are the steps that a piece counts in: the one that it begins in, or, where it
// is longer than a step, all that it overlaps, as a whole in each: values are means.
func (d *Drawing) cells(startMS, durationMS int64) (from, to int) {
	if durationMS <= d.stepMS {
		if startMS < d.fromMS || startMS >= d.toMS {
			return 0, 0
		}
		from = int((startMS - d.fromMS) / d.stepMS)
		return from, from + 1
	}
	first, end := max(startMS, d.fromMS), min(startMS+durationMS, d.toMS)
	if first >= end {
		return 0, 0
	}
	return int((first - d.fromMS) / d.stepMS), int((end - d.fromMS + d.stepMS - 1) / d.stepMS)
}

func (d *Drawing) gap(from, to int64, reason, kind string) {
	from, to = max(from, d.fromMS), min(to, d.toMS)
	if from < to {
		d.bad = append(d.bad, TimeGap{From: time.UnixMilli(from).UTC(), To: time.UnixMilli(to).UTC(), Reason: reason, Kind: kind})
	}
}

func (d *Drawing) part(id gpu.PartitionID) *partDrawing {
	p := d.parts[id]
	if p == nil {
		p = &partDrawing{read: make([]uint64, d.n), holders: map[holderKey]*holderDrawing{}, grade: gpu.Measured}
		for i := range p.sums {
			p.sums[i] = make([]uint64, d.n)
		}
		for i := range p.signals {
			p.signals[i], p.weight[i] = make([]float64, d.n), make([]float64, d.n)
		}
		d.parts[id] = p
	}
	return p
}

func (d *Drawing) partition(r *usage.PartitionRecord) {
	p := d.part(r.Partition)
	if r.StartMS >= p.record.StartMS {
		p.record = *r
	}
	if r.Model != "" {
		d.out.Model, d.out.Slot = r.Model, r.Slot
	}
	for _, e := range r.Events {
		d.out.Events = append(d.out.Events, TimeEvent{At: time.UnixMilli(r.StartMS).UTC(), Kind: e.Kind, XID: e.XID, Detail: e.Detail})
	}
	reason := ""
	if len(r.Reasons) > 0 {
		reason = r.Reasons[0]
	}
	switch {
	case r.UnavailableMS > 0:
		d.gap(r.StartMS, r.StartMS+r.DurationMS, reason, "unavailable")
	case r.MeasuredMS == 0 && r.DurationMS > 0:
		d.gap(r.StartMS, r.StartMS+r.DurationMS, reason, "unmeasured")
	}
	p.grade = worse(p.grade, r.Grade)
	from, to := d.cells(r.StartMS, r.DurationMS)
	for at := from; at < to; at++ {
		p.add(at, r)
	}
}

func (p *partDrawing) add(at int, r *usage.PartitionRecord) {
	if read := r.MeasuredMS - r.NoMemoryMS; read > 0 && r.CapacityBytes != nil {
		p.read[at] += uint64(read)
		for i, v := range []uint64{r.ReservedByteMS, r.UnattributedByteMS, r.FreeByteMS} {
			p.sums[i][at] += v
		}
	}
	s := &r.Signals
	for i, v := range []*float64{s.Busy, s.SMActive, s.TensorActive, s.DRAMActive, float(r.PowerMW)} {
		if w := float64(r.MeasuredMS); v != nil && w > 0 {
			p.signals[i][at] += *v * w
			p.weight[i][at] += w
		}
	}
}

func float(v *uint64) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v)
	return &f
}

func worse(a, b gpu.Grade) gpu.Grade {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

func (d *Drawing) holder(r *usage.Record, owners map[string]string) {
	from, to := d.cells(r.StartMS, r.DurationMS)
	if from == to {
		return
	}
	p, key := d.part(r.Partition), holderKey{r.Holder, r.Leak}
	h := p.holders[key]
	if h == nil {
		h = &holderDrawing{bytes: make([]uint64, d.n), grade: gpu.Measured}
		p.holders[key] = h
	}
	h.workload = cmp.Or(owners[r.Holder.PodKey()], h.workload)
	h.grade, h.peak = worse(h.grade, r.Grade), max(h.peak, r.PeakBytes)
	for at := from; at < to; at++ {
		h.bytes[at] += r.ByteMS
	}
}

// joinMS is how far apart pieces of one grant may be to be one bar.
const joinMS = 1000

func (d *Drawing) grant(r *usage.GrantRecord, owners map[string]string) {
	if r.GrantedMS == 0 {
		return
	}
	g := &r.Grant
	d.grants = append(d.grants, TimeGrant{
		Partition: r.Partition.String(), Namespace: g.Holder.Namespace, Pod: g.Holder.Pod, PodUID: g.Holder.PodUID, Workload: owners[g.Holder.PodKey()],
		Source: g.Source, Resource: g.Resource, Mode: g.Mode, Replicas: g.Replicas, Reserved: g.ReservedBytes,
		From: time.UnixMilli(r.StartMS).UTC(), To: time.UnixMilli(r.StartMS + r.DurationMS).UTC(),
	})
}
