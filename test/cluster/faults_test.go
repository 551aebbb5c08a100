// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

// alone is a node on which one pod has the only GPU and an agent watches.
type alone struct {
	gpus  *gpus
	agent *agent
	pod   pod
	pid   int
	truth truth
}

// lonePod makes such a node, and checks that the agent sees it as it is.
func lonePod(t *testing.T, name string) *alone {
	t.Helper()
	n := &alone{gpus: install(t, oneCard)}
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod(name, "nvidia.com/gpu"))
	n.pod, n.pid = running(t, name, "main")
	n.truth = truth{
		grants: []grant{{name, gpuA, "kubelet", cardBytes}},
		modes:  map[string]string{gpuA: "exclusive"},
		pays:   []share{{name, gpuA, 1, 1}},
	}
	n.agent = startAgent(t)
	n.truth.holdings = []holding{{who: name + "/main", partition: gpuA}}
	n.grow(t, 8*gib)
	return n
}

// grow changes what the pod's process holds, and checks that the agent sees it.
func (n *alone) grow(t *testing.T, bytes uint64) {
	t.Helper()
	n.gpus.release(t, n.pid)
	n.gpus.hold(t, gpuA, n.pid, bytes)
	held := n.truth.holdings[0]
	held.bytes = bytes
	n.truth.holdings = []holding{held}
	n.agent.says(t, n.truth)
}

// kubeletRestart: while the kubelet is gone nobody can say who was given the GPU; the
// pod's use stays known, and does not turn into a leak.
func kubeletRestart(t *testing.T) {
	n := lonePod(t, "survivor")
	service(t, "stop", "kubelet")
	t.Cleanup(func() { service(t, "ensure", "kubelet") }) // whatever fails below, the others need it
	n.agent.source(t, "pod_resources", false)
	n.agent.says(t, n.truth)
	n.grow(t, 10*gib)
	service(t, "start", "kubelet")
	granted(t, "survivor/main nvidia.com/gpu "+gpuA)
	n.agent.source(t, "pod_resources", true)
	n.agent.says(t, n.truth)
}

// agentRestart: an agent that was killed goes on where it was; nothing is counted twice.
func agentRestart(t *testing.T) {
	n := lonePod(t, "constant")
	a, before := n.agent, n.truth
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
// One that starts meanwhile knows the pod by its UID and the container by its id, and
// takes nobody for a leak.
func apiOutage(t *testing.T) {
	n := lonePod(t, "offline")
	service(t, "kill", "apiserver")
	t.Cleanup(func() { service(t, "ensure", "apiserver") }) // whatever fails below, the others need it
	n.agent.source(t, "kubernetes", false)
	n.agent.says(t, n.truth)
	n.grow(t, 11*gib)

	n.agent.stop(t)
	n.agent.start(t)
	nameless := n.truth
	nameless.holdings = []holding{{who: "/" + n.pod.Status.ContainerStatuses[0].shortID(), partition: gpuA, bytes: 11 * gib}}
	n.agent.says(t, nameless)

	service(t, "start", "apiserver")
	n.agent.source(t, "kubernetes", true)
	n.agent.says(t, n.truth)
}
