// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

// truth is what a scenario has put on the node at one moment, and so what gputally
// must say: exactly these holdings, grants, findings and modes, and no others.
type truth struct {
	holdings []holding
	grants   []grant
	findings []finding
	// modes holds the sharing mode of each partition that has one.
	modes map[string]string
	// pays are the shares that pods pay from the agent's first sample to its last, where
	// they are the same throughout.
	pays []share
}

// holding is memory of one container on one partition.
type holding struct {
	who       string // pod/container
	partition string // the UUID of a GPU or MIG device
	bytes     uint64
	leak      bool
}

// grant is what a pod was given.
type grant struct {
	pod       string
	partition string
	source    string // kubelet or dra
	reserved  uint64 // bytes that nobody else can have; together under a shared claim
}

// together stands for the reserve of a pod that shares its claim: the claim's reserve is
// no single pod's. The views leave it out, and /metrics has no series for it.
const together = ^uint64(0)

// finding is a finding about one pod.
type finding struct {
	kind string
	pod  string
}
