// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

const fourMPSReplicas = `version: v1
sharing:
  mps:
    resources: [{name: nvidia.com/gpu, replicas: 4}]
`

// mps: two pods share a GPU through MPS. The ids look like time-slicing's; the pods'
// environment and NVML's process list tell.
func mps(t *testing.T) {
	g := install(t, oneCard)
	devicePlugin(t, fourMPSReplicas)
	var held []holding
	var given []grant
	var pays []share
	for i, name := range []string{"mps1", "mps2"} {
		apply(t, gpuPod(name, "nvidia.com/gpu"))
		_, pid := running(t, name, "main")
		bytes := uint64(i+3) * gib
		g.holdAs(t, "mps", gpuA, pid, bytes)
		held = append(held, holding{who: name + "/main", partition: gpuA, bytes: bytes})
		given = append(given, grant{name, gpuA, "kubelet", cardBytes / 4}) // MPS enforces the replica's share
		pays = append(pays, share{name, gpuA, 1, 4})
	}
	granted(t, "mps1/main nvidia.com/gpu "+gpuA+"::*", "mps2/main nvidia.com/gpu "+gpuA+"::*")
	startAgent(t).says(t, truth{holdings: held, grants: given, modes: map[string]string{gpuA: "mps"}, pays: pays})
}
