// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

const fourReplicas = `version: v1
sharing:
  timeSlicing:
    resources: [{name: nvidia.com/gpu, replicas: 4}]
`

// timeSlicing: three pods share one GPU, each with its own process and memory.
func timeSlicing(t *testing.T) {
	g := install(t, oneCard)
	devicePlugin(t, fourReplicas)
	var held []holding
	var given []grant
	var pays []share
	for i, name := range []string{"ts1", "ts2", "ts3"} {
		apply(t, gpuPod(name, "nvidia.com/gpu"))
		_, pid := running(t, name, "main")
		bytes := uint64(i+1) * gib
		g.hold(t, gpuA, pid, bytes)
		held = append(held, holding{who: name + "/main", partition: gpuA, bytes: bytes})
		given = append(given, grant{name, gpuA, "kubelet", 0}) // a turn, not memory
		pays = append(pays, share{name, gpuA, int64(bytes), cardBytes})
	}
	granted(t,
		"ts1/main nvidia.com/gpu "+gpuA+"::*",
		"ts2/main nvidia.com/gpu "+gpuA+"::*",
		"ts3/main nvidia.com/gpu "+gpuA+"::*")
	// A replica's id does not tell time-slicing from MPS, and nothing else here does.
	startAgent(t).says(t, truth{holdings: held, grants: given, modes: map[string]string{gpuA: "shared"}, pays: pays})
}
