// SPDX-License-Identifier: Apache-2.0

package gpu

// Profile is a MIG profile name, taken apart: [Cc.]Gg.Ngb[+attr|-attr].
type Profile struct {
	// Compute is C, the compute slices of the compute instance; equal to
	// Slices when the name does not say it.
	Compute uint32
	// Slices is G, the compute slices of the GPU instance.
	Slices uint32
	// GB is N. It is a name, not a size: tools round it differently.
	GB uint32
	// Attr is the rest with its sign ("+me", "-me", "+gfx", "+me.all").
	Attr string
}

// ParseProfile reads a profile name, with "+" or with Kubernetes' ".".
func ParseProfile(name string) (Profile, error) { return Profile{}, nil }

// MemorySlices is the number of memory slices of the profile's instances.
func (p Profile) MemorySlices(deviceSlices uint32) (uint32, bool) { return 0, false }

// LegalPlacements are the placements of the parts NVIDIA sells.
func LegalPlacements(deviceSlices uint32) []ProfilePlacements { return nil }
