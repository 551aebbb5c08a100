// SPDX-License-Identifier: Apache-2.0

package gpu

// LegalPlacements are the placements of the two classes of part that NVIDIA
// sells: 7 compute and 8 memory slices (A100, H100, H200, B200 and kin), and 4
// and 4 (A30, RTX PRO 6000). They are what nvidia-smi mig -lgipp prints. Any
// other number of slices gives nil: nothing is known of such a part.
//
// Profiles with media engines (+me, -me, +gfx) lie where their plain ones do
// and are left out.
func LegalPlacements(deviceSlices uint32) []ProfilePlacements {
	switch deviceSlices {
	case 8:
		return []ProfilePlacements{
			{ProfileID: 19, Name: "1g", Placements: placed(1, 0, 1, 2, 3, 4, 5, 6)},
			{ProfileID: 15, Name: "1g, double memory", Placements: placed(2, 0, 2, 4, 6)},
			{ProfileID: 14, Name: "2g", Placements: placed(2, 0, 2, 4)},
			{ProfileID: 9, Name: "3g", Placements: placed(4, 0, 4)},
			{ProfileID: 5, Name: "4g", Placements: placed(4, 0)},
			{ProfileID: 0, Name: "7g", Placements: placed(8, 0)},
		}
	case 4:
		return []ProfilePlacements{
			{ProfileID: 14, Name: "1g", Placements: placed(1, 0, 1, 2, 3)},
			{ProfileID: 5, Name: "2g", Placements: placed(2, 0, 2)},
			{ProfileID: 0, Name: "4g", Placements: placed(4, 0)},
		}
	}
	return nil
}

func placed(size uint32, starts ...uint32) []Placement {
	out := make([]Placement, len(starts))
	for i, s := range starts {
		out[i] = Placement{Start: s, Size: size}
	}
	return out
}

// covers reports whether memory slice s lies in the placement.
func (p Placement) covers(s uint32) bool { return s >= p.Start && s-p.Start < p.Size }

// within reports whether the placement is not empty and lies on a device of
// that many slices.
func (p Placement) within(deviceSlices uint32) bool {
	return p.Size > 0 && p.Start < deviceSlices && p.Size <= deviceSlices-p.Start
}

// overlaps reports whether the placements share a slice.
func (p Placement) overlaps(q Placement) bool {
	return p.Size > 0 && q.Size > 0 && (p.covers(q.Start) || q.covers(p.Start))
}
