// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestPalette: the ten largest owners have ten different colours, the others
// none, and who stays keeps the one it has.
func TestPalette(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p palette
		before := map[string]string{}
		for range 5 {
			owners := map[string]uint64{}
			for i := range rapid.IntRange(0, 15).Draw(t, "owners") {
				owners[fmt.Sprintf("ns/pod-%d", i)] = rapid.Uint64Range(0, 9).Draw(t, "bytes")
			}
			p.assign(owners)
			seen := map[string]string{}
			for o := range owners {
				role := p.role(o)
				if role == "other" {
					continue
				}
				if other, twice := seen[role]; twice {
					t.Fatalf("%s and %s have %s", o, other, role)
				}
				seen[role] = o
				if was, ok := before[o]; ok && was != role {
					t.Fatalf("%s had %s and has %s", o, was, role)
				}
			}
			if len(seen) != min(len(owners), colours) {
				t.Fatalf("%d of %d owners have colours", len(seen), len(owners))
			}
			before = map[string]string{}
			for role, o := range seen {
				before[o] = role
			}
		}
	})
}

// TestPaletteByName: a colour follows from the name alone where no other owner
// wants it.
func TestPaletteByName(t *testing.T) {
	var alone, among palette
	alone.assign(map[string]uint64{"train/llama": 1})
	among.assign(map[string]uint64{"train/llama": 1, "a/b": 5})
	if preferred("a/b") == preferred("train/llama") {
		t.Skip("the names collide; choose others")
	}
	if alone.role("train/llama") != among.role("train/llama") {
		t.Error("the colour depends on who else is there")
	}
}
