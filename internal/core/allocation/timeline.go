// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/usage"
)

// stretch is a time of which one record tells.
type stretch struct {
	from, until int64
	// good: something was read. batch and ref find the record.
	good  bool
	batch *usage.Batch
	ref   int
}

// segment is a time for which one record speaks, or none (ref -1).
type segment struct {
	from, until int64
	ref         int
}

// better orders records that tell of the same time: one with readings first;
// then by agent and process, so that every rerun takes the same; then the later
// of one process, whose clock was set right in between.
func (s *stretch) better(o *stretch) int {
	switch {
	case s.good != o.good && s.good:
		return -1
	case s.good != o.good:
		return 1
	}
	return cmp.Or(
		strings.Compare(s.batch.Agent, o.batch.Agent), strings.Compare(s.batch.Boot, o.batch.Boot),
		cmp.Compare(o.batch.Seq, s.batch.Seq), cmp.Compare(s.from, o.from),
	)
}

// timeline tiles [from, until) with segments: at each moment one record speaks,
// whatever the number of agents or steps of the clock, so that nothing counts
// twice. cuts are further times at which segments end. It also tells for how
// long more than one record spoke. The segments are appended to out.
func timeline(out []segment, list []stretch, from, until int64, cuts []int64) (_ []segment, doubled int64) {
	list = within(list, from, until)
	list, doubled = single(list)
	at := from
	out = slices.Grow(out, len(list)+len(cuts)+1) // where nothing is missing
	add := func(to int64, ref int) {
		for _, c := range cuts {
			if at < c && c < to {
				out = append(out, segment{at, c, ref})
				at = c
			}
		}
		if at < to {
			out = append(out, segment{at, to, ref})
			at = to
		}
	}
	for _, s := range list {
		add(s.from, -1)
		add(s.until, s.ref)
	}
	add(until, -1)
	return out, doubled
}

// within cuts stretches to [from, until), in order of time. It returns those given
// where that is what they are.
func within(list []stretch, from, until int64) []stretch {
	if lieWithin(list, from, until) {
		return list
	}
	out := make([]stretch, 0, len(list))
	for _, s := range list {
		s.from, s.until = max(s.from, from), min(s.until, until)
		if s.from < s.until {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b stretch) int {
		if d := cmp.Compare(a.from, b.from); d != 0 {
			return d
		}
		return a.better(&b)
	})
	return out
}

// lieWithin: each stretch begins after the one before, within [from, until), and
// ends there.
func lieWithin(list []stretch, from, until int64) bool {
	for i := range list {
		s := &list[i]
		if s.from < from || s.until > until || s.from >= s.until || i > 0 && s.from <= list[i-1].from {
			return false
		}
	}
	return true
}

// single leaves one stretch for each moment: the better of those that overlap.
func single(list []stretch) (out []stretch, doubled int64) {
	clear := true
	for i := 1; i < len(list) && clear; i++ {
		clear = list[i-1].until <= list[i].from
	}
	if clear {
		return list, 0
	}
	bounds := boundsOf(list)
	for i := 1; i < len(bounds); i++ {
		best, n := bestAt(list, bounds[i-1])
		if n == 0 {
			continue
		}
		if n > 1 {
			doubled += bounds[i] - bounds[i-1]
		}
		if k := len(out); k > 0 && out[k-1].ref == best.ref && out[k-1].until == bounds[i-1] {
			out[k-1].until = bounds[i]
			continue
		}
		best.from, best.until = bounds[i-1], bounds[i]
		out = append(out, best)
	}
	return out, doubled
}

func boundsOf(list []stretch) []int64 {
	var out []int64
	for _, s := range list {
		out = append(out, s.from, s.until)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bestAt is the best of the stretches that cover a moment, and how many do.
func bestAt(list []stretch, at int64) (best stretch, n int) {
	for _, s := range list {
		if s.from > at {
			break
		}
		if at >= s.until {
			continue
		}
		if n++; n == 1 || s.better(&best) < 0 {
			best = s
		}
	}
	return best, n
}
