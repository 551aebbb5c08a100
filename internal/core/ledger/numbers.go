// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Quantities are those of allocation, with a sign: a line may take away what an
// earlier one said.
type Quantities struct {
	ShareMS           int64 `json:"share_ms"`
	UsedMS            int64 `json:"used_ms,omitempty"`
	UnusedMS          int64 `json:"unused_ms,omitempty"`
	ByteMS            Wide  `json:"byte_ms,omitzero"`
	PresentMS         int64 `json:"present_ms,omitempty"`
	GrantedMS         int64 `json:"granted_ms,omitempty"`
	CPUNanos          int64 `json:"cpu_nanos,omitempty"`
	CPURequestMilliMS int64 `json:"cpu_request_milli_ms,omitempty"`
	RequestByteMS     Wide  `json:"request_byte_ms,omitzero"`
}

// GradePart is the part of a line that is of one grade: the amounts are divided
// by the share's times, so that they add up over any number of lines. Without a
// price they are 0 and mean nothing.
type GradePart struct {
	Grade   gpu.Grade  `json:"grade"`
	ShareMS int64      `json:"share_ms,omitempty"`
	Amount  money.Nano `json:"amount,omitzero"`
	Moved   money.Nano `json:"moved,omitzero"`
}

// gradeOrder lists the grades of a measurement, best first.
var gradeOrder = gpu.Grades()

// numbers are all that is summed over the lines of an entry.
type numbers struct {
	amount, moved money.Nano
	Quantities
	grades [gpu.GradeCount]gradeNumbers
}

type gradeNumbers struct {
	shareMS       int64
	amount, moved money.Nano
}

// numbersOf is an entry's numbers.
func numbersOf(e *allocation.Entry) (n numbers, err error) {
	q := &e.Quantities
	if e.Amount != nil {
		n.amount = *e.Amount
	}
	if e.Moved != nil {
		n.moved = *e.Moved
	}
	if q.CPUNanos > math.MaxInt64 {
		return n, fmt.Errorf("entry %s on account %s: %d nanoseconds of CPU are no hour's", e.ID, e.Account, q.CPUNanos)
	}
	n.Quantities = Quantities{
		ShareMS: q.ShareMS, UsedMS: q.UsedMS, UnusedMS: q.UnusedMS, PresentMS: q.PresentMS, GrantedMS: q.GrantedMS,
		CPUNanos: int64(q.CPUNanos), CPURequestMilliMS: q.CPURequestMilliMS,
	}
	if n.ByteMS, err = wideOf(q.ByteMS); err == nil {
		n.RequestByteMS, err = wideOf(q.RequestByteMS)
	}
	if err == nil {
		err = n.grade(q)
	}
	if err != nil {
		return n, fmt.Errorf("entry %s on account %s: %w", e.ID, e.Account, err)
	}
	return n, nil
}

// grade divides the numbers by grade.
func (n *numbers) grade(q *allocation.Quantities) error {
	var ms [gpu.GradeCount]int64
	sum := int64(0)
	for g, part := range q.GradeMS {
		i := g.Rank()
		if i < 0 || part < 0 {
			return fmt.Errorf("grade %q has %d ms; grades are %v", g, part, gradeOrder)
		}
		ms[i], sum = part, sum+part
	}
	worst := q.Grade.Rank()
	switch {
	case worst < 0 || q.ShareMS < 0:
		return fmt.Errorf("its share is %d ms, of grade %q; grades are %v", q.ShareMS, q.Grade, gradeOrder)
	case q.GradeMS != nil && sum != q.ShareMS:
		return fmt.Errorf("its grades sum to %d ms, its share is %d ms", sum, q.ShareMS)
	case sum > 0:
		return n.divide(ms)
	}
	// All of one grade, or money without time, such as a part passed on.
	n.grades[worst] = gradeNumbers{q.ShareMS, n.amount, n.moved}
	return nil
}

func (n *numbers) divide(ms [gpu.GradeCount]int64) error {
	amounts, err := money.ApportionInts(n.amount, ms[:]...)
	if err != nil {
		return err
	}
	moved, err := money.ApportionInts(n.moved, ms[:]...)
	if err != nil {
		return err
	}
	for i := range n.grades {
		n.grades[i] = gradeNumbers{ms[i], amounts[i], moved[i]}
	}
	return nil
}

// words are all numbers of 64 bits.
func (n *numbers) words() []*int64 {
	out := []*int64{
		(*int64)(&n.amount), (*int64)(&n.moved), &n.ShareMS, &n.UsedMS, &n.UnusedMS,
		&n.PresentMS, &n.GrantedMS, &n.CPUNanos, &n.CPURequestMilliMS,
	}
	for i := range n.grades {
		g := &n.grades[i]
		out = append(out, &g.shareMS, (*int64)(&g.amount), (*int64)(&g.moved))
	}
	return out
}

// plus is the sum; it fails where a number does not fit.
func (n numbers) plus(o numbers) (numbers, error) {
	from := o.words()
	for i, to := range n.words() {
		a, b := *to, *from[i]
		*to = a + b
		if (a < 0) == (b < 0) && (*to < 0) != (a < 0) {
			return n, fmt.Errorf("%d + %d does not fit 64 bits", a, b)
		}
	}
	n.ByteMS.Add(o.ByteMS)
	n.RequestByteMS.Add(o.RequestByteMS)
	return n, nil
}

// negated is the numbers with the other sign.
func (n numbers) negated() numbers {
	for _, w := range n.words() {
		*w = -*w
	}
	n.ByteMS, n.RequestByteMS = n.ByteMS.Neg(), n.RequestByteMS.Neg()
	return n
}

// parts are the grades that have a number.
func (n *numbers) parts() (out []GradePart) {
	for i, g := range n.grades {
		if g != (gradeNumbers{}) {
			out = append(out, GradePart{gradeOrder[i], g.shareMS, g.amount, g.moved})
		}
	}
	return out
}
