// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Host is a GPU node as its CPUs limit it. Its pods of the subject have one GPU
// each.
type Host struct {
	AllocatableMilli, OtherMilli int64
	GPUs, UsedGPUs               int
	// Replicas are the subject's pods there, each asking RequestMilli; P999Milli
	// is what one used but for a thousandth of the time, nil if not known.
	Replicas     int
	RequestMilli int64
	P999Milli    *int64
	// PendingMS is how long of the period such pods waited for a place.
	PendingMS int64
}

// stranded is how many free GPUs nobody can have, for want of CPU.
func (h Host) stranded(requestMilli int64) int {
	free := h.GPUs - h.UsedGPUs
	left := h.AllocatableMilli - h.OtherMilli - int64(h.Replicas)*requestMilli
	return free - min(free, int(max(left, 0)/requestMilli))
}

// CPURequest proposes to ask for less CPU, where that gives GPUs back that
// nobody can have now.
func CPURequest(s Subject, h Host) (Recommendation, error) {
	r := begin(KindHostDemand, &s)
	r.Refusals = s.gates()
	r.Current.CPUMilli = h.RequestMilli
	if h.P999Milli == nil || h.RequestMilli <= 0 {
		r.Refusals = append(r.Refusals, Refusal{NoSignal, "what CPU the pods use and ask for", "the agent reads it from their cgroups"})
	}
	if blocked(r.Refusals) {
		return r.refuse(), nil
	}
	want := wholeCores(*h.P999Milli)
	r.Evidence = append(r.Evidence, Evidence{"cpu", "p99.9", float64(*h.P999Milli) / 1000, "cores", gpu.Measured})
	before, after := h.stranded(h.RequestMilli), h.stranded(min(want, h.RequestMilli))
	r.Tests = append(r.Tests, Test{Of: fmt.Sprintf("%d cores", want/1000), Name: "stranded GPUs", Sum: fmt.Sprintf("%d before", before), Value: float64(after), Limit: float64(before - 1), Holds: after < before})
	if after >= before {
		return r.refuse(Refusal{NoCapacityEffect, "a GPU that a smaller request would free", "CPU is not what limits this node"}, Refusal{NoFit, "a smaller request that changes anything", "see the test"}), nil
	}
	r.Risk = Risk{Restart: true, Notes: []string{"loading data takes CPU in bursts: watch GPU activity after the change"}}
	m, err := s.hostMoney(before-after, h.PendingMS)
	return r.finish(&s, Change{CPUMilli: want}, m), err
}

// wholeCores is what was used with the margin, a core at least, rounded up.
func wholeCores(p999Milli int64) int64 {
	milli := max((p999Milli*marginNum+marginDen-1)/marginDen, 1000)
	return (milli + 999) / 1000 * 1000
}

// hostMoney: stranded cards become idle ones. They avoid a purchase for as long
// as pods waited for them.
func (s *Subject) hostMoney(cards int, pendingMS int64) (*Money, error) {
	m, err := s.cardsMoney(cards)
	if m == nil || err != nil {
		return nil, err
	}
	m.ChargeDelta = new(money.Nano)
	m.FreedStranded = -m.FreedIdle
	if pendingMS > 0 {
		m.Class = Avoidable
		m.Avoidable, err = part(m.FreedIdle, pendingMS, s.ToMS-s.FromMS)
	}
	return m, err
}
