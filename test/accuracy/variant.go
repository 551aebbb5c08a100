// SPDX-License-Identifier: Apache-2.0

package main

// variant is a rule that turns two neighbouring samples into byte-time. The
// plain rule is the integrator's own; these are the ones it was weighed against.
type variant struct {
	name string
	// both, ended and began are what a process counts for, between two
	// samples a and b, that was seen in both, only in a, or only in b.
	both         func(atA, atB uint64, dt int64) float64
	ended, began func(p *process, bytes uint64, a, b int64) float64
	// missed is what a process counts for that lived between a and b unseen.
	missed func(p *process) float64
}

func product(bytes uint64, ms int64) float64 { return float64(bytes) * float64(ms) }

func holdBoth(atA, _ uint64, dt int64) float64 { return product(atA, dt) }

func meanBoth(atA, atB uint64, dt int64) float64 { return (product(atA, dt) + product(atB, dt)) / 2 }

func nothing(*process) float64 { return 0 }

var variants = []variant{
	{
		name: "hold until the next sample (the rule)", both: holdBoth, missed: nothing,
		ended: func(_ *process, v uint64, a, b int64) float64 { return product(v, b-a) },
		began: func(*process, uint64, int64, int64) float64 { return 0 },
	},
	{
		name: "mean of both samples (trapezoid)", missed: nothing,
		both:  meanBoth,
		ended: func(_ *process, v uint64, a, b int64) float64 { return product(v, b-a) / 2 },
		began: func(_ *process, v uint64, a, b int64) float64 { return product(v, b-a) / 2 },
	},
	{
		name: "hold, but from the process's start to half an interval after it was last seen", both: holdBoth, missed: nothing,
		ended: func(_ *process, v uint64, a, b int64) float64 { return product(v, b-a) / 2 },
		began: sinceStart,
	},
	{
		name: "trapezoid from the process's start to half an interval after it was last seen", both: meanBoth, missed: nothing,
		ended: func(_ *process, v uint64, a, b int64) float64 { return product(v, b-a) / 2 },
		began: sinceStart,
	},
	{
		name: "trapezoid between start and end by accounting mode, unseen at peak × life", both: meanBoth,
		ended:  func(p *process, v uint64, a, _ int64) float64 { return product(v, p.end-a) },
		began:  sinceStart,
		missed: func(p *process) float64 { return product(p.peak(), p.end-p.start) },
	},
}

// sinceStart dates a holding back to the start of its process (/proc/PID/stat
// counts it in hundredths of a second).
func sinceStart(p *process, v uint64, a, b int64) float64 {
	return product(v, b-max(p.start/10*10, a))
}

// measure applies a variant to the world as sampled at the given times, and
// returns the byte-milliseconds of each pod.
func measure(w *world, times []int64, v variant) []float64 {
	sums := make([]float64, len(w.class))
	seen := make([]bool, len(w.processes))
	var last look
	sampleWorld(w, times, func(l look) {
		before := map[int]uint64{}
		for _, h := range last.held {
			before[h.process] = h.bytes
		}
		for _, h := range l.held {
			p := &w.processes[h.process]
			seen[h.process] = true
			if was, ok := before[h.process]; ok {
				sums[p.pod] += v.both(was, h.bytes, l.at-last.at)
				delete(before, h.process)
			} else {
				sums[p.pod] += v.began(p, h.bytes, last.at, l.at)
			}
		}
		for i, bytes := range before {
			p := &w.processes[i]
			sums[p.pod] += v.ended(p, bytes, last.at, l.at)
		}
		last = l
	})
	for i := range w.processes {
		if !seen[i] {
			sums[w.processes[i].pod] += v.missed(&w.processes[i])
		}
	}
	return sums
}
