// SPDX-License-Identifier: Apache-2.0

package gpu

import "slices"

// maxSlices bounds the memory slices of a device: the largest part has 8.
const maxSlices = 64

// Stranded is the number of free memory slices of a device that no further
// legal instance could cover: paid, and not to be handed out while taken
// stands (accounting.md §4.1). Free slices that some legal placement, disjoint
// from all of taken, could still cover are idle instead.
//
// legal is NVML's possible placements of each profile; empty means the tables
// of LegalPlacements. On a device neither knows, nothing is called stranded.
//
// Compute slices need no budget of their own. On a 7 + 8 part the last memory
// slice is only ever covered by profiles with fewer compute than memory slices,
// and no profile has more, so as many compute slices are free as any placement
// in the free memory needs; on a 4 + 4 part the two are equal. The test walks
// every legal layout of both.
func Stranded(deviceSlices uint32, legal []ProfilePlacements, taken []Placement) uint32 {
	if len(legal) == 0 {
		legal = LegalPlacements(deviceSlices)
	}
	if len(legal) == 0 || deviceSlices > maxSlices {
		return 0
	}
	open := openPlacements(deviceSlices, legal, taken)
	var n uint32
	for s := range deviceSlices {
		covers := func(p Placement) bool { return p.covers(s) }
		if !slices.ContainsFunc(taken, covers) && !slices.ContainsFunc(open, covers) {
			n++
		}
	}
	return n
}

// openPlacements are those where an instance could still be made.
func openPlacements(deviceSlices uint32, legal []ProfilePlacements, taken []Placement) []Placement {
	var open []Placement
	for _, profile := range legal {
		for _, p := range profile.Placements {
			if p.within(deviceSlices) && !slices.ContainsFunc(taken, p.overlaps) {
				open = append(open, p)
			}
		}
	}
	return open
}
