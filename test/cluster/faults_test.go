// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

// lonePod starts one pod with the node's only GPU, and the agent, and says what is true then.
func lonePod(t *testing.T, name string) (*gpus, *agent, truth) {
	t.Helper()
	g := install(t, oneCard)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod(name, "nvidia.com/gpu"))
	_, pid := running(t, name, "main")
	g.hold(t, gpuA, pid, 8*gib)
	before := truth{
		holdings: []holding{{who: name + "/main", partition: gpuA, bytes: 8 * gib}},
		grants:   []grant{{name, gpuA, "kubelet", cardBytes}},
		modes:    map[string]string{gpuA: "exclusive"},
	}
	a := startAgent(t)
	a.says(t, before)
	return g, a, before
}

// kubeletRestart: while the kubelet is gone nobody can say who was given the GPU; the
// pod's use stays known, and does not turn into a leak.
func kubeletRestart(t *testing.T) {
	_, a, before := lonePod(t, "survivor")
	service(t, "stop", "kubelet")
	a.source(t, "pod_resources", false)
	a.says(t, before)
	service(t, "start", "kubelet")
	granted(t, "survivor/main nvidia.com/gpu "+gpuA)
	a.source(t, "pod_resources", true)
	a.says(t, before)
}

// agentRestart: an agent that was killed goes on where it was; nothing is counted twice.
func agentRestart(t *testing.T) {
	_, a, before := lonePod(t, "constant")
	a.stop(t)
	a.start(t)
	a.says(t, before)
	a.kill(t)
	a.start(t)
	a.says(t, before)
	a.stop(t)
	// The first end was clean and wrote its window; the second lost its open window,
	// which is the gap that the third process tells of.
	if got := a.gaps(t); len(got) == 0 {
		t.Errorf("no record tells of the time without an agent")
	}
}

// apiOutage: the API server is gone; the agent goes on with what it knows, and catches up.
func apiOutage(t *testing.T) {
	_, a, before := lonePod(t, "offline")
	service(t, "kill", "apiserver")
	t.Cleanup(func() { service(t, "ensure", "apiserver") }) // whatever fails below, the others need it
	a.source(t, "kubernetes", false)
	a.says(t, before)
	service(t, "start", "apiserver")
	a.source(t, "kubernetes", true)
	a.says(t, before)
}
