// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOnce: whatever numbers arrive, in any order and any number of times, a
// mark says "new" exactly once of each, and Has exactly of those that came.
func TestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64Range(1, 40)).Draw(t, "numbers")
		offset := rapid.SampledFrom([]uint64{0, 1 << 40, math.MaxUint64 - 40}).Draw(t, "offset")
		var m Mark
		seen := map[uint64]bool{}
		for _, n := range numbers {
			n += offset
			before, _ := json.Marshal(m)
			next, fresh := m.With(n)
			if after, _ := json.Marshal(m); string(after) != string(before) {
				t.Fatalf("With(%d) changed %s to %s", n, before, after)
			}
			if fresh == seen[n] {
				t.Fatalf("With(%d) says new=%v, arrived before=%v; mark %+v", n, fresh, seen[n], m)
			}
			m, seen[n] = next, true
			if err := m.Check(); err != nil {
				t.Fatalf("after %d: %v in %+v", n, err, m)
			}
		}
		for n := uint64(0); n <= 42; n++ {
			if at := n + offset; at >= n && m.Has(at) != seen[at] {
				t.Fatalf("Has(%d) is %v, arrived %v; mark %+v", at, m.Has(at), seen[at], m)
			}
		}
	})
}

// TestAnyOrderOneMark: the mark depends on what arrived, not on the order.
func TestAnyOrderOneMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64Range(1, 60)).Draw(t, "numbers")
		shuffled := rapid.Permutation(numbers).Draw(t, "shuffled")
		a, _ := json.Marshal(all(numbers))
		b, _ := json.Marshal(all(shuffled))
		if string(a) != string(b) {
			t.Fatalf("%v gives %s, %v gives %s", numbers, a, shuffled, b)
		}
	})
}

func all(numbers []uint64) (m Mark) {
	for _, n := range numbers {
		m, _ = m.With(n)
	}
	return m
}

// TestAtMostClaimsNoMore: a shortened mark says "arrived" of nothing that has
// not, and of all up to where it ends.
func TestAtMostClaimsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := all(rapid.SliceOf(rapid.Uint64Range(1, 60)).Draw(t, "numbers"))
		short := m.AtMost(rapid.IntRange(0, 5).Draw(t, "n"))
		for n := uint64(1); n <= 60; n++ {
			if short.Has(n) && !m.Has(n) {
				t.Fatalf("%+v has %d, %+v has not", short, n, m)
			}
			if n <= short.Seq && short.Has(n) != m.Has(n) {
				t.Fatalf("%+v and %+v differ on %d", short, m, n)
			}
		}
	})
}

func TestCheckFindsBadMarks(t *testing.T) {
	for _, m := range []Mark{
		{Seq: 5, Missing: []Range{{0, 1}}},
		{Seq: 5, Missing: []Range{{3, 2}}},
		{Seq: 5, Missing: []Range{{5, 5}}},
		{Seq: 9, Missing: []Range{{1, 3}, {4, 5}}},
		{Seq: 9, Missing: []Range{{4, 5}, {1, 2}}},
	} {
		if m.Check() == nil {
			t.Errorf("%+v passes", m)
		}
	}
	if !slices.Equal(all([]uint64{4, 2}).Missing, []Range{{1, 1}, {3, 3}}) {
		t.Errorf("4, 2 arrived: missing %v", all([]uint64{4, 2}).Missing)
	}
}
