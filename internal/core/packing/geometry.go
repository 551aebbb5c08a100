// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

const (
	maxSlices   = 16
	maxProfiles = 16
	// maxLayouts bounds the enumeration. A card with 8 slices and 7 profiles has
	// some thousand.
	maxLayouts = 1 << 17
)

// counts is how many instances of each profile a card has.
type counts [maxProfiles]uint8

// geometry is every layout that a card can have, by enumeration: intervals of
// slices that do not overlap. Layouts with the same instances are one state.
type geometry struct {
	slices   uint32
	profiles []Profile // by name
	size     []uint32  // of an instance of each profile, in slices
	states   []layout  // the first is empty
	// next and prev are the state with one instance of a profile more or less,
	// -1 where there is none.
	next, prev [][]int16
	seen       int
}

// layout is a state: its instances, where they can lie, how many slices they
// cover, and how many could be covered with more of them.
type layout struct {
	has        counts
	instances  []Instance
	used, best uint32
}

// newGeometry enumerates. The profiles' placements are as NVML gives them.
func newGeometry(deviceSlices uint32, profiles []Profile) (*geometry, error) {
	g := &geometry{slices: deviceSlices, profiles: slices.Clone(profiles)}
	slices.SortFunc(g.profiles, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	if deviceSlices > maxSlices || len(profiles) > maxProfiles {
		return nil, fmt.Errorf("%d slices and %d profiles: at most %d and %d can be enumerated", deviceSlices, len(profiles), maxSlices, maxProfiles)
	}
	for i, p := range g.profiles {
		if err := checkProfile(deviceSlices, p); err != nil {
			return nil, err
		}
		if i > 0 && g.profiles[i-1].Name == p.Name {
			return nil, fmt.Errorf("profile %s is there twice", p.Name)
		}
		g.size = append(g.size, p.Placements[0].Size)
	}
	at := map[counts]int16{}
	if !g.walk(at, counts{}, nil, 0) {
		return nil, fmt.Errorf("profiles allow more than %d layouts", maxLayouts)
	}
	g.link(at)
	return g, nil
}

func checkProfile(deviceSlices uint32, p Profile) error {
	if len(p.Placements) == 0 {
		return fmt.Errorf("profile %s has no placements: give those that NVML lists", p.Name)
	}
	for _, at := range p.Placements {
		if at.Size == 0 || at.Size != p.Placements[0].Size || at.Start >= deviceSlices || at.Size > deviceSlices-at.Start {
			return fmt.Errorf("profile %s: placement %d+%d is not on a card of %d slices, or not of one size", p.Name, at.Start, at.Size, deviceSlices)
		}
	}
	return nil
}

// walk goes through all layouts that begin with these instances and have
// nothing more below slice from.
func (g *geometry) walk(at map[counts]int16, has counts, list []Instance, from uint32) bool {
	if g.seen++; g.seen > maxLayouts {
		return false
	}
	if _, known := at[has]; !known {
		at[has] = int16(len(g.states))
		s := layout{has: has, instances: slices.Clone(list)}
		for _, in := range list {
			s.used += in.Placement.Size
		}
		g.states = append(g.states, s)
	}
	for i := range g.profiles {
		p := &g.profiles[i]
		if p.Most > 0 && int(has[i]) >= p.Most {
			continue
		}
		for _, place := range p.Placements {
			if place.Start < from {
				continue
			}
			more := has
			more[i]++
			if !g.walk(at, more, append(list, Instance{p.Name, place}), place.Start+place.Size) {
				return false
			}
		}
	}
	return true
}

// link finds what each state can become.
func (g *geometry) link(at map[counts]int16) {
	order := make([]int, len(g.states))
	g.next, g.prev = make([][]int16, len(g.states)), make([][]int16, len(g.states))
	for s := range g.states {
		order[s] = s
		g.next[s], g.prev[s] = make([]int16, len(g.profiles)), make([]int16, len(g.profiles))
		for i := range g.profiles {
			more, less := g.states[s].has, g.states[s].has
			more[i]++
			less[i]--
			g.next[s][i], g.prev[s][i] = stateOf(at, more), stateOf(at, less)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(g.states[b].used, g.states[a].used) })
	for _, s := range order {
		best := g.states[s].used
		for _, n := range g.next[s] {
			if n >= 0 {
				best = max(best, g.states[n].best)
			}
		}
		g.states[s].best = best
	}
}

func stateOf(at map[counts]int16, c counts) int16 {
	if s, ok := at[c]; ok {
		return s
	}
	return -1
}

// index of a profile by name, -1 for none.
func (g *geometry) index(name string) int {
	return slices.IndexFunc(g.profiles, func(p Profile) bool { return p.Name == name })
}

// legal is the placements in the form that package gpu takes.
func (g *GPU) legal() []gpu.ProfilePlacements {
	var out []gpu.ProfilePlacements
	for _, p := range g.Profiles {
		out = append(out, gpu.ProfilePlacements{Name: p.Name, Placements: p.Placements})
	}
	return out
}
