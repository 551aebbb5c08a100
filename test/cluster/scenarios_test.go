// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "fmt"

// scenarios are played in this order. The DRA ones come last: a node whose device
// plugin is gone keeps its resource, at zero, until the kubelet forgets it.
var scenarios = []scenario{
	{name: "exclusive", play: exclusive},
	{name: "time-slicing", play: timeSlicing},
	{name: "renamed-resource", play: renamed},
	{name: "mig-mixed", play: migMixed},
	{name: "mps", play: mps},
	{name: "leak-through-image", play: leakThroughImage},
	{name: "privileged", play: privileged},
	{name: "init-container", play: initContainer},
	{name: "finished-job", play: finishedJob},
	{name: "replaced-pod", play: replacedPod},
	{name: "kubelet-restart", play: kubeletRestart},
	{name: "agent-restart", play: agentRestart},
	{name: "api-outage", play: apiOutage},
	{name: "who-may", play: whoMay},
	{name: "kubectl-plugin", play: kubectlPlugin},
	{name: "guard-policies", play: guardPolicies},
	{name: "guard-bypasses", play: guardBypasses},
	{name: "guard-scan", play: guardScan},
	{name: "leak-events", play: leakEvents},
	{name: "chart-quick-start", play: chartQuickStart},
	{name: "chart-install", play: chartInstall},
	{name: "chart-life", play: chartLife},
	{name: "dra-shared-claim", play: draSharedClaim, since: 34},
	{name: "dra-extended-resource", play: draExtendedResource, since: 36},
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
