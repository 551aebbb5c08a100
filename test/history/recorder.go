// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// recorder is the agent of a node: one process after the other.
type recorder struct {
	*script
	agent  string
	boot   int
	energy []uint64
	last   time.Time
	yield  func(usage.Batch) bool
}

// record hands on all batches until told to stop.
func (s *script) record(yield func(usage.Batch) bool) {
	r := recorder{script: s, agent: "history-" + s.node.Name, energy: make([]uint64, len(s.node.GPUs)), yield: yield}
	from := s.from
	for _, down := range s.downs {
		if !down.from.After(from) || !down.to.Before(s.to) {
			continue // it does not lie within the script
		}
		if !r.run(from, down.from) {
			return
		}
		from = down.to
	}
	r.run(from, s.to)
}

// run is one process of the agent. It says whether to go on.
func (r *recorder) run(from, to time.Time) bool {
	r.boot++
	cfg := usage.Config{
		Cluster: r.node.Cluster, Node: r.node.Name, Agent: r.agent, Boot: fmt.Sprintf("boot-%d", r.boot),
		IntervalMS: Interval.Milliseconds(), WindowMS: Window.Milliseconds(), FirstSeq: 1,
	}
	if r.boot > 1 {
		if !r.yield(gap(cfg, r.node.ProviderID, r.last, from)) {
			return false
		}
		cfg.FirstSeq++
	}
	attributor, integrator := attribution.New(attribution.Policy{Daemons: attribution.DefaultDaemons()}), usage.New(cfg)
	r.last = from
	for at := from; at.Before(to); at = at.Add(r.around(Interval, Interval/5)) {
		s := r.moment(at, at.Sub(from).Milliseconds(), r.energy)
		if !r.hand(integrator.Add(attributor.Attribute(s))) {
			return false
		}
		r.burn(&s)
	}
	r.last = to
	return r.hand(integrator.Close(to.Sub(from).Milliseconds(), to))
}

// gap is what an agent writes first when another process was there before it
// (app/agent: "agent_down").
func gap(cfg usage.Config, provider string, last, now time.Time) usage.Batch {
	at := usage.Span{StartMS: last.UnixMilli(), DurationMS: now.Sub(last).Milliseconds()}
	return usage.Batch{
		Version: usage.BatchVersion, Cluster: cfg.Cluster, Node: cfg.Node, Agent: cfg.Agent, Boot: cfg.Boot, Seq: 1,
		StartMS: at.StartMS, DurationMS: at.DurationMS, IntervalMS: cfg.IntervalMS,
		ProviderID: provider, Gap: &usage.Gap{Reason: "agent_down", Span: at},
	}
}

func (r *recorder) hand(batches []usage.Batch) bool {
	for _, b := range batches {
		if !r.yield(b) {
			return false
		}
	}
	return true
}

// burn adds the energy that the cards use until about the next sample: 60 W when
// idle, 340 W more when busy.
func (r *recorder) burn(s *sample.Sample) {
	for i := range s.Devices {
		if d := &s.Devices[i]; d.State == gpu.StateOK {
			r.energy[i] += uint64((60 + 340**d.Signals.Busy) * float64(Interval.Milliseconds()))
		}
	}
}
