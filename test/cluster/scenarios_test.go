// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "fmt"

// scenarios are played in this order. The DRA ones come last: a node whose device
// plugin is gone keeps its resource, at zero, until the kubelet forgets it.
var scenarios = []scenario{
	{"exclusive", exclusive},
	{"time-slicing", timeSlicing},
	{"renamed-resource", renamed},
	{"mig-mixed", migMixed},
	{"mps", mps},
	{"leak-through-image", leakThroughImage},
	{"privileged", privileged},
	{"init-container", initContainer},
	{"finished-job", finishedJob},
	{"replaced-pod", replacedPod},
	{"kubelet-restart", kubeletRestart},
	{"agent-restart", agentRestart},
	{"api-outage", apiOutage},
	{"who-may", whoMay},
	{"kubectl-plugin", kubectlPlugin},
	{"guard-policies", guardPolicies},
	{"guard-scan", guardScan},
	{"leak-events", leakEvents},
	{"chart-install", chartInstall},
	{"chart-life", chartLife},
	{"dra-shared-claim", draSharedClaim},
	{"dra-extended-resource", draExtendedResource},
}

// gpuPod is a pod of one container that asks for one of a resource.
func gpuPod(name, resource string) string {
	return holderPod(name, holderImage, fmt.Sprintf("resources: {limits: {%s: 1}}", resource))
}

// holderPod is a pod of one container named main, with one more line in its spec.
func holderPod(name, image, containerLine string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  containers:
  - name: main
    image: %s
    imagePullPolicy: Never
    %s
`, name, image, containerLine)
}
