// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// The test binary runs twice: outside, where it starts the node, and inside the node,
// where it runs the tests as one of the node's host processes. insideVar tells which.
const insideVar = "GPUTALLY_CLUSTER_INSIDE"

// refused says why no node can be started on this machine; empty if one runs.
var refused string

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(insideVar) != "" {
		os.Exit(m.Run())
	}
	if refused = refusal(); refused == "" {
		code, err := runInside()
		if err != nil {
			fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
			code = 1
		}
		os.Exit(code)
	}
	fmt.Fprintf(os.Stderr, "cluster: NOT RUN: %s\n", refused)
	if os.Getenv("GPUTALLY_CLUSTER_REQUIRED") == "1" {
		fmt.Fprintln(os.Stderr, "cluster: GPUTALLY_CLUSTER_REQUIRED=1 makes this a failure")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// scenario is one story played on the node.
type scenario struct {
	name string
	play func(*testing.T)
	// since is the first minor version of Kubernetes 1 that has what it is about; 0 is any.
	since int
}

// TestCluster plays every scenario on one node; -run TestCluster/NAME plays one.
func TestCluster(t *testing.T) {
	if refused != "" {
		t.Skip(refused)
	}
	letAgentRead(t)
	keepLedger(t)
	minor := kubernetesMinor(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			if minor < s.since {
				t.Skipf("the node runs Kubernetes 1.%d, and this came with 1.%d", minor, s.since)
			}
			s.play(t)
		})
	}
}
