// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/gpu"

// recall is what is kept from one sample to the next of whom was given what,
// for the moments in which a source cannot tell. Each sample carries on what it
// found or still needs, so that nothing outlives the pods it is about.
type recall struct {
	// slots is how many slots of HAMi's pool a pod, by UID, was listed with.
	slots map[string]int64
	// shares is what a pod's annotation said when it could last be read.
	shares map[string]annotation
	// groups are the partitions that the reservation pods of KAI's groups hold.
	groups map[string][]gpu.PartitionID
	// claimed is which partition a device of a claim was, for a pod, when its
	// slice named it.
	claimed map[claimedKey]gpu.PartitionID
}

// claimedKey is a device as the kubelet lists it for a pod's claim.
type claimedKey struct{ pod, claim, device string }

func newRecall() recall {
	return recall{
		slots: map[string]int64{}, shares: map[string]annotation{},
		groups: map[string][]gpu.PartitionID{}, claimed: map[claimedKey]gpu.PartitionID{},
	}
}
