// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// guardPods are pods that reach GPUs in every way that core/guard knows, and some that
// do not. spec is what follows "spec:"; a container without a name is main, and one without
// an image has that of CUDA.
var guardPods = []struct{ name, notes, spec string }{
	{"plain", "", `{containers: [{}]}`},
	{"variable-all", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"variable-void", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}`},
	{"variable-void-in-a-list", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: "0, void"}]}]}`},
	{"variable-empty", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: ""}]}]}`},
	{"variable-on-a-grant", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}], resources: {limits: {nvidia.com/gpu: 1}}}]}`},
	{"variable-hides-a-grant", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}], resources: {limits: {nvidia.com/gpu: 1}}}]}`},
	{"variable-from-elsewhere", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: x, key: y}}}]}]}`},
	{"variable-from-a-map", "", `{containers: [{envFrom: [{configMapRef: {name: x}}]}]}`},
	{"request-of-zero", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: "0"}], resources: {limits: {nvidia.com/gpu: 0}}}]}`},
	{"a-grant", "", `{containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}`},
	{"no-gpu-resource", "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}], resources: {limits: {nvidia.com/rdma-x: 1}}}]}`},
	{"another-gpu-resource", "", `{containers: [{resources: {limits: {aliyun.com/gpu-mem: 4}}, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}`},
	{"a-claim", "", `{resourceClaims: [{name: g, resourceClaimName: x}], containers: [{resources: {claims: [{name: g}]}}]}`},
	{"sidecar-of-a-grant", "", `{containers: [{resources: {limits: {nvidia.com/gpu: 1}}}, {name: logs, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"init-container", "", `{initContainers: [{name: prep, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}], containers: [{}]}`},
	{"runtime", "", `{runtimeClassName: nvidia, containers: [{}]}`},
	{"runtime-and-void", "", `{runtimeClassName: nvidia, containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}`},
	{"runtime-and-a-grant", "", `{runtimeClassName: nvidia, containers: [{resources: {limits: {nvidia.com/gpu: 1}}}, {name: logs}]}`},
	{"privileged", "", `{containers: [{securityContext: {privileged: true}}]}`},
	{"not-privileged", "", `{containers: [{securityContext: {privileged: false}}]}`},
	{"privileged-with-the-variable", "", `{containers: [{securityContext: {privileged: true}, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"device-file", "", mounting("/dev/nvidia0", "")},
	{"device-file-of-caps", "", mounting("/dev/nvidia-caps/nvidia-cap1", "")},
	{"device-file-below-dev", "", mounting("/dev", "nvidia1")},
	{"device-file-with-slashes", "", mounting("//dev/.//nvidia0", "")},
	{"device-file-of-the-driver-root", "", mounting("/var/run/nvidia/driver/dev", "")},
	{"device-directory", "", mounting("/dev/dri", "")},
	{"no-device-directory", "", mounting("/dev/drive", "")},
	{"all-of-dev", "", mounting("/dev", "")},
	{"all-of-dev-privileged", "", strings.Replace(mounting("/dev/", ""), "containers: [{", "containers: [{securityContext: {privileged: true}, ", 1)},
	{"the-root-privileged", "", strings.Replace(mounting("/", ""), "containers: [{", "containers: [{securityContext: {privileged: true}, ", 1)},
	{"the-driver", "", mounting("/run/nvidia", "")},
	{"the-driver-privileged", "", strings.Replace(mounting("/usr/local/nvidia", ""), "containers: [{", "containers: [{securityContext: {privileged: true}, ", 1)},
	{"cdi-specifications", "", mounting("/etc/cdi", "")},
	{"cdi-specifications-read-only", "", strings.Replace(mounting("/var/run/cdi", ""), "mountPath", "readOnly: true, mountPath", 1)},
	{"logs-of-the-node", "", mounting("/var/log", "")},
	{"a-volume-nobody-mounts", "", `{volumes: [{name: v, hostPath: {path: /dev/nvidia0}}], containers: [{}]}`},
	{"mps-pipes", "", mounting("/run/nvidia/mps/nvidia.com/gpu/pipe", "")},
	{"mps-variable", "", `{containers: [{env: [{name: CUDA_MPS_PIPE_DIRECTORY, value: /mps/pipe}]}]}`},
	{"mps-of-its-own", "", `{volumes: [{name: v, emptyDir: {}}], containers: [{env: [{name: CUDA_MPS_PIPE_DIRECTORY, value: /mps/pipe}], volumeMounts: [{name: v, mountPath: /mps}]}]}`},
	{"mps-and-host-ipc", "", `{hostIPC: true, containers: [{env: [{name: CUDA_MPS_LOG_DIRECTORY, value: /x}]}]}`},
	{"host-ipc-alone", "", `{hostIPC: true, containers: [{}]}`},
	{"cdi-annotation", "cdi.k8s.io/x: nvidia.com/gpu=all", `{containers: [{}]}`},
	{"cdi-annotation-of-another", "cdi.k8s.io/x: vendor.com/net=eth1", `{containers: [{}]}`},
	{"cdi-annotation-of-no-form", "cdi.k8s.io/x: everything", `{containers: [{}]}`},
	{"device-list", "", `{volumes: [{name: v, emptyDir: {}}], containers: [{volumeMounts: [{name: v, mountPath: /var/run/nvidia-container-devices/all}]}]}`},
	{"mig-configuration", "", `{containers: [{resources: {limits: {nvidia.com/gpu: 1}}, env: [{name: NVIDIA_MIG_CONFIG_DEVICES, value: all}]}]}`},
	{"imex-channels", "", `{containers: [{env: [{name: NVIDIA_IMEX_CHANNELS, value: "0"}]}]}`},
	{"imex-channels-of-a-grant", "", `{containers: [{resources: {limits: {nvidia.com/gpu: 1}}, env: [{name: NVIDIA_IMEX_CHANNELS, value: "0"}]}]}`},
	{"cuda-version", "", `{containers: [{env: [{name: CUDA_VERSION, value: "12.4"}]}]}`},
	{"cuda-version-and-void", "", `{containers: [{env: [{name: CUDA_VERSION, value: "12.4"}, {name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}`},
	{"share-without-limits", "", `{containers: [{resources: {limits: {nvidia.com/gpu: 1}}, env: [{name: CUDA_DISABLE_CONTROL, value: "true"}]}]}`},
	{"kai-share", "gpu-fraction: \"0.5\"", `{schedulerName: kai-scheduler, containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}, {name: logs, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"kai-share-without-kai", "gpu-fraction: \"0.5\"", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"exempt", "gputally.io/guard-exempt: \"platform: reads the metrics of every GPU\"", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
	{"exempt-without-a-reason", "gputally.io/guard-exempt: \"platform:\"", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`},
}

func mounting(hostPath, subPath string) string {
	if subPath != "" {
		subPath = "subPath: " + subPath + ", "
	}
	return fmt.Sprintf(`{volumes: [{name: v, hostPath: {path: %s}}], containers: [{volumeMounts: [{name: v, %smountPath: /m}]}]}`, hostPath, subPath)
}

// guardPod is one of them as JSON, in a namespace.
func guardPod(t *testing.T, name, namespace, notes, spec string) []byte {
	t.Helper()
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: %s\n  annotations: {%s}\nspec: %s\n", name, namespace, notes, spec)
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("read pod %s: %v\n%s", name, err, text)
	}
	var pod map[string]any
	if err := json.Unmarshal(body, &pod); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := pod["spec"].(map[string]any)[list].([]any)
		for _, c := range containers {
			c := c.(map[string]any)
			c["imagePullPolicy"] = "Never"
			for field, value := range map[string]string{"image": cudaImage, "name": "main"} {
				if c[field] == nil {
					c[field] = value
				}
			}
		}
	}
	out, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tried is what the API server said of a pod that it was shown and did not keep.
type tried struct {
	status   int
	text     string
	warnings []string
}

func try(t *testing.T, namespace string, pod []byte) tried {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodPost, apiServer+"/api/v1/namespaces/"+namespace+"/pods?dryRun=All", bytes.NewReader(pod))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return tried{resp.StatusCode, string(text), resp.Header.Values("Warning")}
}

