// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// nanosPerMilliMS is CPU nanoseconds in one thousandth of a CPU for 1 ms.
const nanosPerMilliMS = 1000

// node divides the node's CPU and memory among its pods: in each window by the
// greater of request and use, and what is left is idle (accounting.md §5).
func (r *rater) node() error {
	c := r.cost
	if err := r.host(ResourceCPU, c.CPU, uint64(max(c.CPUMilli, 0))*nanosPerMilliMS, cpuOf); err != nil {
		return err
	}
	return r.host(ResourceMemory, c.Memory, c.MemoryBytes, memoryOf)
}

// ask is what a pod's record says of one resource, over its time: what the pod
// asked for and used, in CPU nanoseconds or byte-milliseconds.
type ask func(*usage.PodRecord) (request, used uint64)

func cpuOf(p *usage.PodRecord) (request, used uint64) {
	milli := uint64(max(p.CPURequestMilliMS, 0))
	return lesser(narrow(milli).times(nanosPerMilliMS), narrow(1<<63)).lo, p.CPUNanos
}

func memoryOf(p *usage.PodRecord) (request, used uint64) {
	return p.MemoryRequestByteMS, p.MemoryByteMS
}

// host divides one resource of the node. perMS is what the node has of it, in
// units for one millisecond.
func (r *rater) host(of Resource, cost money.Nano, perMS uint64, what ask) error {
	paid := &cost
	switch {
	case !r.cost.Priced && perMS == 0, r.cost.Priced && cost == 0:
		return nil // nothing to divide
	case !r.cost.Priced:
		paid = nil
	}
	to, from := &pot{explain: r.explain}, r.cost.StartMS
	b := to.of(gpu.PartitionID{})
	r.segments, _ = timeline(r.segments[:0], r.nodes, from, from+r.cost.DurationMS, r.cuts)
	for _, seg := range r.segments {
		if seg.ref < 0 || perMS == 0 || len(r.batches[seg.ref].Pods) == 0 {
			r.plain(to, b.platform(Unmeasured, ""), unmeasured, uint64(seg.until-seg.from), whole)
			continue
		}
		w := window{rater: r, pot: to, book: b, of: of, perMS: perMS, what: what, seg: seg}
		w.divide(r.batches[seg.ref])
	}
	return r.settle(to, of, "", paid, r.cost.DurationMS)
}

// window is the part of one batch in one piece, of one resource.
type window struct {
	rater *rater
	pot   *pot
	book  *book
	of    Resource
	perMS uint64
	what  ask
	seg   segment
	left  wide
}

// divide gives each pod the greater of request and use. Where the pods exceed
// what the node has, each has its proportion, in whole units: a nanosecond of
// CPU or a byte-millisecond is finer than any price.
func (w *window) divide(b *usage.Batch) {
	ms := w.seg.until - w.seg.from
	w.left = narrow(w.perMS).times(uint64(ms))
	wants, blind := w.ask(b.Pods)
	var sum wide
	for i := range wants {
		sum = sum.plus(wants[i].much)
	}
	if w.left.less(sum) {
		cutDown(wants, w.left, sum)
	}
	for i := range wants {
		w.serve(&wants[i])
	}
	w.rest(min(blind, ms), ms)
}

// serve gives a pod what it is to have.
func (w *window) serve(n *want) {
	g, inUse := gradeOfPod(n.pod), lesser(n.much, n.used)
	w.give(n.cell, &g, held, inUse)
	w.give(n.cell, &g, kept, n.much.minus(inUse))
	if w.rater.explain {
		den := w.pot.den(narrow(w.perMS))
		n.cell.add(den, 0, askedHeld, n.used)
		n.cell.add(den, 0, askedReserve, n.request)
		n.cell.add(den, 0, askedKept, above(n.request, n.used))
	}
}

// want is what a pod is to have of a window.
type want struct {
	pod                 *usage.PodRecord
	cell                *cell
	much, request, used wide
}

// ask lists what the pods want, and for how long nobody looked.
func (w *window) ask(pods []usage.PodRecord) (wants []want, blind int64) {
	wants = w.rater.wants[:0]
	for i := range pods {
		p, at := &pods[i], podCut(&pods[i], w.seg)
		request, used := w.what(p)
		request, used = at.of64(request), at.of64(used)
		c := w.book.pod(p.Holder, false)
		wants = append(wants, want{p, c, narrow(max(request, used)), narrow(request), narrow(used)})
		blind = max(blind, at.ms(p.UnmeasuredMS))
		w.count(&c.amounts, p, at)
	}
	w.rater.wants = wants
	return wants, blind
}

// cutDown divides all in proportion to what is wanted, in order of the pods.
func cutDown(wants []want, all, sum wide) {
	slices.SortStableFunc(wants, func(a, b want) int { return a.pod.Holder.Compare(b.pod.Holder) })
	var before, given wide
	for i := range wants {
		before = before.plus(wants[i].much)
		upTo := scaled(all, before, sum)
		wants[i].much, given = upTo.minus(given), upTo
	}
}

// scaled is all × part / sum, rounded down.
func scaled(all, part, sum wide) wide {
	n := all.big()
	n.Mul(n, part.big())
	return fromBig(n.Quo(n, sum.big()))
}

// rest is idle, or, of the time in which nobody looked, unmeasured.
func (w *window) rest(blind, ms int64) {
	left := w.left
	lost := left.part(uint64(blind), uint64(ms))
	nobodyLooked, looked := only(unmeasured), only(measured)
	w.give(w.book.platform(Unmeasured, ""), &nobodyLooked, other, lost)
	note := ""
	if w.rater.closed(w.seg.from) {
		note = Unschedulable
	}
	w.give(w.book.platform(Idle, note), &looked, other, left.minus(lost))
}

func (w *window) give(c *cell, g *gradeTime, as part, n wide) {
	den := w.pot.den(narrow(w.perMS))
	c.worst = max(c.worst, g.worst())
	g.each(n, func(grade int, n wide) { c.add(den, grade, as, n) })
	w.left = w.left.minus(n)
}

func (w *window) count(q *Quantities, p *usage.PodRecord, at cut) {
	q.PresentMS += at.ms(p.PresentMS)
	if w.of == ResourceCPU {
		q.CPUNanos += at.of64(p.CPUNanos)
		q.CPURequestMilliMS += at.ms(p.CPURequestMilliMS)
		return
	}
	q.ByteMS.Add(at.of64(p.MemoryByteMS))
	q.RequestByteMS.Add(at.of64(p.MemoryRequestByteMS))
}

// podCut is the part of a pod's record in a segment of its batch.
func podCut(p *usage.PodRecord, seg segment) cut {
	of := max(p.DurationMS, 1)
	from := min(max(seg.from-p.StartMS, 0), of)
	return cut{from, max(from, min(seg.until-p.StartMS, of)), of}
}

// gradeOfPod: what is asked for while nobody looked is unmeasured.
func gradeOfPod(p *usage.PodRecord) (g gradeTime) {
	g[measured], g[unmeasured] = max(p.PresentMS, 0), max(p.UnmeasuredMS, 0)
	return g
}
