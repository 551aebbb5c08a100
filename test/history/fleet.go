// SPDX-License-Identifier: Apache-2.0

package history

import (
	"iter"
	"math/rand/v2"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// Interval is how far samples lie apart on average, Window how long a window of
// records is. Both are coarse, so that a month takes seconds.
const (
	Interval = 15 * time.Minute
	Window   = 15 * time.Minute
)

// bootTime is how long a machine was paid for before its first record.
const bootTime = 7 * time.Minute

// Fleet is three nodes and what happened on them from one time until another.
type Fleet struct {
	seed     uint64
	from, to time.Time
}

// New is a fleet of which there are records of [from, to), in milliseconds. All
// that can happen has happened after 26 days.
func New(seed uint64, from, to time.Time) *Fleet {
	return &Fleet{seed: seed, from: from.UTC().Truncate(time.Millisecond), to: to.UTC().Truncate(time.Millisecond)}
}

// plot says what happens on a node: it fills in a script.
type plot func(*script)

// plots are the nodes in the order of Nodes.
var plots = []struct {
	node func(created time.Time) Node
	plot plot
}{{nodeAWS, training}, {nodeGCP, sharing}, {nodeRack, mixing}}

// Nodes are the machines, as they are at the end.
func (f *Fleet) Nodes() []Node {
	var out []Node
	for _, p := range plots {
		out = append(out, p.node(f.from.Add(-bootTime)))
	}
	return out
}

// Span is the time that the records are of.
func (f *Fleet) Span() (from, to time.Time) { return f.from, f.to }

// Batches walks what the agent of a node wrote, in the order in which it wrote
// it. It makes the records as it goes; each walk makes the same ones.
func (f *Fleet) Batches(node string) iter.Seq[usage.Batch] {
	return func(yield func(usage.Batch) bool) {
		for i, p := range plots {
			n := p.node(f.from.Add(-bootTime))
			if n.Name != node {
				continue
			}
			s := newScript(n, f.from, f.to, rand.New(rand.NewPCG(f.seed, uint64(i))))
			p.plot(s)
			s.record(yield)
		}
	}
}
