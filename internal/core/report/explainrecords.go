// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// records fills the steps that the usage records tell of.
func (x *explainer) records() {
	x.trace.Sample.Partition, x.trace.Sample.Model = x.about.Partition, x.about.Model
	x.trace.Attribute.Holder, x.trace.Attribute.Leak = x.about.Holder, x.about.Kind == allocation.Leak
	order := slices.DeleteFunc(slices.Clone(x.ev.Hour.Batches), func(b usage.Batch) bool { return !x.inHour(&b) })
	slices.SortStableFunc(order, compareBatches)
	x.trace.Ship.Arrived = len(order)
	order = slices.CompactFunc(order, func(a, b usage.Batch) bool { return compareBatches(a, b) == 0 })
	x.trace.Ship.Counted = len(order)
	others := map[string]bool{}
	x.trace.Sample.MissingMS = x.about.DurationMS
	for i := range order {
		b := &order[i]
		x.spool(b)
		if b.Gap != nil || !x.touches(b.StartMS, b.DurationMS) {
			continue
		}
		addOnce(&x.trace.Sample.IntervalsMS, b.IntervalMS)
		x.partitions(b)
		x.holders(b)
		x.grants(b, others)
		x.pods(b)
		x.findings(b)
	}
	x.trace.Sample.MissingMS = max(0, x.trace.Sample.MissingMS)
	x.trace.Attribute.OtherGrants = len(others)
	slices.SortFunc(x.trace.Attribute.Findings, func(a, b FindingTime) int {
		return cmp.Or(cmp.Compare(b.ForMS, a.ForMS), cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Detail, b.Detail))
	})
}

// inHour says whether a window, or the gap that it tells of, has a part in the
// hour: one that ends where the hour begins has none.
func (x *explainer) inHour(b *usage.Batch) bool {
	from, until := x.about.HourMS, x.about.HourMS+hourMS
	in := func(s usage.Span) bool { return s.StartMS < until && from < s.StartMS+s.DurationMS }
	return in(usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}) || b.Gap != nil && in(b.Gap.Span)
}

func compareBatches(a, b usage.Batch) int {
	return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Boot, b.Boot), cmp.Compare(a.Seq, b.Seq))
}

func addOnce[T comparable](to *[]T, v T) {
	if !slices.Contains(*to, v) {
		*to = append(*to, v)
	}
}

// touches says whether a time has a part in the piece that was charged.
func (x *explainer) touches(start, duration int64) bool {
	return start < x.about.StartMS+x.about.DurationMS && x.about.StartMS < start+duration
}

// told takes a record's part of the piece off what is missing.
func (x *explainer) told(start, duration int64) {
	from, until := x.about.StartMS, x.about.StartMS+x.about.DurationMS
	x.trace.Sample.MissingMS -= max(0, min(until, start+duration)-max(from, start))
}

// here says whether a record is of the partition and the piece.
func (x *explainer) here(p gpu.PartitionID, s usage.Span) bool {
	return x.about.Resource == allocation.ResourceGPU && p == x.about.Partition && x.touches(s.StartMS, s.DurationMS)
}

func (x *explainer) spool(b *usage.Batch) {
	s := &x.trace.Spool
	if b.Gap != nil {
		s.Gaps = append(s.Gaps, *b.Gap)
	}
	if n := len(s.Runs); n > 0 {
		if r := &s.Runs[n-1]; r.Agent == b.Agent && r.Boot == b.Boot && r.Last+1 == b.Seq {
			r.Last = b.Seq
			return
		}
	}
	s.Runs = append(s.Runs, BatchRun{b.Agent, b.Boot, b.Seq, b.Seq})
}

func (x *explainer) partitions(b *usage.Batch) {
	for i := range b.Partitions {
		r := &b.Partitions[i]
		if !x.here(r.Partition, r.Span) {
			continue
		}
		s, in := &x.trace.Sample, &x.trace.Integrate
		x.told(r.StartMS, r.DurationMS)
		addOnce(&s.Modes, r.Mode)
		s.MeasuredMS += r.MeasuredMS
		s.UnmeasuredMS += r.UnmeasuredMS
		s.UnavailableMS += r.UnavailableMS
		for _, why := range r.Reasons {
			addOnce(&s.Reasons, why)
		}
		x.trace.Attribute.GrantsUnknownMS += r.GrantsUnknownMS
		in.Windows++
		in.CapacityByteMS.Add(r.CapacityByteMS)
		in.ReservedByteMS.Add(r.ReservedByteMS)
		in.UnattributedByteMS.Add(r.UnattributedByteMS)
		in.FreeByteMS.Add(r.FreeByteMS)
		switch x.about.Account { // what a platform account stands for
		case allocation.Overhead:
			in.ByteMS.Add(r.ReservedByteMS)
		case allocation.Unattributed:
			in.ByteMS.Add(r.UnattributedByteMS)
		}
	}
}

