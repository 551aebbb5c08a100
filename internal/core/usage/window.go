// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
)

// header is a batch for the next ms milliseconds of the open window.
func (in *Integrator) header(ms int64) Batch {
	return Batch{
		Version: BatchVersion, Cluster: in.cfg.Cluster, Node: in.cfg.Node,
		Agent: in.cfg.Agent, Boot: in.cfg.Boot,
		StartMS: in.clock.label, DurationMS: ms, IntervalMS: in.cfg.IntervalMS,
		ProviderID: in.node.providerID(),
	}
}

func (in *Integrator) emit(b Batch) {
	b.Seq = in.seq
	in.seq++
	in.out = append(in.out, b)
}

// closeWindow emits the open window up to now and starts every piece anew. A
// window of no length is not emitted: what was noted in it waits for the next.
// The caller opens the next window.
func (in *Integrator) closeWindow() {
	if in.now == in.clock.start {
		return
	}
	b := in.header(in.now - in.clock.start)
	for _, t := range in.sortedTracks() {
		t.write(&b, &in.clock, in.now)
		if t.piece == nil {
			delete(in.tracks, t.id)
		}
	}
	in.node.write(&b, &in.clock)
	b.Pods = in.pods.write(Span{StartMS: b.StartMS, DurationMS: b.DurationMS})
	b.Engines = in.engines.write(Span{StartMS: b.StartMS, DurationMS: b.DurationMS}, in.now)
	b.Findings = in.findings.write()
	in.emit(b)
}

func (in *Integrator) sortedTracks() []*track {
	all := make([]*track, 0, len(in.tracks))
	for _, t := range in.tracks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *track) int { return a.id.Compare(b.id) })
	return all
}

// tracksOf lists the partitions of a device that have an open piece, in order.
func (in *Integrator) tracksOf(d gpu.UUID) []*track {
	var of []*track
	for _, t := range in.tracks {
		if t.id.Device == d && t.piece != nil {
			of = append(of, t)
		}
	}
	slices.SortFunc(of, func(a, b *track) int { return a.id.Compare(b.id) })
	return of
}
