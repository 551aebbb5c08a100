// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// TestServingHours: the class of every pod-hour of the serving day. The trace has
// memory and duty cycle only, so no class may be finer than busy; every hour of a
// pod is there once, with the time that the pod was.
func TestServingHours(t *testing.T) {
	servers, records := serving(t)
	present := int64(0)
	for i := range servers {
		for _, s := range servers[i].Stretches() {
			present += s.to - s.from
		}
	}
	type sum struct {
		hours, pods int
		ms          int64
		gib         float64
		reasons     map[signal.Reason]int
	}
	by, seen := map[signal.Class]*sum{}, map[signal.Class]map[string]bool{}
	known, all := int64(0), int64(0)
	for _, batches := range records {
		for _, h := range activity.OfNode(batches, func(gpu.UUID) *uint64 { return nil }) {
			c := h.Verdict.Class
			if by[c] == nil {
				by[c], seen[c] = &sum{reasons: map[signal.Reason]int{}}, map[string]bool{}
			}
			s := by[c]
			s.hours, s.ms, s.gib = s.hours+1, s.ms+h.DurationMS, s.gib+float64(h.ByteMS)/(1<<30)/hourMS
			s.reasons[h.Verdict.Reason]++
			seen[c][h.Holder.Pod] = true
			all += h.DurationMS
			known += h.Active.ReadMS()
			if h.HourMS%hourMS != 0 || h.DurationMS > hourMS || h.Holders != 1 || h.SM.ReadMS()+h.DRAM.ReadMS() > 0 {
				t.Errorf("%s: %+v", h.Holder.Pod, h)
			}
		}
	}
	if all != present {
		t.Errorf("hours of %d ms, the pods were there for %d ms", all, present)
	}
	lines := head("class", "pod-hours of the clock", "pods", "GPU-hours", "GiB-hours held", "why not finer")
	for _, c := range signal.Classes() {
		s := by[c]
		if s == nil {
			continue
		}
		if !slices.Contains([]signal.Class{signal.Unknown, signal.Unused, signal.Empty, signal.Waiting, signal.Busy}, c) {
			t.Errorf("%d hours are %s: memory and busy cannot tell that", s.hours, c)
		}
		lines = append(lines, row("`"+string(c)+"`", s.hours, len(seen[c]), hoursText(s.ms), fmt.Sprintf("%.1f", s.gib), why(s.reasons)))
	}
	documented(t, "serving day by class", lines...)
	if known > all || known < all*9/10 {
		t.Errorf("activity is known of %d of %d ms", known, all)
	}
}

// TestServingAdvice: what is advised for the day, as it is, and as it were had it gone
// on like that for four weeks. One day is never enough; of four weeks, memory and duty
// cycle tell enough to leave idle GPUs alone and not to size any by compute.
func TestServingAdvice(t *testing.T) {
	_, records := serving(t)
	of := map[string][]*activity.Hour{}
	var names []string
	first, last := int64(math.MaxInt64), int64(0)
	for _, batches := range records {
		hours := activity.OfNode(batches, func(gpu.UUID) *uint64 { return nil })
		for i := range hours {
			h := &hours[i]
			name := h.Holder.Namespace + "/" + h.Holder.Pod
			if of[name] == nil {
				names = append(names, name)
			}
			of[name] = append(of[name], h)
			first, last = min(first, h.HourMS), max(last, h.HourMS+hourMS)
		}
	}
	slices.Sort(names)
	lines := head("time", "pods", "kind of change", "advised", "refused", "refusals that block, by pods")
	for _, days := range []int64{1, 28} {
		shift := 24 * int64(hourMS)
		to := first - first%shift + days*shift
		counts := map[advice.Kind]*tally{}
		pods := 0
		for _, name := range names {
			var hours []*activity.Hour
			for day := range days {
				for _, h := range of[name] {
					again := *h
					again.HourMS += day * shift
					hours = append(hours, &again)
				}
			}
			for _, c := range advisor.Cases(hours, to-days*shift, max(to, last+(days-1)*shift)) {
				pods++
				list, err := c.Advise(&advisor.Fleet{})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					count(counts, &r)
					if r.State == advice.Advised && (days == 1 || r.Kind == advice.KindMIG) {
						t.Errorf("%d days: %s of %s is advised on memory and duty cycle", days, r.Kind, name)
					}
				}
			}
		}
		for _, kind := range []advice.Kind{advice.KindMIG, advice.KindReclaim, advice.KindFewer} {
			if c := counts[kind]; c != nil {
				lines = append(lines, row(fmt.Sprintf("%d × the day", days), pods, "`"+string(kind)+"`", c.advised, c.refused, c.text()))
			}
		}
	}
	documented(t, "serving day advice", lines...)
}

// tally counts answers of a kind.
type tally struct {
	advised, refused int
	codes            map[advice.Code]int
}

func count(counts map[advice.Kind]*tally, r *advice.Recommendation) {
	c := counts[r.Kind]
	if c == nil {
		c = &tally{codes: map[advice.Code]int{}}
		counts[r.Kind] = c
	}
	if r.State == advice.Advised {
		c.advised++
		return
	}
	c.refused++
	seen := map[advice.Code]bool{}
	for _, f := range r.Refusals {
		if f.Blocks() && !seen[f.Code] {
			seen[f.Code] = true
			c.codes[f.Code]++
		}
	}
}

func (c *tally) text() string {
	var out []string
	for _, code := range slices.Sorted(maps.Keys(c.codes)) {
		out = append(out, fmt.Sprintf("`%s` %d", code, c.codes[code]))
	}
	return strings.Join(out, ", ")
}

func why(reasons map[signal.Reason]int) (out string) {
	for _, r := range []signal.Reason{signal.NotMeasured, signal.NoActivity, signal.Undecided, signal.NoDetail, signal.NoMajority} {
		if n := reasons[r]; n > 0 {
			out += fmt.Sprintf("%s%s (%d)", map[bool]string{true: ", ", false: ""}[out != ""], r, n)
		}
	}
	return out
}
