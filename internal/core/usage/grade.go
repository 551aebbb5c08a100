// SPDX-License-Identifier: Apache-2.0

package usage

import "github.com/gputally/gputally/internal/core/gpu"

// rank orders grades from best to worst.
type rank int

var ranked = gpu.Grades()

// rankOf ranks a grade; one that is not known is the worst.
func rankOf(g gpu.Grade) rank {
	if i := g.Rank(); i >= 0 {
		return rank(i)
	}
	return rank(gpu.GradeCount - 1)
}

// gradeTimes is milliseconds by grade.
type gradeTimes [gpu.GradeCount]int64

// worst is the worst grade with any time, and the split by grade where there
// is more than one. Without time the grade is unmeasured.
func (g *gradeTimes) worst() (gpu.Grade, map[gpu.Grade]int64) {
	worst, n := gpu.Unmeasured, 0
	for i, ms := range g {
		if ms > 0 {
			worst, n = ranked[i], n+1
		}
	}
	if n < 2 {
		return worst, nil
	}
	split := make(map[gpu.Grade]int64, n)
	for i, ms := range g {
		if ms > 0 {
			split[ranked[i]] = ms
		}
	}
	return worst, split
}
