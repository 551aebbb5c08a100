// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
)

// colours is how many owners get a colour of their own.
const colours = 10

// palette gives the ten largest owners one colour each. An owner's colour
// follows from its name; it moves to the next free one only where another has
// it, and keeps what it has while it stays among the ten.
type palette struct {
	of map[string]int
}

// assign takes the bytes of each owner.
func (p *palette) assign(bytes map[string]uint64) {
	owners := slices.SortedFunc(maps.Keys(bytes), func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(a, b))
	})
	owners = owners[:min(len(owners), colours)]
	slices.Sort(owners)
	next := map[string]int{}
	var taken [colours]bool
	for _, o := range owners {
		if c, ok := p.of[o]; ok {
			next[o], taken[c] = c, true
		}
	}
	for _, o := range owners {
		if _, ok := next[o]; ok {
			continue
		}
		c := preferred(o)
		for taken[c] {
			c = (c + 1) % colours
		}
		next[o], taken[c] = c, true
	}
	p.of = next
}

func preferred(owner string) int {
	h := fnv.New32a()
	h.Write([]byte(owner))
	return int(h.Sum32() % colours)
}

// role is the look of an owner.
func (p *palette) role(owner string) string {
	if c, ok := p.of[owner]; ok {
		return "owner" + strconv.Itoa(c)
	}
	return "other"
}
