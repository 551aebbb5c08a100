// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bypass is a way by which a container, main, may come to GPUs that it was not given. gets
// are the cards that it really can open on a node with NVIDIA's default settings, where own
// is the one that it was given, and fails stands for a container that NVIDIA's runtime cannot
// start.
type bypass struct {
	name, notes, spec string
	gets              []string
}

const (
	own     = "own"
	fails   = "fails"
	plain   = `image: ` + holderImage
	visible = `env: [{name: NVIDIA_VISIBLE_DEVICES, value: `
	// As NVIDIA's device plugin mounts it: only what is mounted from there counts.
	deviceList = `{volumes: [{name: v, hostPath: {path: /dev/null}}], containers: [{` + plain + `, volumeMounts: [{name: v, mountPath: /var/run/nvidia-container-devices/all}]}]}`
	asksOne    = `resources: {limits: {nvidia.com/gpu: 1}}`
)

// bypasses are the ways of docs/guardrails.md, in its order. A container without an image
// has one that says NVIDIA_VISIBLE_DEVICES=all.
var bypasses = []bypass{
	{"image", "", `{containers: [{}]}`, []string{gpuA, gpuB}},
	{"variable", "", `{containers: [{` + plain + `, ` + visible + `all}]}]}`, []string{gpuA, gpuB}},
	{"variable-index", "", `{containers: [{` + plain + `, ` + visible + `"1"}]}]}`, []string{gpuB}},
	{"variable-from-a-map", "", `{containers: [{` + plain + `, env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: gpus, key: which}}}]}]}`, []string{gpuA, gpuB}},
	{"variable-by-env-from", "", `{containers: [{` + plain + `, envFrom: [{configMapRef: {name: gpus-whole}}]}]}`, []string{gpuA, gpuB}},
	{"variable-void", "", `{containers: [{` + visible + `void}]}]}`, nil},
	{"variable-void-in-a-list", "", `{containers: [{` + visible + `"0,void"}]}]}`, nil},
	{"variable-none", "", `{containers: [{` + visible + `none}]}]}`, []string{fails}},
	{"variable-empty", "", `{containers: [{` + visible + `""}]}]}`, nil},
	{"cuda-version", "", `{containers: [{` + plain + `, env: [{name: CUDA_VERSION, value: "12.4"}]}]}`, []string{gpuA, gpuB}},
	{"runtime-class", "", `{runtimeClassName: nvidia, containers: [{}]}`, []string{gpuA, gpuB}},
	{"runtime-class-runc", "", `{runtimeClassName: runc, containers: [{}]}`, nil},
	{"device-list-mount", "", deviceList, nil},
	{"cdi-annotation", "cdi.k8s.io/x: nvidia.com/gpu=all", `{containers: [{` + plain + `}]}`, nil},
	{"privileged", "", `{containers: [{` + plain + `, securityContext: {privileged: true}}]}`, []string{gpuA, gpuB}},
	{"privileged-void", "", `{containers: [{` + plain + `, securityContext: {privileged: true}, ` + visible + `void}]}]}`, []string{gpuA, gpuB}},
	{"device-file", "", `{volumes: [{name: v, hostPath: {path: /dev/nvidia0}}], containers: [{` + plain + `, volumeMounts: [{name: v, mountPath: /dev/nvidia0}]}]}`, nil},
	{"all-of-dev", "", `{volumes: [{name: v, hostPath: {path: /dev}}], containers: [{` + plain + `, volumeMounts: [{name: v, mountPath: /dev}]}]}`, nil},
	{"sidecar-of-a-grant", "", `{containers: [{}, {name: trainer, ` + asksOne + `}]}`, []string{gpuA, gpuB}},
	{"grant-and-image", "", `{containers: [{` + asksOne + `}]}`, []string{own}},
	{"grant-and-variable", "", `{containers: [{` + asksOne + `, ` + visible + `all}]}]}`, []string{gpuA, gpuB}},
}

// gpuNames are the ConfigMaps that some of them name, and the RuntimeClasses.
const gpuNames = `apiVersion: v1
kind: ConfigMap
metadata: {name: gpus, namespace: default}
data: {which: all}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gpus-whole, namespace: default}
data: {NVIDIA_VISIBLE_DEVICES: all}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: runc}
handler: runc
`

// guardBypasses: what a container can open on a node with the defaults, and with settings.
func guardBypasses(t *testing.T) {
	install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuNames)
	t.Run("defaults", guardDefaults)
	t.Run("settings", guardNodeSettings)
}

// guardDefaults: each way to a GPU, tried with NVIDIA's runtime. Who could open one that
// was not given to it is found by guard scan, at medium severity or above.
func guardDefaults(t *testing.T) {
	manifests := []string{gpuNames}
	for _, b := range bypasses {
		body := string(guardPod(t, b.name, "default", b.notes, b.spec))
		manifests = append(manifests, body)
		if !b.asks() {
			apply(t, body)
		}
	}
	t.Cleanup(func() { removeAll(t, "/api/v1/namespaces/default/pods") }) // all at once
	severe := severities(t, strings.Join(manifests, "\n---\n"))
	for i, b := range bypasses {
		t.Run(b.name, func(t *testing.T) {
			if b.asks() { // one at a time: there are two GPUs
				apply(t, manifests[i+1])
			}
			b.tried(t)
			if found := severe[b.name]; b.takes() && severityOrder(found) < severityOrder("medium") {
				t.Errorf("it can open GPUs that it was not given, and guard scan says %q", found)
			}
		})
	}
}

