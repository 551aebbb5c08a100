// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"syscall"
	"testing"
)

const podWithInit = `apiVersion: v1
kind: Pod
metadata: {name: staged, namespace: default}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  initContainers:
  - name: prepare
    image: ` + holderImage + `
    imagePullPolicy: Never
    resources: {limits: {nvidia.com/gpu: 1}}
  containers:
  - name: main
    image: ` + holderImage + `
    imagePullPolicy: Never
    resources: {limits: {nvidia.com/gpu: 1}}
`

// initContainer: an init container uses the pod's GPU, which the kubelet's list never
// says; it is no leak.
func initContainer(t *testing.T) {
	g := install(t, oneCard)
	devicePlugin(t, wholeGPUs)
	apply(t, podWithInit)
	_, pid := running(t, "staged", "prepare")
	g.hold(t, gpuA, pid, 2*gib)
	a := startAgent(t)
	modes := map[string]string{gpuA: "exclusive"}
	given := []grant{{"staged", gpuA, "kubelet", cardBytes}}
	a.says(t, truth{holdings: []holding{{who: "staged/prepare", partition: gpuA, bytes: 2 * gib}}, grants: given, modes: modes})

	g.release(t, pid)
	terminate(t, pid)
	_, pid = running(t, "staged", "main")
	g.hold(t, gpuA, pid, 4*gib)
	granted(t, "staged/main nvidia.com/gpu "+gpuA)
	a.says(t, truth{holdings: []holding{{who: "staged/main", partition: gpuA, bytes: 4 * gib}}, grants: given, modes: modes})
}

const jobManifest = `apiVersion: batch/v1
kind: Job
metadata: {name: batch, namespace: default}
spec:
  template:
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      restartPolicy: Never
      containers:
      - name: main
        image: ` + holderImage + `
        imagePullPolicy: Never
        resources: {limits: {nvidia.com/gpu: 1}}
`

// finishedJob: the pod of a finished Job stays as an object; its GPU is free again.
func finishedJob(t *testing.T) {
	g := install(t, oneCard)
	devicePlugin(t, wholeGPUs)
	apply(t, jobManifest)
	name := podOfJob(t, "batch")
	_, pid := running(t, name, "main")
	g.hold(t, gpuA, pid, 7*gib)
	a := startAgent(t)
	a.says(t, truth{
		holdings: []holding{{who: name + "/main", partition: gpuA, bytes: 7 * gib}},
		grants:   []grant{{name, gpuA, "kubelet", cardBytes}},
		modes:    map[string]string{gpuA: "exclusive"},
	})

	g.release(t, pid)
	terminate(t, pid)
	ended(t, name)
	a.says(t, truth{})
}

// replacedPod: a pod is deleted and another takes its name: two pods, two UIDs, two accounts.
func replacedPod(t *testing.T) {
	g := install(t, oneCard)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod("same", "nvidia.com/gpu"))
	first, pid := running(t, "same", "main")
	g.hold(t, gpuA, pid, 1*gib)
	a := startAgent(t)
	modes := map[string]string{gpuA: "exclusive"}
	given := []grant{{"same", gpuA, "kubelet", cardBytes}}
	a.says(t, truth{holdings: []holding{{who: "same/main", partition: gpuA, bytes: 1 * gib}}, grants: given, modes: modes})

	g.release(t, pid)
	remove(t, podPath("same"))
	apply(t, gpuPod("same", "nvidia.com/gpu"))
	second, pid := running(t, "same", "main")
	if first.Metadata.UID == second.Metadata.UID {
		t.Fatalf("both pods have the UID %s", first.Metadata.UID)
	}
	g.hold(t, gpuA, pid, 2*gib)
	a.says(t, truth{holdings: []holding{{who: "same/main", partition: gpuA, bytes: 2 * gib}}, grants: given, modes: modes})
	a.stop(t)
	a.recorded(t, first.Metadata.UID, 1*gib)
	a.recorded(t, second.Metadata.UID, 2*gib)
}

// terminate ends a container's process as its own exit would.
func terminate(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatalf("end process %d: %v", pid, err)
	}
}
