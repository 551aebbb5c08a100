// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// leakIsPrevented: an image that says NVIDIA_VISIBLE_DEVICES=all gets every GPU of the
// node, and none once the namespace enforces.
func leakIsPrevented(t *testing.T) {
	install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, holderPod("leak", cudaImage, "env: []"))
	_, pid := running(t, "leak", "main")
	canOpen(t, pid, gpuA, gpuB)

	enforceHere(t)
	eventually(t, "the mutating policy is in force", func() error {
		got := try(t, "default", guardPod(t, "probe", "default", "", `{initContainers: [{name: first}], containers: [{}, {name: second}]}`))
		if n := strings.Count(got.text, `{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}`); n != 3 {
			return fmt.Errorf("%d of 3 containers have the variable: %s", n, got.text)
		}
		return nil
	})
	apply(t, holderPod("hidden", cudaImage, "env: []"))
	_, pid = running(t, "hidden", "main")
	canOpen(t, pid)
	apply(t, gpuPod("honest", "nvidia.com/gpu"))
	_, pid = running(t, "honest", "main")
	canOpen(t, pid, grantedID(t, "honest/main"))
	ephemeralGetsNone(t)
}

// leakGoesOn: what docs/guard-policies.md says of versions without mutating policies. The
// image's variable gives every GPU where pods are refused, too; one in the manifest does not.
func leakGoesOn(t *testing.T) {
	if rest := policiesOf(t, "Mutating"); rest != "" {
		t.Errorf("policies are printed that this version has not:\n%s", rest)
	}
	install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	enforceHere(t)
	apply(t, holderPod("leak", cudaImage, "env: []"))
	_, pid := running(t, "leak", "main")
	canOpen(t, pid, gpuA, gpuB)
	apply(t, holderPod("hidden", cudaImage, "env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]"))
	_, pid = running(t, "hidden", "main")
	canOpen(t, pid)
}

// enforceHere has pods of the default namespace refused until the test ends.
func enforceHere(t *testing.T) {
	t.Helper()
	labelNamespace(t, "default", `"enforce"`)
	t.Cleanup(func() { labelNamespace(t, "default", "null") })
	leaky := guardPod(t, "probe", "default", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`)
	eventually(t, "pods are refused in the default namespace", func() error {
		if got := try(t, "default", leaky); got.status != http.StatusUnprocessableEntity {
			return fmt.Errorf("it let a leak in: %d %s", got.status, got.text)
		}
		return nil
	})
}

// ephemeralGetsNone: a container that joins a pod later is told void, too, and what was
// there before stays as it was.
func ephemeralGetsNone(t *testing.T) {
	t.Helper()
	body := fmt.Sprintf(`{"spec":{"ephemeralContainers":[{"name":"debug","image":%q,"imagePullPolicy":"Never"}]}}`, cudaImage)
	answer, err := call(http.MethodPatch, podPath("leak")+"/ephemeralcontainers", "application/strategic-merge-patch+json", []byte(body))
	if err != nil || !strings.Contains(string(answer), `"value":"void"`) {
		t.Errorf("an ephemeral container: %v, want NVIDIA_VISIBLE_DEVICES=void in %s", err, answer)
	}
	body = strings.Replace(body, `"debug"`, `"bad"`, 1)
	body = strings.Replace(body, `"imagePullPolicy"`, `"env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}],"imagePullPolicy"`, 1)
	if _, err := call(http.MethodPatch, podPath("leak")+"/ephemeralcontainers", "application/strategic-merge-patch+json", []byte(body)); err == nil || !strings.Contains(err.Error(), "GT-G001") {
		t.Errorf("an ephemeral container that takes all GPUs: %v, want it refused", err)
	}
}

func labelNamespace(t *testing.T, name, mode string) {
	t.Helper()
	body := fmt.Sprintf(`{"metadata":{"labels":{"gputally.io/guard":%s}}}`, mode)
	if _, err := call(http.MethodPatch, "/api/v1/namespaces/"+name, "application/merge-patch+json", []byte(body)); err != nil {
		t.Errorf("label namespace %s: %v", name, err)
	}
}
