// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mig7 = "MIG-11111111-0000-0000-0000-000000000007"
	mig8 = "MIG-22222222-0000-0000-0000-000000000008"

	sliceBytes = 4864 << 20 // what 1g.5gb has

	// One whole card, and one split into two of its seven smallest instances.
	migCards = driver + cardA +
		"gpu uuid=" + gpuB + " profile=a100-40gb name=NVIDIA_A100-SXM4-40GB mem=42949672960 mig=1\n" +
		"mig gpu=1 uuid=" + mig7 + " gi=7 ci=0 profile=1g.5gb\n" +
		"mig gpu=1 uuid=" + mig8 + " gi=8 ci=0 profile=1g.5gb\n"
)

// migMixed: a pod on a MIG instance beside a pod on a whole GPU, and one without a GPU.
func migMixed(t *testing.T) {
	migFiles(t, map[int]int{7: 66, 8: 68})
	g := install(t, migCards)
	devicePlugin(t, wholeGPUs, "MIG_STRATEGY=mixed")
	apply(t, strings.Replace(gpuPod("slice", "nvidia.com/mig-1g.5gb"), "namespace: default", `namespace: default, annotations: {gputally.io/latency: "p99 200 ms"}`, 1))
	apply(t, holderPod("web", holderImage, "resources: {requests: {cpu: 150m, memory: 64Mi}}"))
	apply(t, gpuPod("whole", "nvidia.com/gpu"))
	_, slicePID := running(t, "slice", "main")
	_, wholePID := running(t, "whole", "main")
	mig := grantedID(t, "slice/main")
	g.hold(t, mig, slicePID, 1*gib)
	g.hold(t, gpuA, wholePID, 20*gib)

	granted(t, "slice/main nvidia.com/mig-1g.5gb "+mig, "whole/main nvidia.com/gpu "+gpuA)
	a := startAgent(t)
	a.says(t, truth{
		holdings: []holding{
			{who: "slice/main", partition: mig, bytes: 1 * gib},
			{who: "whole/main", partition: gpuA, bytes: 20 * gib},
		},
		grants: []grant{{"slice", mig, "kubelet", sliceBytes}, {"whole", gpuA, "kubelet", cardBytes}},
		modes:  map[string]string{gpuA: "exclusive", gpuB: "mig", mig7: "mig", mig8: "mig"},
		pays:   []share{{"slice", mig, 1, 8}, {"whole", gpuA, 1, 1}}, // one of eight memory slices
	})
	a.stop(t)
	a.toldOfNode(t, 150, "p99 200 ms")
}

// migFiles lays out what the driver shows of the second GPU's instances below
// /proc/driver: minor is the first of each instance's two capability devices.
func migFiles(t *testing.T, minors map[int]int) {
	t.Helper()
	list := ""
	for gi, minor := range minors {
		list += fmt.Sprintf("gpu1/gi%d/access %d\ngpu1/gi%d/ci0/access %d\n", gi, minor, gi, minor+1)
		dir := fmt.Sprintf("/proc/driver/nvidia/capabilities/gpu1/mig/gi%d", gi)
		writeCapability(t, dir+"/access", minor)
		writeCapability(t, dir+"/ci0/access", minor+1)
	}
	writeFile(t, "/proc/driver/nvidia-caps/mig-minors", list)
	t.Cleanup(func() {
		os.RemoveAll("/proc/driver/nvidia/capabilities/gpu1")
		os.Remove("/proc/driver/nvidia-caps/mig-minors")
	})
}

func writeCapability(t *testing.T, path string, minor int) {
	t.Helper()
	writeFile(t, path, fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor))
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
