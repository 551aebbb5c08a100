// SPDX-License-Identifier: Apache-2.0

package usage

import "github.com/gputally/gputally/internal/core/attribution"

// The levels: figures that are no share of anything and are averaged over time
// as shares are, in the units in which they are read.
const (
	levelPower = iota
	levelPowerLimit
	levelPCIeRx
	levelPCIeTx
	levelCount
)

// levelMost keeps level × milliseconds of a window far below 2^63: a terabyte a
// second, or a gigawatt. More is a mistake of the reading, and no reading.
const levelMost = 1 << 40

type levelValues [levelCount]*uint64

func levelsOf(p *attribution.Partition) levelValues {
	return levelValues{p.Power.PowerMW, p.Power.LimitMW, p.Signals.PCIeRxPerS, p.Signals.PCIeTxPerS}
}

// levelSums adds up levels × milliseconds.
type levelSums struct {
	sum   [levelCount]uint64
	known [levelCount]int64
}

// add reports whether traffic, which is a signal, was read.
func (s *levelSums) add(v *levelValues, dt int64) (signal bool) {
	for i, level := range v {
		if level == nil || *level > levelMost {
			continue
		}
		signal = signal || i == levelPCIeRx || i == levelPCIeTx
		s.sum[i] += *level * uint64(dt)
		s.known[i] += dt
	}
	return signal
}

// mean is that over the time in which the level was read, rounded down; nil
// where it never was.
func (s *levelSums) mean(level int) *uint64 {
	if s.known[level] == 0 {
		return nil
	}
	v := s.sum[level] / uint64(s.known[level])
	return &v
}