var guardWarning = regexp.MustCompile(`gputally (GT-G\d+) [a-z-]+(?: in container ([^:]*))?: `)

// warned are the rules and containers that the policy warned of.
func (x tried) warned() []string {
	var out []string
	for _, w := range x.warnings {
		m := guardWarning.FindStringSubmatch(w)
		if m == nil {
			continue
		}
		for _, c := range strings.Split(m[2], ", ") {
			out = append(out, m[1]+" "+c)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// scannedAs are the rules and containers of medium severity or above that guard scan
// finds in the same pod.
func scannedAs(t *testing.T, pod []byte) []string {
	t.Helper()
	cmd := exec.Command("/run/node/gputally/gputally", "guard", "scan", "-f", "-", "-o", "json", "--fail-on", "none")
	cmd.Stdin = bytes.NewReader(pod)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("guard scan: %v", err)
	}
	var report struct {
		Findings []struct{ Rule, Severity, Container string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range report.Findings {
		if f.Severity != "low" {
			out = append(out, f.Rule+" "+f.Container)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mutatingSince is the first minor version of Kubernetes 1 with mutating policies as v1.
const mutatingSince = 36

// policiesOf are the objects that guard policies prints for the node's version, of some
// kinds.
func policiesOf(t *testing.T, kinds string) string {
	t.Helper()
	text, err := output("gputally", "guard", "policies", "--kubernetes", fmt.Sprintf("1.%d", kubernetesMinor(t)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(doc, "kind: "+kinds) {
			out = append(out, doc)
		}
	}
	return strings.Join(out, "\n---\n")
}

const guardNamespaces = `apiVersion: v1
kind: Namespace
metadata: {name: warned, labels: {gputally.io/guard: warn}}
---
apiVersion: v1
kind: Namespace
metadata: {name: enforced, labels: {gputally.io/guard: enforce}}
---
apiVersion: v1
kind: Namespace
metadata: {name: exempted, labels: {gputally.io/guard: enforce}, annotations: {gputally.io/guard-exempt: "platform: exporters of GPU metrics"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: off}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
`

// guardPolicies: the API server says of every pod what guard scan says of it, refuses it
// where it shall, and with the mutating policy the image's variable gives no GPU. Where
// Kubernetes is too old for that one, the image's variable does.
func guardPolicies(t *testing.T) {
	apply(t, guardNamespaces)
	apply(t, policiesOf(t, "Validating"))
	leaky := func(namespace string) []byte {
		return guardPod(t, "probe", namespace, "", `{containers: [{env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}`)
	}
	for _, ns := range []string{"warned", "enforced", "exempted", "off"} { // without it no pod is let in
		eventually(t, "namespace "+ns+" has its service account", func() error {
			return get("/api/v1/namespaces/"+ns+"/serviceaccounts/default", new(header))
		})
	}
	eventually(t, "the policy is in force", func() error {
		if got := try(t, "enforced", leaky("enforced")); got.status != http.StatusForbidden && got.status != http.StatusUnprocessableEntity {
			return fmt.Errorf("it let a leak in: %d %s", got.status, got.text)
		}
		return nil
	})
	t.Run("agrees", func(t *testing.T) { policiesAgree(t) })
	t.Run("modes", func(t *testing.T) { policiesHaveModes(t, leaky) })
	if kubernetesMinor(t) < mutatingSince {
		t.Run("without-mutating", func(t *testing.T) { leakGoesOn(t) })
	} else {
		apply(t, policiesOf(t, "Mutating"))
		t.Run("void", func(t *testing.T) { leakIsPrevented(t) })
	}
}

func policiesAgree(t *testing.T) {
	for _, p := range guardPods {
		body := guardPod(t, p.name, "warned", p.notes, p.spec)
		got := try(t, "warned", body)
		if got.status != http.StatusCreated {
			t.Errorf("%s: %d %s", p.name, got.status, got.text)
			continue
		}
		want := scannedAs(t, body)
		if diff := cmp.Diff(want, got.warned()); diff != "" {
			t.Errorf("%s: guard scan (-) and the policy (+) differ:\n%s%v", p.name, diff, got.warnings)
		}
		refused := try(t, "enforced", guardPod(t, p.name, "enforced", p.notes, p.spec)).status != http.StatusCreated
		if bad := len(want) > 0 || p.name == "exempt"; refused != bad { // where pods are refused they cannot exempt themselves
			t.Errorf("%s: refused %v, want %v", p.name, refused, bad)
		}
	}
}

func policiesHaveModes(t *testing.T, leaky func(string) []byte) {
	for namespace, want := range map[string]int{"off": http.StatusCreated, "exempted": http.StatusCreated, "warned": http.StatusCreated, "enforced": http.StatusUnprocessableEntity} {
		got := try(t, namespace, leaky(namespace))
		if got.status != want || (namespace == "warned") != (len(got.warned()) > 0) {
			t.Errorf("in namespace %s: %d, warnings %v, want %d: %s", namespace, got.status, got.warnings, want, got.text)
		}
	}
	if got := try(t, "enforced", leaky("enforced")); !strings.Contains(got.text, "GT-G001 visible-devices-without-request in container main: request a GPU") {
		t.Errorf("the refusal does not say what to do: %s", got.text)
	}
}
