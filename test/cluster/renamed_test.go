// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

const renamedReplicas = `version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    resources: [{name: nvidia.com/gpu, replicas: 2}]
`

// renamed: shared GPUs go by nvidia.com/gpu.shared, and nvidia.com/gpu does not exist.
func renamed(t *testing.T) {
	g := install(t, twoCards)
	devicePlugin(t, renamedReplicas)
	var held []holding
	var given []grant
	var grants []string
	var pays []share
	modes := map[string]string{}
	for i, name := range []string{"shared1", "shared2", "shared3"} {
		apply(t, gpuPod(name, "nvidia.com/gpu.shared"))
		_, pid := running(t, name, "main")
		uuid := grantedID(t, name+"/main")
		bytes := uint64(i+2) * gib
		g.hold(t, uuid, pid, bytes)
		held = append(held, holding{who: name + "/main", partition: uuid, bytes: bytes})
		given = append(given, grant{name, uuid, "kubelet", 0})
		grants = append(grants, name+"/main nvidia.com/gpu.shared "+uuid+"::*")
		modes[uuid] = "shared"
		pays = append(pays, share{name, uuid, int64(bytes), cardBytes})
	}
	granted(t, grants...)
	startAgent(t).says(t, truth{holdings: held, grants: given, modes: modes, pays: pays})
}
