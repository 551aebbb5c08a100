// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNumberedInAnyOrder: words are found under their numbers in whatever order
// those come, and no others are.
func TestNumberedInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, 20_000)), 1, 60, rapid.ID[int64]).Draw(t, "ids")
		var n numbered[int64]
		for _, id := range ids {
			n.put(id, -id)
		}
		there := map[int64]bool{}
		for _, id := range ids {
			there[id] = true
		}
		for _, id := range append(ids, 0, 1, 39, 40, 41, 5000, 1<<40) {
			v, ok := n.at(id)
			if ok != there[id] || ok && v != -id {
				t.Fatalf("%d is %d, %v, want %v", id, v, ok, there[id])
			}
		}
	})
}
