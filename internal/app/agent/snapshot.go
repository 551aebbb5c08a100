// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Snapshot is the picture of one moment, with the sums up to it.
type Snapshot struct {
	Result   attribution.Result
	Totals   []HolderTotal
	Stats    Stats
	Interval time.Duration
}

// HolderTotal is what one holder had on one partition since the agent began.
type HolderTotal struct {
	Partition gpu.PartitionID
	Holder    workload.Holder
	// ByteMS is in byte-milliseconds.
	ByteMS usage.Total
}

// Stats counts what the loop did since it began.
type Stats struct {
	Samples, MissedTicks, Windows uint64
	// Failures counts failed reads by source, Events device events.
	Failures map[string]uint64
	Events   map[EventKey]uint64
	// LastSample is when the last sample was taken, LastDuration how long it
	// took to take and digest, Busy the sum of all durations.
	LastSample         time.Time
	LastDuration, Busy time.Duration
}

// EventKey is what events of devices are counted by.
type EventKey struct {
	Device gpu.UUID
	Kind   string
	XID    uint64
}

// Compare orders keys by device, kind and XID.
func (k EventKey) Compare(o EventKey) int {
	return cmp.Or(cmp.Compare(k.Device, o.Device), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.XID, o.XID))
}

func (s *Stats) count(in sample.Sample, r attribution.Result, took time.Duration) {
	if s.Failures == nil {
		s.Failures, s.Events = map[string]uint64{}, map[EventKey]uint64{}
	}
	s.Samples++
	s.LastSample, s.LastDuration = in.At, took
	s.Busy += took
	for name, st := range in.Sources {
		if !st.OK {
			s.Failures[name]++
		}
	}
	for device, events := range r.Events {
		for _, e := range events {
			s.Events[EventKey{device, e.Kind, e.XID}]++
		}
	}
}

func (s *Stats) clone() Stats {
	c := *s
	c.Failures, c.Events = maps.Clone(s.Failures), maps.Clone(s.Events)
	return c
}

// keepTotals is how many intervals, at least, and how long, at least, a holder
// that is gone keeps its total: long enough for a scraper to see the last value.
const (
	keepTotals    = 3
	keepTotalsFor = 2 * time.Minute
)

// meter sums what each holder has, sample by sample, under the same rule as
// the integrator: a value holds until the next sample, and time between
// samples more than three intervals apart counts for nothing.
type meter struct {
	interval time.Duration
	last     attribution.Result
	begun    bool
	sums     map[meterKey]*metered
}

type meterKey struct {
	partition gpu.PartitionID
	holder    workload.Holder
}

type metered struct {
	total  usage.Total
	seenMS int64
}

func newMeter(interval time.Duration) *meter {
	return &meter{interval: interval, sums: map[meterKey]*metered{}}
}

// gapIntervals is accounting.md §3's: more is unmeasured.
const gapIntervals = 3

func (m *meter) add(r attribution.Result) {
	dt := r.MonoMS - m.last.MonoMS
	if m.begun && dt > 0 && dt <= gapIntervals*m.interval.Milliseconds() {
		m.accrue(m.last, uint64(dt))
	}
	m.begun, m.last = true, r
	m.see(r)
	keep := max(keepTotals*m.interval, keepTotalsFor).Milliseconds()
	maps.DeleteFunc(m.sums, func(_ meterKey, v *metered) bool { return r.MonoMS-v.seenMS > keep })
}

func (m *meter) accrue(r attribution.Result, dt uint64) {
	for _, p := range r.Partitions {
		for _, h := range p.Holdings {
			if h.Bytes != nil && p.State == gpu.StateOK {
				m.sums[meterKey{p.ID, h.Holder}].total.Add(*h.Bytes * dt)
			}
		}
	}
}

// see makes the series of everyone who holds something now.
func (m *meter) see(r attribution.Result) {
	for _, p := range r.Partitions {
		for _, h := range p.Holdings {
			k := meterKey{p.ID, h.Holder}
			if m.sums[k] == nil {
				m.sums[k] = &metered{}
			}
			m.sums[k].seenMS = r.MonoMS
		}
	}
}

func (m *meter) totals() []HolderTotal {
	out := make([]HolderTotal, 0, len(m.sums))
	for k, v := range m.sums {
		out = append(out, HolderTotal{Partition: k.partition, Holder: k.holder, ByteMS: v.total})
	}
	slices.SortFunc(out, func(a, b HolderTotal) int {
		return cmp.Or(a.Partition.Compare(b.Partition), a.Holder.Compare(b.Holder))
	})
	return out
}
