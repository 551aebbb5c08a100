// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"

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
			r.Refusals = append(r.Refusals, Refusal{NoSignal, "memory and activity of " + u.Partition, "without both nobody can say that it was never used"})
		case *u.PeakBytes == 0 && u.Holders > 1:
			r.Refusals = append(r.Refusals, Refusal{Indivisible, "activity of the workload alone on " + u.Partition, "others hold it, too"})
		case u.never():
			idle = append(idle, u.Partition)
		}
	}
	if len(idle) == 0 {
		return r.refuse(Refusal{NoFit, fmt.Sprintf("a GPU that was never used: %d of %d", len(idle), len(uses)), "little use is none of this"}), nil
	}
	for _, p := range idle {
		r.Evidence = append(r.Evidence, Evidence{"held_bytes and busy of " + p, "max", 0, "", gpu.Measured})
	}
	r.Risk = Risk{Restart: true, Notes: []string{"ask the owner: the parallel degree must divide heads and batch", "one GPU less of a node gives no node back"}}
	if len(idle) == len(uses) {
		r.Risk.Notes = []string{"ask the owner what the GPU is for: none of it was ever used"}
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
