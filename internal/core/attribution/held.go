// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/sample"
)

// onePerProcess sorts a device's processes and keeps each once per compute
// instance: NVML may name a process in its compute, graphics and MPS lists,
// with the same memory. Sizes of one process are never summed.
func onePerProcess(held []sample.Held) []sample.Held {
	out := slices.Clone(held)
	slices.SortFunc(out, func(a, b sample.Held) int {
		return cmp.Or(sameProcess(a, b), cmp.Compare(rank(a.Kind), rank(b.Kind)), largerFirst(a, b))
	})
	return slices.CompactFunc(out, func(a, b sample.Held) bool { return sameProcess(a, b) == 0 })
}

func sameProcess(a, b sample.Held) int {
	return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(deref(a.Compute), deref(b.Compute)))
}

// largerFirst puts a known size before an unknown one, and the larger first.
func largerFirst(a, b sample.Held) int {
	if (a.Bytes == nil) != (b.Bytes == nil) {
		if a.Bytes == nil {
			return 1
		}
		return -1
	}
	return cmp.Compare(deref(b.Bytes), deref(a.Bytes))
}

// rank orders the lists by what they tell.
func rank(k sample.ProcessKind) int {
	switch k {
	case sample.KindMPS:
		return 0
	case sample.KindCompute:
		return 1
	}
	return 2
}
