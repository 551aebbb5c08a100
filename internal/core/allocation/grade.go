// SPDX-License-Identifier: Apache-2.0

package allocation

import "github.com/gputally/gputally/internal/core/gpu"

// grades are those of accounting.md §7, best first.
var grades = gpu.Grades()

// The places of the grades that are given here and not read from records.
const (
	measured   = 0
	derived    = 1
	estimated  = 2
	unmeasured = gpu.GradeCount - 1
)

// rank is the place of a grade; one that is not known is the worst.
func rank(g gpu.Grade) int {
	if i := g.Rank(); i >= 0 {
		return i
	}
	return unmeasured
}

// gradeTime is milliseconds by grade.
type gradeTime [gpu.GradeCount]int64

// add takes the grades of a record: all of ms is of one, or split says.
func (t *gradeTime) add(g gpu.Grade, split map[gpu.Grade]int64, ms int64) {
	if split == nil {
		t[rank(g)] += ms
		return
	}
	for g, ms := range split {
		t[rank(g)] += ms
	}
}

func (t *gradeTime) sum() (ms int64) {
	for _, n := range t {
		ms += n
	}
	return ms
}

// only is time of one grade.
func only(grade int) gradeTime {
	var t gradeTime
	t[grade] = 1
	return t
}

// worst is the worst grade with any time.
func (t *gradeTime) worst() int {
	for g := len(t) - 1; g >= 0; g-- {
		if t[g] > 0 {
			return g
		}
	}
	return unmeasured
}

// each calls f with the parts of n by grade, in proportion to the time. They
// sum to n: what rounding leaves goes to the worst.
func (t *gradeTime) each(n wide, f func(grade int, part wide)) {
	sum, left, worst := uint64(t.sum()), n, t.worst()
	for g := range worst {
		if t[g] > 0 {
			p := n.part(uint64(t[g]), sum)
			left = left.minus(p)
			f(g, p)
		}
	}
	f(worst, left)
}
