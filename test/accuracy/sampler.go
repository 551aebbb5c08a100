// SPDX-License-Identifier: Apache-2.0

package main

import "math/rand/v2"

// held is one process at one sample: what NVML and /proc would say of it.
type held struct {
	process int
	bytes   uint64
}

// look is one sample: the processes that hold memory then, in a fixed order.
type look struct {
	at   int64
	held []held
}

// ticks are the times of samples over the horizon and a little beyond. The
// phase is random; jitter is the share of the interval by which each step is
// longer or shorter, independently of all others.
func ticks(rnd *rand.Rand, interval int64, jitter float64) []int64 {
	var out []int64
	at := rnd.Int64N(interval) - interval
	for ; at < horizon+interval; at += interval + int64((2*rnd.Float64()-1)*jitter*float64(interval)) {
		out = append(out, at)
	}
	return append(out, at)
}

// sampleWorld looks at the world at the given times, one after another.
func sampleWorld(w *world, times []int64, see func(look)) {
	var alive []int
	next := 0
	for _, t := range times {
		for ; next < len(w.processes) && w.processes[next].start <= t; next++ {
			alive = append(alive, next)
		}
		l, kept := look{at: t}, alive[:0]
		for _, i := range alive {
			p := &w.processes[i]
			if p.end <= t {
				continue
			}
			kept = append(kept, i)
			if b := p.at(t); b > 0 {
				l.held = append(l.held, held{i, b})
			}
		}
		alive = kept
		see(l)
	}
}