// tried compares what its container can open with what it should.
func (b bypass) tried(t *testing.T) {
	t.Helper()
	if slices.Equal(b.gets, []string{fails}) {
		neverStarts(t, b.name, "unresolvable CDI devices")
		return
	}
	if diff := cmp.Diff(b.cards(t), opens(t, b.name)); diff != "" {
		t.Errorf("%s can open (-want +got):\n%s", b.name, diff)
	}
}

// cards are those that its container gets.
func (b bypass) cards(t *testing.T) []string {
	t.Helper()
	if slices.Equal(b.gets, []string{own}) {
		return []string{grantedID(t, b.name+"/main")}
	}
	return sorted(slices.Clone(b.gets))
}

// neverStarts waits until the runtime has said that it cannot start a pod's container.
func neverStarts(t *testing.T, name, why string) {
	t.Helper()
	eventually(t, "the container of pod "+name+" cannot be started", func() error {
		var p pod
		if err := get(podPath(name), &p); err != nil {
			return err
		}
		if said := fmt.Sprint(p.Status.ContainerStatuses); !strings.Contains(said, why) {
			return fmt.Errorf("its status is %s", said)
		}
		return nil
	})
}

// nodeSettings are settings of NVIDIA's toolkit that shut a door, or open one.
var nodeSettings = []struct {
	line string
	pods []bypass
}{
	{"accept-nvidia-visible-devices-envvar-when-unprivileged = false", []bypass{
		{"image", "", `{containers: [{}]}`, nil},
		{"variable", "", `{containers: [{` + plain + `, ` + visible + `all}]}]}`, nil},
		{"runtime-class", "", `{runtimeClassName: nvidia, containers: [{}]}`, nil},
		{"privileged", "", `{containers: [{` + plain + `, securityContext: {privileged: true}}]}`, []string{gpuA, gpuB}},
		{"grant-and-variable", "", `{containers: [{` + asksOne + `, ` + visible + `all}]}]}`, []string{own}},
	}},
	{"accept-nvidia-visible-devices-as-volume-mounts = true", []bypass{
		{"device-list-mount", "", deviceList, []string{gpuA, gpuB}},
	}},
}

// guardNodeSettings: what the setting of a node changes.
func guardNodeSettings(t *testing.T) {
	const file = "/etc/nvidia-container-runtime/config.toml"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writeFile(t, file, string(before)) })
	for _, s := range nodeSettings {
		writeFile(t, file, s.line+"\n"+string(before))
		for _, b := range s.pods {
			apply(t, string(guardPod(t, b.name, "default", b.notes, b.spec)))
		}
		t.Run(s.line, func(t *testing.T) {
			for _, b := range s.pods {
				b.tried(t)
			}
		})
		removeAll(t, "/api/v1/namespaces/default/pods")
	}
}

// asks is whether a GPU is asked for by one of its containers.
func (b bypass) asks() bool { return strings.Contains(b.spec, asksOne) }

// takes is whether it can open what it was not given.
func (b bypass) takes() bool { return len(b.gets) > 0 && b.gets[0] != own && b.gets[0] != fails }

// opens are the cards that a pod's container can open: their device files are there, and
// its device cgroup lets it.
func opens(t *testing.T, name string) (cards []string) {
	t.Helper()
	_, pid := running(t, name, "main")
	for uuid, node := range map[string]string{gpuA: "nvidia0", gpuB: "nvidia1"} {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/dev/%s", pid, node)); err == nil && letsOpen(t, pid, "/dev/"+node) {
			cards = append(cards, uuid)
		}
	}
	return sorted(cards)
}

// letsOpen asks the kernel, from within the device cgroup of a process, for a device node.
// There is no driver behind it, so what is allowed fails differently.
func letsOpen(t *testing.T, pid int, node string) bool {
	t.Helper()
	cmd := exec.Command("sh", "-c", `echo $$ >"$1" && exec 3<"$2"`, "sh", filepath.Join(devicesCgroup(t, pid), "cgroup.procs"), node)
	said, err := cmd.CombinedOutput()
	switch {
	case err != nil && bytes.Contains(said, []byte("Operation not permitted")):
		return false
	case err != nil && bytes.Contains(said, []byte("No such device or address")):
		return true
	}
	t.Fatalf("open %s in the device cgroup of process %d: %v: %s", node, pid, err, said)
	return false
}

// devicesCgroup is the folder of the cgroup that says which devices a process may open.
func devicesCgroup(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case f[1] == "devices":
			return "/sys/fs/cgroup/devices" + f[2]
		case f[0] == "0" && !bytes.Contains(text, []byte(":devices:")):
			return "/sys/fs/cgroup" + f[2]
		}
	}
	t.Fatalf("process %d is in no cgroup for devices: %s", pid, text)
	return ""
}

// severities are the most severe findings of guard scan, by pod.
func severities(t *testing.T, manifests string) map[string]string {
	t.Helper()
	cmd := exec.Command("/run/node/gputally/gputally", "guard", "scan", "-f", "-", "-o", "json", "--fail-on", "none", "--image-archive", "/run/node/images/cuda.tar")
	cmd.Stdin = strings.NewReader(manifests)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("guard scan: %v", err)
	}
	var report struct {
		Findings []struct {
			Severity string
			Object   struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range report.Findings {
		if severityOrder(f.Severity) > severityOrder(out[f.Object.Name]) {
			out[f.Object.Name] = f.Severity
		}
	}
	return out
}

// severityOrder is larger for what is more severe.
func severityOrder(s string) int {
	return slices.Index([]string{"low", "medium", "high", "critical"}, s)
}
