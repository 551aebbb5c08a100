// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

// truth is what a scenario has put on the node at one moment, and so what gputally
// must say: exactly these holdings and exactly these findings.
type truth struct {
	holdings []holding
	findings []finding
	// modes holds the sharing mode of each partition a pod was given.
	modes map[string]string
}

// holding is memory of one container on one partition.
type holding struct {
	who       string // pod/container
	partition string // the UUID of a GPU or MIG device
	bytes     uint64
	leak      bool
}

// finding is a finding about one pod.
type finding struct {
	kind string
	pod  string
}
