// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
)

// Others is the most that pods without a GPU asked for on a node, by the hour in which
// a window begins: the window with the most CPU, of those the one with the most memory.
func Others(batches []usage.Batch) map[int64]*attribution.OtherPods {
	out := map[int64]*attribution.OtherPods{}
	for i := range batches {
		o := batches[i].Others
		if o == nil {
			continue
		}
		hour := batches[i].StartMS - mod(batches[i].StartMS, hourMS)
		if had := out[hour]; had == nil || compareRequests(&had.Requests, &o.Requests) < 0 ||
			had.Requests == o.Requests && compareRequests(&had.Movable, &o.Movable) < 0 {
			out[hour] = o
		}
	}
	return out
}

func compareRequests(a, b *attribution.Requests) int {
	return cmp.Or(cmp.Compare(a.CPUMilli, b.CPUMilli), cmp.Compare(a.MemoryBytes, b.MemoryBytes), cmp.Compare(a.Pods, b.Pods))
}
