// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
)

// tally collects the errors of pods: their own, in share of their truth, and
// the sums they come to.
type tally struct {
	relative          []float64
	wrong, off, truth float64
}

func (t *tally) add(got, want float64) {
	if want == 0 {
		return // it died before it held anything
	}
	t.relative = append(t.relative, math.Abs(got-want)/want)
	t.wrong += math.Abs(got - want)
	t.off += got - want
	t.truth += want
}

// stats of a tally, in percent: per-pod mean, 95th percentile and maximum; the
// same errors weighted by what each pod truly held; and the signed bias.
type stats struct{ mean, p95, max, weighted, bias float64 }

func (t *tally) stats() stats {
	if len(t.relative) == 0 {
		return stats{}
	}
	slices.Sort(t.relative)
	sum := 0.0
	for _, r := range t.relative {
		sum += r
	}
	n := len(t.relative)
	return stats{
		mean: 100 * sum / float64(n), p95: 100 * t.relative[(n*95)/100], max: 100 * t.relative[n-1],
		weighted: 100 * t.wrong / t.truth, bias: 100 * t.off / t.truth,
	}
}

// byClass is one tally for each class of pods, and one of all at the end.
type byClass []tally

func newByClass() byClass { return make(byClass, len(classes)+1) }

func (c byClass) add(w *world, got []float64) {
	for pod, want := range w.truth() {
		c[w.class[pod]].add(got[pod], want)
		c[len(classes)].add(got[pod], want)
	}
}
