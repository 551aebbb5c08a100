// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/activity"
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

func why(reasons map[signal.Reason]int) (out string) {
	for _, r := range []signal.Reason{signal.NotMeasured, signal.NoActivity, signal.Undecided, signal.NoDetail, signal.NoMajority} {
		if n := reasons[r]; n > 0 {
			out += fmt.Sprintf("%s%s (%d)", map[bool]string{true: ", ", false: ""}[out != ""], r, n)
		}
	}
	return out
}
