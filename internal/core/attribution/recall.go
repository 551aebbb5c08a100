// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/gpu"

// recall is what is kept from one sample to the next of whom was given what,
// for the moments in which a source cannot tell. Each sample carries on what it
// found or still needs, so that nothing outlives the pods it is about.
type recall struct {
	// slots are the slots of HAMi's pool that a pod, by UID, was listed with.
	slots map[string][]string
	// shares is what a pod's annotation said when it could last be read.
	shares map[string]annotation
	// groups are the partitions that the reservation pods of KAI's groups hold.
	groups map[string][]gpu.PartitionID
	// claimed is which partition a claim's device was when its slice named it.
	claimed map[claimedKey]gpu.PartitionID
}

// claimedKey is a device of a claim as the kubelet and the claim name it; the
// owner is the claim, or a pod that has it, by UID.
type claimedKey struct{ owner, device string }

func newRecall() recall {
	return recall{
		slots: map[string][]string{}, shares: map[string]annotation{},
		groups: map[string][]gpu.PartitionID{}, claimed: map[claimedKey]gpu.PartitionID{},
	}
}
