// SPDX-License-Identifier: Apache-2.0

package workload

// Replicas is how many replicas each GPU (or MIG device) of the node is
// offered as. ok is false where no label says it.
func (n Node) Replicas() (replicas int64, ok bool) { return 0, false }

// SharingStrategy is none, time-slicing or mps, "" where no label says it.
func (n Node) SharingStrategy() string { return "" }

// MIGStrategy is none, single or mixed, "" where no label says it.
func (n Node) MIGStrategy() string { return "" }

// GPUResources is the allocatable count of each GPU resource of the node.
func (n Node) GPUResources(extra ...string) map[string]int64 { return nil }
