// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"slices"
	"sort"
)

// Range is a run of sequence numbers, both ends included.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Mark is the set of sequence numbers of one boot that have arrived: all from 1
// to Seq without those Missing. The zero value is the empty set.
//
// Missing is sorted, its ranges are disjoint, do not touch and lie below Seq.
type Mark struct {
	Seq     uint64  `json:"seq"`
	Missing []Range `json:"missing,omitempty"`
}

// Has reports whether a number has arrived.
func (m Mark) Has(seq uint64) bool {
	if seq == 0 || seq > m.Seq {
		return false
	}
	i := m.find(seq)
	return i == len(m.Missing) || seq < m.Missing[i].First
}

// find returns the first missing range that ends at or after seq.
func (m Mark) find(seq uint64) int {
	return sort.Search(len(m.Missing), func(i int) bool { return m.Missing[i].Last >= seq })
}

// With is the mark after a number arrived; false when it had arrived before.
// The mark it is called on stays as it is.
func (m Mark) With(seq uint64) (Mark, bool) {
	if seq == 0 || m.Has(seq) {
		return m, false
	}
	if seq > m.Seq {
		next := Mark{Seq: seq, Missing: m.Missing}
		if seq > m.Seq+1 {
			next.Missing = append(slices.Clip(m.Missing), Range{m.Seq + 1, seq - 1})
		}
		return next, true
	}
	i := m.find(seq)
	return Mark{Seq: m.Seq, Missing: slices.Concat(m.Missing[:i], m.Missing[i].without(seq), m.Missing[i+1:])}, true
}

// without is what is left of a range when one of its numbers has arrived.
func (r Range) without(seq uint64) (rest []Range) {
	if r.First < seq {
		rest = append(rest, Range{r.First, seq - 1})
	}
	if seq < r.Last {
		rest = append(rest, Range{seq + 1, r.Last})
	}
	return rest
}

// AtMost is a mark with at most n missing ranges that claims nothing which m
// does not: where m has more, it ends before the first one too many.
func (m Mark) AtMost(n int) Mark {
	if len(m.Missing) <= n {
		return m
	}
	return Mark{Seq: m.Missing[n].First - 1, Missing: m.Missing[:n]}
}

// Check reports what is wrong with a mark that came from outside.
func (m Mark) Check() error {
	end := uint64(0)
	for i, r := range m.Missing {
		switch {
		case r.First == 0 || r.Last < r.First || r.Last >= m.Seq:
			return fmt.Errorf("missing[%d] %d-%d is no range below %d", i, r.First, r.Last, m.Seq)
		case i > 0 && r.First <= end+1:
			return fmt.Errorf("missing[%d] begins at %d, not behind %d", i, r.First, end+1)
		}
		end = r.Last
	}
	return nil
}
