// SPDX-License-Identifier: Apache-2.0

package gpu

// Stranded is the number of free memory slices of a device that no further
// legal instance could cover.
func Stranded(deviceSlices uint32, legal []ProfilePlacements, taken []Placement) uint32 { return 0 }
