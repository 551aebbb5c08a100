// SPDX-License-Identifier: Apache-2.0

// Package replay owns the run of recorded samples through attribution and
// integration, and, where prices are given, on to the entries of a bill, and the
// tables that show the outcome. It is the node agent and the server's rating
// without a node and without a store: the same core, the same figures.
//
// It does not read capture files, price books or policies (adapters do).
package replay

import (
	"fmt"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// Source is where the samples of a node come from.
type Source interface {
	Samples(node string) iter.Seq[sample.Sample]
}

// Options say how to run.
type Options struct {
	Policy   attribution.Policy
	Interval time.Duration
	// MonoMS is the monotonic clock at the start of the window, and At the
	// moment, from there, whose split the report shows.
	MonoMS int64
	At     time.Duration
	// Watch, if set, sees every sample and what was made of it; offset is
	// milliseconds from the start of the window.
	Watch func(offset int64, s sample.Sample, r attribution.Result)
}

// Report is the outcome for one node.
type Report struct {
	Node    string `json:"node"`
	Samples int    `json:"samples"`
	// Moment is the last result at or before the moment asked for, nil where
	// there was none. OffsetMS is its time from the start of the window.
	Moment   *attribution.Result `json:"moment"`
	OffsetMS int64               `json:"offset_ms"`
	Batches  []usage.Batch       `json:"batches"`
	// Policy and Hours are what Rate makes of the batches; nil without prices.
	Policy string `json:"policy,omitempty"`
	Hours  []Hour `json:"hours,omitempty"`
}

// Run replays one node. An error means that a closed window does not add up,
// which is a mistake of this program.
func Run(src Source, node string, o Options) (Report, error) {
	rep := Report{Node: node}
	attributor := attribution.New(o.Policy)
	in := usage.New(usage.Config{
		Node: node, Agent: "replay", Boot: "replay", IntervalMS: o.Interval.Milliseconds(),
	})
	var last attribution.Result
	for s := range src.Samples(node) {
		last = attributor.Attribute(s)
		offset := s.MonoMS - o.MonoMS
		if offset <= o.At.Milliseconds() {
			moment := last
			rep.Moment, rep.OffsetMS = &moment, offset
		}
		if o.Watch != nil {
			o.Watch(offset, s, last)
		}
		rep.Samples++
		if offset >= 0 { // before the window a node is known, not counted
			rep.Batches = append(rep.Batches, in.Add(last)...)
		}
	}
	if rep.Samples > 0 {
		rep.Batches = append(rep.Batches, in.Close(last.MonoMS, last.At)...)
	}
	for _, b := range rep.Batches {
		if err := b.Check(); err != nil {
			return rep, fmt.Errorf("replay node %s: %w", node, err)
		}
	}
	return rep, nil
}