// mine says whether a holder is whom the entry is for: a pod with or without a
// grant, a host's unit, or any daemon for overhead.
func (x *explainer) mine(h workload.Holder, leak bool) bool {
	e := &x.about
	switch {
	case e.Kind != allocation.Platform:
		return h.Kind == workload.KindPod && h.PodKey() == e.Holder.PodKey() && leak == (e.Kind == allocation.Leak)
	case e.Account == allocation.Host:
		return h.Kind == workload.KindHost && h.Unit == e.Holder.Unit
	case e.Account == allocation.Overhead:
		return h.Kind == workload.KindDaemon
	}
	return false
}

func (x *explainer) holders(b *usage.Batch) {
	in := &x.trace.Integrate
	for i := range b.Holders {
		r := &b.Holders[i]
		if !x.here(r.Partition, r.Span) {
			continue
		}
		in.HeldByteMS.Add(r.ByteMS)
		if x.mine(r.Holder, r.Leak) {
			in.PresentMS += r.PresentMS
			in.KnownMS += r.KnownMS
			in.ByteMS.Add(r.ByteMS)
			in.PeakBytes = max(in.PeakBytes, r.PeakBytes)
		}
	}
}

func (x *explainer) grants(b *usage.Batch, others map[string]bool) {
	for i := range b.Grants {
		g := &b.Grants[i]
		if !x.here(g.Partition, g.Span) {
			continue
		}
		if !x.mine(g.Grant.Holder, false) {
			others[g.Grant.Holder.PodKey()] = true
			continue
		}
		at := slices.IndexFunc(x.trace.Attribute.Grants, func(have GrantTime) bool {
			return have.Source == g.Grant.Source && have.Resource == g.Grant.Resource && have.Claim == g.Grant.Claim &&
				have.Mode == g.Grant.Mode && have.Reserved == g.Grant.Reserved && have.Replicas == g.Grant.Replicas
		})
		if at < 0 {
			at = len(x.trace.Attribute.Grants)
			x.trace.Attribute.Grants = append(x.trace.Attribute.Grants, GrantTime{Grant: g.Grant})
		}
		x.trace.Attribute.Grants[at].GrantedMS += g.GrantedMS
	}
}

// pods takes the records of the node's CPU and memory.
func (x *explainer) pods(b *usage.Batch) {
	if x.about.Resource == allocation.ResourceGPU {
		return
	}
	in := &x.trace.Integrate
	in.Windows++
	x.told(b.StartMS, b.DurationMS)
	x.trace.Sample.MeasuredMS += b.DurationMS
	for i := range b.Pods {
		p := &b.Pods[i]
		if !x.mine(p.Holder, false) {
			continue
		}
		in.PresentMS += p.PresentMS
		x.trace.Sample.UnmeasuredMS += p.UnmeasuredMS
		x.trace.Sample.MeasuredMS -= p.UnmeasuredMS
		in.CPUNanos += p.CPUNanos
		in.CPURequestMilliMS += p.CPURequestMilliMS
		in.ByteMS.Add(p.MemoryByteMS)
		in.MemoryRequestByteMS.Add(p.MemoryRequestByteMS)
	}
}

func (x *explainer) findings(b *usage.Batch) {
	for i := range b.Findings {
		f := &b.Findings[i]
		ours := x.about.Holder.Kind == workload.KindPod && f.Holder.Kind == workload.KindPod && f.Holder.PodKey() == x.about.Holder.PodKey()
		if x.about.Resource != allocation.ResourceGPU || !ours && (f.Partition == "" || f.Partition != x.about.Partition.String()) {
			continue
		}
		at := slices.IndexFunc(x.trace.Attribute.Findings, func(have FindingTime) bool {
			return have.Kind == f.Kind && have.Holder == f.Holder && have.Partition == f.Partition
		})
		if at < 0 {
			at = len(x.trace.Attribute.Findings)
			x.trace.Attribute.Findings = append(x.trace.Attribute.Findings, FindingTime{Finding: f.Finding})
		}
		x.trace.Attribute.Findings[at].ForMS += f.ForMS
	}
}
