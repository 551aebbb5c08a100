// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/sample"
)

// A process has the kind of its most telling list, and that list's size unless
// only another has one.
func TestProcessHasTheSizeThatAnyListTells(t *testing.T) {
	held := func(kind sample.ProcessKind, bytes uint64) sample.Held {
		h := sample.Held{PID: 1, Kind: kind}
		if bytes > 0 {
			h.Bytes = &bytes
		}
		return h
	}
	mps, compute, graphics := sample.KindMPS, sample.KindCompute, sample.KindGraphics
	for name, c := range map[string]struct {
		lists []sample.Held
		want  sample.Held
	}{
		"graphics knows":            {[]sample.Held{held(compute, 0), held(graphics, 5)}, held(compute, 5)},
		"compute knows":             {[]sample.Held{held(graphics, 0), held(compute, 5)}, held(compute, 5)},
		"two of three know":         {[]sample.Held{held(graphics, 4), held(mps, 0), held(compute, 5)}, held(mps, 5)},
		"the most telling one wins": {[]sample.Held{held(graphics, 9), held(mps, 4), held(compute, 5)}, held(mps, 4)},
		"nobody knows":              {[]sample.Held{held(graphics, 0), held(mps, 0)}, held(mps, 0)},
		"the same list twice":       {[]sample.Held{held(compute, 0), held(compute, 7)}, held(compute, 7)},
	} {
		for range len(c.lists) {
			c.lists = append(c.lists[1:], c.lists[0])
			if diff := cmp.Diff([]sample.Held{c.want}, processesOf(c.lists)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", name, diff)
			}
		}
	}
}
