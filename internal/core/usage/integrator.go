// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"math"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// BatchVersion is the version of the batch format written here.
const BatchVersion = 1

// gapIntervals is how many sampling intervals two samples may lie apart before
// the time between them counts as unmeasured (accounting.md §3).
const gapIntervals = 3

// longGapMS is the unmeasured time beyond which whole windows are named by one
// Gap instead of being written out one by one.
const longGapMS = 24 * 60 * 60 * 1000

// Config names the agent and sets the rhythm. Zero values mean the defaults:
// an interval of 5 s, windows of 60 s, sequence numbers from 1.
type Config struct {
	Cluster    string
	Node       string
	Agent      string
	Boot       string
	IntervalMS int64
	WindowMS   int64
	// FirstMS ends the first window so long after it began, where its boundary is more
	// than twice as far: what an agent has to tell is then known soon after its start, at
	// whatever second of the minute that was. 0: at the boundary, as every other window.
	FirstMS  int64
	FirstSeq uint64
}

func (c Config) withDefaults() Config {
	if c.IntervalMS <= 0 {
		c.IntervalMS = 5000
	}
	if c.WindowMS <= 0 {
		c.WindowMS = 60000
	}
	if c.FirstSeq == 0 {
		c.FirstSeq = 1
	}
	return c
}

// Integrator turns attributed samples into closed windows. A value holds from
// its sample until the next one. It reads no clock: time comes with the
// samples, MonoMS to measure and At to label. It is not safe for concurrent
// use. A Result must not be changed after it was added: parts of it are kept.
type Integrator struct {
	cfg Config
	// limit is the largest size in bytes whose sum over a window fits 64 bits:
	// with 60 s, 2^64/60000 bytes or 279 TiB on one partition. A larger one is
	// refused as unreadable, so no sum here can wrap.
	limit    uint64
	seq      uint64
	started  bool
	now      int64 // monotonic time up to which everything is integrated
	sample   uint64
	clock    clock
	tracks   map[gpu.PartitionID]*track
	pods     podBook
	engines  engineBook
	node     nodeTrack
	findings findingBook
	out      []Batch
	rejected uint64
}

// New returns an Integrator that opens its first window with the first sample.
func New(cfg Config) *Integrator {
	cfg = cfg.withDefaults()
	in := &Integrator{cfg: cfg, limit: math.MaxUint64 / uint64(cfg.WindowMS), seq: cfg.FirstSeq}
	in.reset()
	return in
}

func (in *Integrator) reset() {
	in.started = false
	in.tracks = map[gpu.PartitionID]*track{}
	in.pods, in.engines = podBook{}, engineBook{}
	in.node.restart()
	in.findings = findingBook{}
}

// Rejected counts the samples that were older, by the monotonic clock, than
// one already integrated. They change nothing.
func (in *Integrator) Rejected() uint64 { return in.rejected }

// Add integrates up to the sample's time what was held before it, and holds
// the sample from then on. It returns the windows that closed, oldest first.
func (in *Integrator) Add(r attribution.Result) []Batch {
	wall := r.At.UnixMilli()
	switch {
	case !in.started:
		in.begin(r.MonoMS, wall)
	case r.MonoMS < in.now:
		in.rejected++
		return nil
	}
	before := in.now
	in.sample++
	in.observeCounters(&r)
	in.advance(r.MonoMS)
	late := in.attach(&r, before)
	in.engines.observe(r.Engines, in.now)
	in.settle(r.MonoMS, wall)
	in.install(&r)
	for _, note := range late {
		note()
	}
	return in.take()
}

// Close ends the open window at the given time, as a clean shutdown does, and
// forgets what was held: a later Add begins anew, with the next sequence number.
func (in *Integrator) Close(atMonoMS int64, at time.Time) []Batch {
	if !in.started {
		return nil
	}
	atMonoMS = max(atMonoMS, in.now)
	in.dropCounters()
	in.advance(atMonoMS)
	if step := in.clock.step(atMonoMS, at.UnixMilli()); step != 0 {
		in.findings.note(clockStep(step))
	}
	in.closeWindow()
	in.reset()
	return in.take()
}

func (in *Integrator) begin(mono, wall int64) {
	in.started, in.now = true, mono
	in.clock = clock{windowMS: in.cfg.WindowMS}
	in.clock.open(mono, wall)
	in.clock.cut(in.cfg.FirstMS)
}

// settle closes the window where it ends at this sample: at its boundary, or
// because the wall clock was stepped and the next window needs a new label.
func (in *Integrator) settle(mono, wall int64) {
	if step := in.clock.step(mono, wall); step != 0 {
		in.findings.note(clockStep(step))
		in.closeWindow()
		in.clock.open(mono, wall)
		return
	}
	if in.clock.end == mono {
		in.closeWindow()
		in.clock.next()
	}
}

// advance integrates what is held up to a time, closing each window whose end
// lies before it.
func (in *Integrator) advance(to int64) {
	gap := to-in.now > gapIntervals*in.cfg.IntervalMS
	for in.clock.end < to {
		in.accrue(in.clock.end, gap)
		in.closeWindow()
		in.clock.next()
		if to-in.now > longGapMS {
			in.skipGap(to)
		}
	}
	in.accrue(to, gap)
}

// skipGap writes one Gap for all whole windows before a time.
func (in *Integrator) skipGap(to int64) {
	whole := (to - in.now) / in.cfg.WindowMS * in.cfg.WindowMS
	if whole == 0 {
		return
	}
	b := in.header(whole)
	b.Gap = &Gap{Reason: reasonNoSamples, Span: Span{StartMS: b.StartMS, DurationMS: whole}}
	in.emit(b)
	in.clock.skip(whole)
	in.now += whole
	// What counters grew by in that time has no record to go to.
	for _, t := range in.tracks {
		t.energy.take(in.now)
		t.restart(in.now)
	}
	in.pods.skip(in.now)
}

func (in *Integrator) accrue(to int64, gap bool) {
	dt := to - in.now
	if dt <= 0 {
		return
	}
	for _, t := range in.tracks {
		t.accrue(dt, to, gap)
	}
	in.pods.accrue(dt, to, gap)
	if !gap {
		in.node.accrue(in.now, to)
		in.findings.accrue(dt)
	}
	in.now = to
}

func (in *Integrator) take() []Batch {
	out := in.out
	in.out = nil
	return out
}
