// SPDX-License-Identifier: Apache-2.0

package agent

import "time"

// StepSpread is the share of the interval by which the steps between two looks
// are at most longer or shorter, at random. Work that keeps the clock's time (a
// process on every full minute) would meet a sampler of fixed steps in the same
// phase each time, and its error would not average out: docs/accuracy.md has
// the figures. So little keeps two looks with one missed between them within
// three intervals, beyond which time counts as unmeasured.
const StepSpread = 0.2

// pacer says when to look next. Its times are durations since the loop's start.
type pacer struct {
	interval time.Duration
	due      time.Duration  // the planned time of the latest look
	draw     func() float64 // uniform in [0, 1)
}

// next plans the look after the one that ended at now. missed are the planned
// looks in between for which there was no time.
func (p *pacer) next(now time.Duration) (due time.Duration, missed int64) {
	for {
		p.due += p.step()
		if p.due > now {
			return p.due, missed
		}
		missed++
	}
}

// step is between (1 - StepSpread) and (1 + StepSpread) intervals, the interval
// on average.
func (p *pacer) step() time.Duration {
	return time.Duration(float64(p.interval) * (1 + StepSpread*(2*p.draw()-1)))
}
