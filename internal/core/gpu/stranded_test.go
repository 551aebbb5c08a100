// SPDX-License-Identifier: Apache-2.0

package gpu

import "testing"

func TestStranded(t *testing.T) {
	// An A100 whose driver has no 1g profile with double memory.
	plain := withoutProfile(LegalPlacements(8), 15)
	seven := placed(1, 0, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name   string
		device uint32
		legal  []ProfilePlacements
		taken  []Placement
		want   uint32
	}{
		{"nothing taken", 8, nil, nil, 0},
		{"C09: seven 1g", 8, nil, seven, 1},
		{"X07: one 1g at 6", 8, nil, placed(1, 6), 1},
		{"C07: 1g at 0, 3g at 4", 8, nil, []Placement{{0, 1}, {4, 4}}, 0},
		{"C08: two double 1g, one 1g", 8, nil, []Placement{{0, 2}, {2, 2}, {4, 1}}, 0},
		{"3g and 3g", 8, nil, placed(4, 0, 4), 0},
		{"7g", 8, nil, placed(8, 0), 0},
		{"4g and three 1g", 8, nil, []Placement{{0, 4}, {4, 1}, {5, 1}, {6, 1}}, 1},
		{"4g and two 1g leave room for a double 1g", 8, nil, []Placement{{0, 4}, {4, 1}, {5, 1}}, 0},
		{"the same without that profile", 8, plain, []Placement{{0, 4}, {4, 1}, {5, 1}}, 1},
		{"one 1g at 6 without that profile", 8, plain, placed(1, 6), 1},
		{"only 7g can be made", 8, LegalPlacements(8)[5:], placed(1, 0), 7},
		{"A30: any", 4, nil, placed(1, 1, 3), 0},
		{"unknown part", 6, nil, placed(1, 0), 0},
		{"no slices", 0, nil, nil, 0},
		{"a placement off the device is not legal", 8, []ProfilePlacements{{Placements: placed(4, 6)}}, nil, 8},
		{"and cannot wrap around", 8, []ProfilePlacements{{Placements: []Placement{{1<<32 - 1, 8}}}}, placed(1<<31, 1<<31), 8},
	} {
		if got := Stranded(c.device, c.legal, c.taken); got != c.want {
			t.Errorf("%s: Stranded = %d, want %d", c.name, got, c.want)
		}
	}
}

func withoutProfile(legal []ProfilePlacements, id uint32) []ProfilePlacements {
	var kept []ProfilePlacements
	for _, p := range legal {
		if p.ProfileID != id {
			kept = append(kept, p)
		}
	}
	return kept
}

// made is an instance in a layout, with the compute slices it takes.
type made struct {
	placement Placement
	compute   uint32
}

var computeOf = map[uint32]map[uint32]uint32{
	8: {19: 1, 15: 1, 14: 2, 9: 3, 5: 4, 0: 7},
	4: {14: 1, 5: 2, 0: 4},
}

// eachLayout calls visit with every set of instances that fits a device, both
// in its memory slices and in its compute slices.
func eachLayout(device, compute uint32, visit func(layout []Placement, computeLeft uint32)) {
	var all []made
	for _, p := range LegalPlacements(device) {
		for _, at := range p.Placements {
			all = append(all, made{at, computeOf[device][p.ProfileID]})
		}
	}
	var walk func(from int, layout []Placement, left uint32)
	walk = func(from int, layout []Placement, left uint32) {
		visit(layout, left)
	next:
		for i := from; i < len(all); i++ {
			for _, p := range layout {
				if p.overlaps(all[i].placement) {
					continue next
				}
			}
			if all[i].compute <= left {
				walk(i+1, append(layout[:len(layout):len(layout)], all[i].placement), left-all[i].compute)
			}
		}
	}
	walk(0, nil, compute)
}

// Compute slices never decide: what the memory has room for, the compute has
// room for too. And taken + stranded never exceed the device.
func TestStrandedNeedsNoComputeBudget(t *testing.T) {
	for device, compute := range map[uint32]uint32{8: 7, 4: 4} {
		layouts := 0
		eachLayout(device, compute, func(layout []Placement, left uint32) {
			layouts++
			var affordable []ProfilePlacements
			for _, p := range LegalPlacements(device) {
				if computeOf[device][p.ProfileID] <= left {
					affordable = append(affordable, p)
				}
			}
			if len(affordable) == 0 { // an empty table would mean the default one
				affordable = []ProfilePlacements{{}}
			}
			free, with := Stranded(device, nil, layout), Stranded(device, affordable, layout)
			if free != with {
				t.Errorf("%d slices, %v: %d stranded, %d with a compute budget of %d", device, layout, free, with, left)
			}
			used := uint32(0)
			for _, p := range layout {
				used += p.Size
			}
			if used+free > device {
				t.Errorf("%d slices, %v: %d used and %d stranded", device, layout, used, free)
			}
		})
		if layouts < 10 {
			t.Errorf("%d slices: only %d layouts", device, layouts)
		}
		t.Logf("%d slices: %d layouts", device, layouts)
	}
}
