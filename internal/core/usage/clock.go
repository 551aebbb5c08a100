// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/attribution"
)

// stepMS is how far the wall clock may move against the monotonic clock before
// windows are labelled anew. Less is read jitter; because it is counted from
// the last label and not from the last sample, small steps cannot add up.
const stepMS = 1000

// clock maps the monotonic clock, which measures, to the wall clock, which
// labels. start and end are the open window, in monotonic milliseconds; label
// is the wall clock at start.
type clock struct {
	windowMS   int64
	start, end int64
	label      int64
	offset     int64 // wall − monotonic, when the label was last taken
}

// open begins a window at a sample: it ends when the monotonic clock has
// advanced to the next multiple of the window on the wall clock.
func (c *clock) open(mono, wall int64) {
	c.start, c.label, c.offset = mono, wall, wall-mono
	c.end = mono + c.toBoundary(wall)
}

// toBoundary is how long it is to the next multiple of the window.
func (c *clock) toBoundary(wall int64) int64 {
	into := wall % c.windowMS
	if into < 0 {
		into += c.windowMS
	}
	return c.windowMS - into
}

// cut ends an open window earlier, after ms, unless its boundary comes soon anyway.
func (c *clock) cut(ms int64) {
	if ms > 0 && c.end-c.start > 2*ms {
		c.end = c.start + ms
	}
}

// next begins the window that follows the closed one, which was perhaps cut: it ends
// at the boundary all the same.
func (c *clock) next() {
	c.label += c.end - c.start
	c.start = c.end
	c.end += c.toBoundary(c.label)
}

// skip moves an open window that has just begun later, by whole windows.
func (c *clock) skip(ms int64) {
	c.start, c.end, c.label = c.start+ms, c.end+ms, c.label+ms
}

// step is by how many milliseconds the wall clock moved against the monotonic
// one since the label was taken; 0 where that is within tolerance.
func (c *clock) step(mono, wall int64) int64 {
	d := wall - mono - c.offset
	if d > stepMS || d < -stepMS {
		return d
	}
	return 0
}

// span is a stretch of monotonic time within the open window, as labelled.
func (c *clock) span(from, to int64) Span {
	return Span{StartMS: c.label + from - c.start, DurationMS: to - from}
}

func clockStep(ms int64) attribution.Finding {
	return attribution.Finding{
		Kind: attribution.ClockStep, Severity: attribution.Info, Count: ms,
		Detail: fmt.Sprintf("the wall clock moved by %d ms against the monotonic clock; no time was lost or counted twice", ms),
	}
}
