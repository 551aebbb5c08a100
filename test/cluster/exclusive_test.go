// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

const wholeGPUs = "version: v1\n"

// exclusive: a pod has a GPU for itself, the other GPU is nobody's.
func exclusive(t *testing.T) {
	g := install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod("train", "nvidia.com/gpu"))
	_, pid := running(t, "train", "main")
	uuid := grantedID(t, "train/main")
	g.hold(t, uuid, pid, 6*gib)

	granted(t, "train/main nvidia.com/gpu "+uuid)
	canOpen(t, pid, uuid)
	startAgent(t).says(t, truth{
		holdings: []holding{{who: "train/main", partition: uuid, bytes: 6 * gib}},
		grants:   []grant{{"train", uuid, "kubelet", cardBytes}},
		modes:    map[string]string{uuid: "exclusive"},
		pays:     []share{{"train", uuid, 1, 1}},
	})
}
