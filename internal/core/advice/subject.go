// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// Device is what is known of the card under a workload.
type Device struct {
	Model         string
	CapacityBytes uint64
	ReserveBytes  uint64
	// SMs and Slices (memory slices, 0 without MIG) of the whole card.
	SMs    uint32
	Slices uint32
	// Legal are the placements that NVML gives, nil for NVIDIA's tables.
	Legal []gpu.ProfilePlacements
	// Bandwidth in GB/s, Tensor in TFLOP/s; 0 where not known.
	Bandwidth, Tensor float64
	// Capability is CUDA's compute capability times ten: 80 for an A100.
	Capability int
}

// ClassTime is how long a workload was of a class.
type ClassTime struct {
	Class signal.Class
	MS    int64
}

// Subject is a workload and what was seen of it.
type Subject struct {
	Target  Target
	Work    Work
	Current Change
	Device  Device
	// HaveSlices and HaveSMs are of the MIG instance that it has, 0 for the
	// whole card.
	HaveSlices, HaveSMs uint32
	// FromMS and ToMS are the time looked at. GrantedMS of it the workload had
	// its grant, MeasuredMS of that was measured, SkewedMS of that the reads
	// disagreed.
	FromMS, ToMS                    int64
	GrantedMS, MeasuredMS, SkewedMS int64
	// Runs are completed runs of the same owner and specification (training).
	Runs int
	// Changed: template, image, arguments, model or driver changed in between.
	Changed bool
	// GPUs is how many partitions one pod has; Holders how many hold this one.
	GPUs, Holders int
	Graphics, IPC bool
	// PeakBytes is the most that was held on the partition, nil if not known,
	// LeakBytes what of it is of holders without a grant. MeanBytes is the mean.
	PeakBytes *uint64
	LeakBytes uint64
	MeanBytes *uint64
	// P999Bytes is what it held but for a thousandth of the time: shown beside
	// the peak, never sized by.
	P999Bytes *uint64
	PeakGrade gpu.Grade
	// Engine is the program that takes memory in advance, "" for none. Pool is
	// what it told of itself.
	Engine string
	Pool   *Pool
	// PoolRefusals are why what the engine told says nothing of what it needs
	// (demand.Need).
	PoolRefusals []Refusal
	// SM, DRAM and Tensor are the raw signals of minutes with activity.
	SM, DRAM, Tensor signal.Spread
	Classes          []ClassTime
	// LatencyDeclared: somebody says what latency or throughput is wanted, and
	// it is known.
	LatencyDeclared bool
	// OptedOut is the sentence of the owner's reason for no advice, "" for none.
	OptedOut string
	Price    *Price
}

func (s *Subject) measuredShare() float64 {
	if s.GrantedMS <= 0 {
		return 0
	}
	return float64(s.MeasuredMS-s.SkewedMS) / float64(s.GrantedMS)
}

// mostly is the class of most of the time, the first of equals.
func (s *Subject) mostly() ClassTime {
	if len(s.Classes) == 0 {
		return ClassTime{Class: signal.Unknown}
	}
	return slices.MaxFunc(s.Classes, func(a, b ClassTime) int {
		return cmp.Or(cmp.Compare(a.MS, b.MS), cmp.Compare(b.Class, a.Class))
	})
}

// gates are the refusals that hold for every kind of advice.
func (s *Subject) gates() []Refusal {
	var out []Refusal
	add := func(c Code, missing, how string) { out = append(out, lack(c, missing, how)) }
	if s.OptedOut != "" {
		add(OptedOut, s.OptedOut, Say("ask_owner"))
	}
	if s.Changed {
		add(ChangedWorkload, Say("one_template"), Say("wait_change"))
	}
	if missing := s.history(); missing != "" {
		add(NotEnoughHistory, missing, Say("wait_lower"))
	}
	if have := s.measuredShare(); have < MinMeasured {
		if s.SkewedMS > 0 && float64(s.MeasuredMS) >= MinMeasured*float64(s.GrantedMS) {
			add(Skewed, Say("reads_agree", percent(float64(s.SkewedMS)/float64(s.MeasuredMS))), Say("node_findings"))
		} else {
			add(Coverage, Say("measured", percent(have), percent(MinMeasured)), Say("gaps"))
		}
	}
	if s.stalls() {
		add(SuspectStall, Say("surely_worked"), Say("look_hangs"))
	}
	return out
}

func (s *Subject) history() string {
	if s.Work == Training {
		if s.Runs < minRuns {
			return Say("runs_seen", s.Runs, minRuns)
		}
		return ""
	}
	if have, want := s.ToMS-s.FromMS, s.Work.periodMS(); have < want {
		return Say("days_seen", have/dayMS, want/dayMS)
	}
	return ""
}

func (s *Subject) stalls() bool {
	return slices.ContainsFunc(s.Classes, func(c ClassTime) bool { return c.Class == signal.SuspectStall && c.MS > 0 })
}

// alone refuses what only a single holder's signals can tell.
func (s *Subject) alone() []Refusal {
	if s.Holders <= 1 {
		return nil
	}
	return []Refusal{lack(Indivisible, Say("signals_of", s.Holders), Say("run_alone"))}
}

// confidence is by the weakest of what the advice rests on.
func (s *Subject) confidence(refusals []Refusal) Confidence {
	unsure := slices.ContainsFunc(refusals, func(r Refusal) bool { return r.Code == LatencyUnknown })
	if unsure || s.PeakGrade == gpu.Estimated || s.Pool != nil {
		return Low
	}
	top := s.mostly()
	var all int64
	for _, c := range s.Classes {
		all += c.MS
	}
	steady := all > 0 && float64(top.MS) >= SteadyClass*float64(all) && top.Class != signal.Unknown
	long := s.Work == Training && s.Runs >= 2*minRuns || s.Work != Training && s.ToMS-s.FromMS >= 2*s.Work.periodMS()
	if s.PeakGrade == gpu.Measured && steady && long && s.LatencyDeclared {
		return High
	}
	return Medium
}

func (s *Subject) latency() []Refusal {
	if s.LatencyDeclared {
		return nil
	}
	return []Refusal{lack(LatencyUnknown, Say("latency"), Say("declare"))}
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }
