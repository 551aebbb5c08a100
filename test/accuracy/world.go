// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	second = int64(1000)
	minute = 60 * second
	hour   = 60 * minute
	mib    = uint64(1) << 20
	// horizon is how long a simulated node runs; every pod lies within it.
	horizon = 3 * hour
)

// class is a kind of pod: how long it lives and what its processes are like.
type class struct {
	name string
	pods int
	// fill invents the processes of one pod.
	fill func(rnd *rand.Rand, w *world, pod int)
}

var classes = []class{
	{"one process, pod of 1–10 s", 40, lone(1*second, 10*second)},
	{"one process, pod of 10–60 s", 40, lone(10*second, minute)},
	{"one process, pod of 1–10 min", 30, lone(minute, 10*minute)},
	{"one process, pod of 10–60 min", 20, lone(10*minute, hour)},
	{"one process, pod of 1–2 h", 10, lone(hour, 2*hour)},
	{"an hour of processes of about 5 s (1 s and up), with pauses", 10, chain(1*second, 4*second, 5*second)},
	{"an hour of processes of about 1 min, with pauses", 10, chain(1*second, minute, 20*second)},
	{"an hour of processes of 7.5 s, on every full minute", 5, clockwork(7500)},
}

// process holds memory from its first step until its end, in milliseconds.
type process struct {
	pod        int
	start, end int64
	steps      []step
}

// step: from a time on the process holds so many bytes.
type step struct {
	at    int64
	bytes uint64
}

// world is one node with known truth.
type world struct {
	class     []int // of each pod
	processes []process
}

func newWorld(seed uint64) *world {
	w := &world{}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for c := range classes {
		for range classes[c].pods {
			w.class = append(w.class, c)
			classes[c].fill(rnd, w, len(w.class)-1)
		}
	}
	slices.SortFunc(w.processes, func(a, b process) int { return cmp.Compare(a.start, b.start) })
	return w
}

func between(rnd *rand.Rand, lo, hi int64) int64 { return lo + rnd.Int64N(hi-lo) }

// lone is a pod of one process.
func lone(lo, hi int64) func(*rand.Rand, *world, int) {
	return func(rnd *rand.Rand, w *world, pod int) {
		life := between(rnd, lo, hi)
		start := rnd.Int64N(horizon - life)
		w.run(rnd, pod, start, start+life)
	}
}

// chain is an hour of processes one after another: lifetimes at least lo and
// exponential above it, exponential pauses between them.
func chain(lo, more, pause int64) func(*rand.Rand, *world, int) {
	return func(rnd *rand.Rand, w *world, pod int) {
		at := rnd.Int64N(horizon - hour)
		for until := at + hour; ; {
			at += int64(rnd.ExpFloat64() * float64(pause))
			end := at + lo + int64(rnd.ExpFloat64()*float64(more))
			if end > until {
				return
			}
			w.run(rnd, pod, at, end)
			at = end
		}
	}
}

// clockwork starts a process on every full minute of an hour.
func clockwork(life int64) func(*rand.Rand, *world, int) {
	return func(rnd *rand.Rand, w *world, pod int) {
		first := rnd.Int64N((horizon-hour)/minute) * minute
		for i := range hour / minute {
			w.run(rnd, pod, first+i*minute, first+i*minute+life)
		}
	}
}

// run adds a process: a context of about 400 MiB after up to a second, then
// what it loads, in steps that double in distance, up to 20 GiB; now and then
// it gives some back.
func (w *world) run(rnd *rand.Rand, pod int, start, end int64) {
	p := process{pod: pod, start: start, end: end}
	at := start + between(rnd, 100, second)
	bytes := (300 + uint64(rnd.IntN(200))) * mib
	for gap := between(rnd, 200, 2*second); at < end && len(p.steps) < 16; gap *= 2 {
		p.steps = append(p.steps, step{at, bytes})
		if rnd.IntN(4) == 0 {
			bytes = bytes/2 + mib
		} else {
			bytes = min(bytes+uint64(rnd.IntN(3000))*mib, 20<<30)
		}
		at += gap
	}
	w.processes = append(w.processes, p)
}

// at is what the process holds at a time.
func (p *process) at(t int64) uint64 {
	held := uint64(0)
	for _, s := range p.steps {
		if s.at > t {
			break
		}
		held = s.bytes
	}
	return held
}

// byteMS is what it held in its life, exactly.
func (p *process) byteMS() uint64 {
	sum := uint64(0)
	for i, s := range p.steps {
		until := p.end
		if i+1 < len(p.steps) {
			until = p.steps[i+1].at
		}
		sum += s.bytes * uint64(until-s.at)
	}
	return sum
}

func (p *process) peak() uint64 {
	peak := uint64(0)
	for _, s := range p.steps {
		peak = max(peak, s.bytes)
	}
	return peak
}

// truth is the byte-milliseconds of each pod.
func (w *world) truth() []float64 {
	sums := make([]float64, len(w.class))
	for i := range w.processes {
		sums[w.processes[i].pod] += float64(w.processes[i].byteMS())
	}
	return sums
}
