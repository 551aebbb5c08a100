// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"cmp"
	"math"
	"slices"
)

// Spread is how long a signal had which value, in steps of a thousandth. Spreads
// of any hours merge exactly and in any order, which percentiles do not. The
// zero value is empty.
type Spread struct {
	// Steps are in rising order, each value once.
	Steps []Step
	// UnreadMS is time without a value.
	UnreadMS int64
}

// Step is time at a value, in thousandths, rounded up: a percentile is never
// below what was read.
type Step struct {
	Permille uint32
	MS       int64
}

// maxPermille bounds what a signal may be: they were seen above 1, not above 10.
const maxPermille = 10_000

// Add adds ms milliseconds at a value, nil where it was not read.
func (s *Spread) Add(v *float64, ms int64) {
	switch {
	case ms <= 0:
	case v == nil || math.IsNaN(*v) || *v < 0:
		s.UnreadMS += ms
	default:
		// 1e-9 takes back what a sum of decimals is too much by.
		s.put(Step{uint32(min(math.Ceil(*v*1000-1e-9), maxPermille)), ms})
	}
}

// Merge adds another spread.
func (s *Spread) Merge(o Spread) {
	s.UnreadMS += o.UnreadMS
	for _, step := range o.Steps {
		s.put(step)
	}
}

func (s *Spread) put(step Step) {
	if n := len(s.Steps); n == 0 || s.Steps[n-1].Permille < step.Permille {
		s.Steps = append(s.Steps, step) // steps of a spread come in order
		return
	}
	i, found := slices.BinarySearchFunc(s.Steps, step, func(a, b Step) int { return cmp.Compare(a.Permille, b.Permille) })
	if found {
		s.Steps[i].MS += step.MS
		return
	}
	s.Steps = slices.Insert(s.Steps, i, step)
}

// ReadMS is the time with a value.
func (s *Spread) ReadMS() (ms int64) {
	for _, step := range s.Steps {
		ms += step.MS
	}
	return ms
}

// Quantile is the smallest value that permille thousandths of the time did not
// exceed (990 is p99, 1000 the maximum). It is false where nothing was read.
func (s *Spread) Quantile(permille int64) (float64, bool) {
	total := s.ReadMS()
	if total == 0 || permille < 0 || permille > 1000 {
		return 0, false
	}
	var ms int64
	for _, step := range s.Steps {
		ms += step.MS
		if ms*1000 >= total*permille {
			return float64(step.Permille) / 1000, true
		}
	}
	return 0, false
}
