// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// PartitionUse is the most that one of a pod's partitions saw in the period.
type PartitionUse struct {
	Partition string
	// PeakBytes of the pod, BusyMost of the partition; nil if not known.
	PeakBytes *uint64
	BusyMost  *float64
	Holders   int
}

func (u PartitionUse) never() bool {
	return u.PeakBytes != nil && *u.PeakBytes == 0 && u.BusyMost != nil && *u.BusyMost == 0
}

// FewerGPUs finds partitions that were granted and never used, some of a workload's or
// all. "Little used" is no such fact. How many the program can do with is for its owner
// to say: the degree of parallelism must divide heads or batch, so no number is
// proposed.
func FewerGPUs(s Subject, uses []PartitionUse) (Recommendation, error) {
	r := begin(KindFewer, &s)
	r.Refusals = s.gates()
	var idle []string
	for _, u := range uses {
		switch {
		case u.PeakBytes == nil || u.BusyMost == nil:
			r.Refusals = append(r.Refusals, lack(NoSignal, Say("activity_of", u.Partition), Say("both_needed")))
		case *u.PeakBytes == 0 && u.Holders > 1:
			r.Refusals = append(r.Refusals, lack(Indivisible, Say("alone_on", u.Partition), Say("others_hold")))
		case u.never():
			idle = append(idle, u.Partition)
		}
	}
	if len(idle) == 0 {
		return r.refuse(lack(NoFit, Say("never_used", len(idle), len(uses)), Say("little_use"))), nil
	}
	for _, p := range idle {
		r.Evidence = append(r.Evidence, Evidence{Say("held_busy_of", p), "max", 0, "", gpu.Measured})
	}
	r.Risk = Risk{Restart: true, Notes: []string{Say("ask_parallel"), Say("one_less")}}
	if len(idle) == len(uses) {
		r.Risk.Notes = []string{Say("ask_unused")}
	}
	m, err := s.unusedMoney(len(idle))
	return r.finish(&s, Change{Resource: s.Current.Resource, With: idle}, m), err
}

// unusedMoney is that of n partitions given back: whole cards, or instances, whose
// slices others can have as far as the layout lets them.
func (s *Subject) unusedMoney(n int) (*Money, error) {
	if s.HaveSlices == 0 || s.Price == nil || s.Device.Slices == 0 {
		return s.cardsMoney(n)
	}
	card, err := month(s.Price.DeviceHour)
	if err != nil {
		return nil, err
	}
	one, err := part(card, int64(min(s.HaveSlices, s.Device.Slices)), int64(s.Device.Slices))
	if err != nil {
		return nil, err
	}
	m := s.Price.money(Capacity)
	m.ChargeDelta, m.FreedIdle = &one, one
	return m.Times(int64(n))
}

// cardsMoney is that of n whole cards given back on a node that stays.
func (s *Subject) cardsMoney(n int) (*Money, error) {
	if s.Price == nil {
		return nil, nil
	}
	one, err := month(s.Price.DeviceHour)
	if err != nil {
		return nil, err
	}
	var sum money.Sum
	for range n {
		sum.Add(one)
	}
	all, err := sum.Nano()
	if err != nil {
		return nil, err
	}
	m := s.Price.money(Capacity)
	m.ChargeDelta, m.FreedIdle = &all, all
	return m, nil
}
