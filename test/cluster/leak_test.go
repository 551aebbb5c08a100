// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

// leakThroughImage: a pod that asks for nothing gets every GPU, because its image says
// NVIDIA_VISIBLE_DEVICES=all and the node's default runtime is NVIDIA's.
func leakThroughImage(t *testing.T) {
	g := install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod("honest", "nvidia.com/gpu"))
	_, honestPID := running(t, "honest", "main")
	uuid := grantedID(t, "honest/main")
	apply(t, holderPod("leak", cudaImage, "env: []"))
	_, leakPID := running(t, "leak", "main")
	g.hold(t, uuid, honestPID, 10*gib)
	g.hold(t, uuid, leakPID, 2*gib)

	granted(t, "honest/main nvidia.com/gpu "+uuid)
	canOpen(t, honestPID, uuid)
	canOpen(t, leakPID, gpuA, gpuB)
	startAgent(t).says(t, truth{
		holdings: []holding{
			{who: "honest/main", partition: uuid, bytes: 10 * gib},
			{who: "leak/main", partition: uuid, bytes: 2 * gib, leak: true},
		},
		grants:   []grant{{"honest", uuid, "kubelet", cardBytes}},
		findings: []finding{{"unallocated_gpu_use", "leak"}, {"exposure", "leak"}},
		modes:    map[string]string{uuid: "exclusive"},
		pays:     []share{{"honest", uuid, 38, 40}, {"leak", uuid, 2, 40}}, // the taker pays, not the one it takes from
	})
}

// privileged: a privileged pod sees every device of the node and uses one of them.
func privileged(t *testing.T) {
	g := install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, holderPod("root", holderImage, "securityContext: {privileged: true}"))
	_, pid := running(t, "root", "main")
	g.hold(t, gpuB, pid, 3*gib)

	granted(t)
	canOpen(t, pid, gpuA, gpuB)
	startAgent(t).says(t, truth{
		holdings: []holding{{who: "root/main", partition: gpuB, bytes: 3 * gib, leak: true}},
		findings: []finding{{"unallocated_gpu_use", "root"}, {"exposure", "root"}},
		pays:     []share{{"root", gpuB, 3, 40}},
	})
}
