// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
)

// Standing is what the workload is like in its last hour.
func (c *Case) Standing(f *Fleet) *advice.Standing {
	last := c.hours[len(c.hours)-1]
	perPod, most := map[string]int{}, 0
	for _, h := range c.hours {
		if h.HourMS == last.HourMS {
			perPod[h.Holder.PodKey()]++
			most = max(most, perPod[h.Holder.PodKey()])
		}
	}
	what := strings.TrimPrefix(last.Model, "NVIDIA ")
	if c.Profile != "" {
		what = c.Profile + " of " + what
	}
	out := &advice.Standing{Template: templateOf(last), Layout: fmt.Sprintf("%d × %s", most, what)}
	if f.Price == nil {
		return out
	}
	for _, at := range c.now {
		if p := f.Price(at.cluster, at.node); p != nil && (out.DeviceHour == nil || p.Currency == out.Currency && p.DeviceHour < *out.DeviceHour) {
			out.DeviceHour, out.Currency = &p.DeviceHour, p.Currency
		}
	}
	return out
}

// HadLast is what a workload had in the last of its hours.
func HadLast(hours []*activity.Hour) (out advice.Had) {
	var last int64
	for _, h := range hours {
		last = max(last, h.HourMS)
	}
	perPod := map[string]int{}
	for _, h := range hours {
		if h.HourMS != last {
			continue
		}
		out.Model, out.Profile = h.Model, h.Profile
		perPod[h.Holder.PodKey()]++
		out.PerPod = max(out.PerPod, perPod[h.Holder.PodKey()])
		if h.Engine != nil && h.Engine.Fraction != nil {
			out.Fraction = fractionText(*h.Engine.Fraction)
		}
	}
	return out
}

// StandingOf is that of several workloads together.
func StandingOf(cases []*Case, f *Fleet) *advice.Standing {
	var all []*advice.Standing
	for _, c := range cases {
		all = append(all, c.Standing(f))
	}
	return advice.Joined(all)
}

// Same picks the case that is of the kind of partition given; or, where the workload is on
// another kind by now, that. nil: it is gone.
func Same(cases []*Case, model, profile string) *Case {
	var same, other *Case
	for _, c := range cases {
		switch {
		case c.Device.Model == model && c.Profile == profile:
			same = c
		case other == nil || c.Running() && !other.Running():
			other = c
		}
	}
	if same == nil || other != nil && other.Running() && !same.Running() {
		return other
	}
	return same
}
