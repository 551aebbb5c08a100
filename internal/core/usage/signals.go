// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"math"

	"github.com/gputally/gputally/internal/core/sample"
)

// fixed is a signal in billionths. Signals are floats for people; their sums
// over time are integers, so they depend on no order and on no split.
type fixed int64

const (
	fixedOne  = 1_000_000_000
	fixedNone = fixed(-1)
	// fixedMost keeps value × milliseconds of a window far below 2^63.
	fixedMost = 10_000 * fixedOne
)

func fixedOf(v *float64) fixed {
	if v == nil || math.IsNaN(*v) || *v < 0 {
		return fixedNone
	}
	return fixed(math.Round(min(*v*fixedOne, fixedMost)))
}

func (f fixed) plus(o fixed) fixed {
	if f == fixedNone {
		return o
	}
	if o == fixedNone {
		return f
	}
	return min(f+o, fixedMost)
}

const signalCount = 10

type signalValues [signalCount]fixed

func signalsOf(s sample.Signals) signalValues {
	return signalValues{
		fixedOf(s.Busy), fixedOf(s.MemoryBusy), fixedOf(s.EngineActive), fixedOf(s.SMActive),
		fixedOf(s.SMOccupancy), fixedOf(s.TensorActive), fixedOf(s.DRAMActive),
		fixedOf(s.FP64Active), fixedOf(s.FP32Active), fixedOf(s.FP16Active),
	}
}

// signalSums adds up signals × milliseconds.
type signalSums struct {
	sum    [signalCount]int64
	known  [signalCount]int64
	any    int64
	levels levelSums
}

func (s *signalSums) add(v *signalValues, levels *levelValues, dt int64) {
	seen := s.levels.add(levels, dt)
	for i, f := range v {
		if f == fixedNone {
			continue
		}
		seen = true
		s.sum[i] += int64(f) * dt
		s.known[i] += dt
	}
	if seen {
		s.any += dt
	}
}

func (s *signalSums) mean() Signals {
	m := func(i int) *float64 {
		if s.known[i] == 0 {
			return nil
		}
		v := float64(s.sum[i]) / float64(s.known[i]) / fixedOne
		return &v
	}
	return Signals{KnownMS: s.any, Signals: sample.Signals{
		Busy: m(0), MemoryBusy: m(1), EngineActive: m(2), SMActive: m(3),
		SMOccupancy: m(4), TensorActive: m(5), DRAMActive: m(6),
		FP64Active: m(7), FP32Active: m(8), FP16Active: m(9),
		PCIeRxPerS: s.levels.mean(levelPCIeRx), PCIeTxPerS: s.levels.mean(levelPCIeTx),
	}}
}
