// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// script is all that happens on a node.
type script struct {
	node     Node
	from, to time.Time
	rnd      *rand.Rand

	stays []*stay
	// hosts are processes outside Kubernetes.
	hosts []hostProcess
	// layouts are how cards in MIG mode were cut, by GPU and time.
	layouts []layout
	// troubles are the times in which a card could not be read, extras those in
	// which it counted memory as used that no process shows.
	troubles []trouble
	extras   []extra
	// cordons are the times in which the scheduler left the node out, downs those
	// without an agent, broken those in which MPS had no server.
	cordons, downs, broken []span
	// slices and claims are what DRA publishes and allocates.
	slices []workload.Slice
	claims []workload.Claim

	serial uint64
}

func newScript(n Node, from, to time.Time, rnd *rand.Rand) *script {
	return &script{node: n, from: from, to: to, rnd: rnd, serial: 1000}
}

// span is a time: [from, to).
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

func anyHas(spans []span, at time.Time) bool {
	for _, s := range spans {
		if s.has(at) {
			return true
		}
	}
	return false
}

// layout is how a card in MIG mode was cut for a time.
type layout struct {
	span
	gpu       int
	instances []Instance
}

// Instance is a MIG GPU instance: its id, first memory slice and profile.
type Instance struct {
	GI, Start uint32
	Profile   string
}

// profiles are the MIG profiles of an A100 with 80 GB: memory slices, compute
// slices, bytes (NVIDIA's MIG guide; package mocknvml has the same).
var profiles = map[string]struct {
	id, size, compute uint32
	bytes             uint64
}{
	"1g.10gb": {19, 1, 1, 9856 * mib}, "2g.20gb": {14, 2, 2, 19968 * mib},
	"3g.40gb": {9, 4, 3, 40192 * mib}, "4g.40gb": {5, 4, 4, 40192 * mib},
}

// trouble is a time in which a card does not answer.
type trouble struct {
	span
	gpu    int
	state  gpu.State
	reason string
	xid    uint64
}

type extra struct {
	span
	gpu   int
	bytes uint64
}

type hostProcess struct {
	span
	unit string
	process
}

// day is midnight of UTC.
type day struct{ time.Time }

func (d day) at(hour, minute int) time.Time {
	return d.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

func (d day) weekend() bool { return d.Weekday() == time.Saturday || d.Weekday() == time.Sunday }

// days are the days that the script touches, from the week before on: what began
// then may last.
func (s *script) days() iter.Seq2[int, day] {
	return func(yield func(int, day) bool) {
		first := s.from.Truncate(24 * time.Hour)
		for i := -7; first.AddDate(0, 0, i).Before(s.to); i++ {
			if !yield(i, day{first.AddDate(0, 0, i)}) {
				return
			}
		}
	}
}

// on is a day by its number: 0 is the first of the script.
func (s *script) on(n int) day { return day{s.from.Truncate(24*time.Hour).AddDate(0, 0, n)} }

// around is a duration that differs by up to a spread, in whole seconds.
func (s *script) around(d, spread time.Duration) time.Duration {
	return (d + time.Duration(s.rnd.Int64N(int64(2*spread)+1)) - spread).Truncate(time.Second)
}

// chance is true so many times in a hundred.
func (s *script) chance(percent int) bool { return s.rnd.IntN(100) < percent }

// next is a number that the node had not yet: of a process or a pod.
func (s *script) next() uint64 {
	s.serial++
	return s.serial
}

// uid is the UID of a pod.
func (s *script) uid() string {
	a, b := s.rnd.Uint64(), s.rnd.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a), uint16(a>>32), a>>52, b>>52, b&(1<<48-1))
}

// suffix is what a ReplicaSet or a Job puts behind the names of its pods.
func (s *script) suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789" // k8s.io/apimachinery/pkg/util/rand
	out := make([]byte, 5)
	for i := range out {
		out[i] = letters[s.rnd.IntN(len(letters))]
	}
	return string(out)
}
