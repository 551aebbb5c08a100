// SPDX-License-Identifier: Apache-2.0

package workload

import "github.com/gputally/gputally/internal/core/gpu"

// KAI is what the KAI scheduler gave a pod: a fraction or an amount of memory
// of one device in each of its groups.
type KAI struct {
	// Groups names the groups of the pod, sorted; the reservation pod with the
	// same group holds the device.
	Groups []string `json:"groups,omitempty"`
	// Fraction of each device, zero when Bytes is given.
	Fraction gpu.Ratio `json:"fraction,omitzero"`
	// Bytes of each device, nil when Fraction is given.
	Bytes *uint64 `json:"bytes,omitempty"`
	// Devices is how many devices the pod has a share of, at least 1.
	Devices int `json:"devices"`
	// Container is the one container that uses the share, empty when not named.
	Container string `json:"container,omitempty"`
}

// KAIShare reads the pod's fraction; ok is false for a pod that has none.
func KAIShare(p Pod) (share KAI, ok bool, err error) { return KAI{}, false, nil }

// KAIReservation reports whether the pod only holds a whole GPU for others,
// its group, and the UUID of its GPU ("" until KAI has recorded it).
func KAIReservation(p Pod) (group, gpuUUID string, ok bool) { return "", "", false }
