// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Profile is a MIG profile name taken apart: [Cc.]Gg.Ngb[+attr|-attr].
//
// The grammar is go-nvlib's (mig_profile.go); the Kubernetes device plugin
// writes a "." where NVIDIA's tools write "+", because a resource name cannot
// hold one.
type Profile struct {
	// Compute is C, the compute slices of one compute instance. It equals
	// Slices when the name does not say it.
	Compute uint32
	// Slices is G, the compute slices of the GPU instance.
	Slices uint32
	// GB is N. It is part of a name, not a size: tools round it differently
	// (dcgm-exporter#544), so nothing is computed from it.
	GB uint32
	// Attr is the rest with its sign, such as "+me", "-me", "+gfx", "+me.all".
	Attr string
}

var profileName = regexp.MustCompile(`^(?:(\d{1,3})c\.)?(\d{1,3})g\.(\d{1,5})gb([+.-][a-z][a-z0-9.,]*)?$`)

// ParseProfile reads a profile name in NVIDIA's or in Kubernetes' spelling.
func ParseProfile(name string) (Profile, error) {
	m := profileName.FindStringSubmatch(name)
	if m == nil {
		return Profile{}, fmt.Errorf("parse MIG profile %q: want a name like 1g.10gb, 1c.3g.20gb or 1g.10gb+me", name)
	}
	p := Profile{Slices: number(m[2]), GB: number(m[3]), Attr: m[4]}
	p.Compute = p.Slices
	if m[1] != "" {
		p.Compute = number(m[1])
	}
	if p.Compute == 0 || p.Compute > p.Slices || p.GB == 0 {
		return Profile{}, fmt.Errorf("parse MIG profile %q: want slice counts and a size above 0, and no more compute than instance slices", name)
	}
	if strings.HasPrefix(p.Attr, ".") {
		p.Attr = "+" + p.Attr[1:]
	}
	return p, nil
}

// number reads digits which a pattern has already bounded.
func number(digits string) uint32 {
	n, _ := strconv.ParseUint(digits, 10, 32)
	return uint32(n)
}

// String is the name in NVIDIA's spelling.
func (p Profile) String() string {
	s := fmt.Sprintf("%dg.%dgb%s", p.Slices, p.GB, p.Attr)
	if p.Compute != p.Slices {
		return fmt.Sprintf("%dc.%s", p.Compute, s)
	}
	return s
}

// MemorySlices is how many memory slices an instance of the profile takes on a
// device that has deviceSlices of them (8 or 4), by the tables of NVIDIA's MIG
// guide. Use it only where NVML's placements are not known. It is false where
// the name alone cannot tell: 1g.10gb is one slice of an 80 GB card and two of
// a 40 GB one, 1g.24gb one of GB200's and two of a 94 or 96 GB card's.
func (p Profile) MemorySlices(deviceSlices uint32) (uint32, bool) {
	switch {
	case deviceSlices == 4 && (p.Slices == 1 || p.Slices == 2 || p.Slices == 4):
		return p.Slices, true
	case deviceSlices != 8:
		return 0, false
	}
	switch p.Slices {
	case 1:
		return oneComputeSlice(p.GB)
	case 2:
		return 2, true
	case 3, 4:
		return 4, true
	case 7:
		return 8, true
	}
	return 0, false
}

// oneComputeSlice tells NVIDIA's 1g profiles from those with double memory.
func oneComputeSlice(gb uint32) (uint32, bool) {
	switch gb {
	case 5, 11, 12, 18, 23, 34:
		return 1, true
	case 20, 35, 36, 45, 47, 67:
		return 2, true
	}
	return 0, false
}
