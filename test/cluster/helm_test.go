// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// aroundTheChart is what a cluster has, or its administrator makes, before and beside
// what the chart installs: docs/install.md.
const aroundTheChart = `apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger}
spec:
  capacity: {storage: 50Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  local: {path: ` + ledgerDisk + `}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [gpu-node-1]}]}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: coredns}
rules:
- {apiGroups: [""], resources: [services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: coredns}
subjects: [{kind: User, name: coredns, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: coredns, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
roleRef: {kind: ClusterRole, name: gputally-reader, apiGroup: rbac.authorization.k8s.io}
`

// forTheChart is the namespace of the chart, and what lets the reader through in it.
const forTheChart = `apiVersion: v1
kind: Namespace
metadata: {name: gputally, labels: {pod-security.kubernetes.io/enforce: privileged}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: gputally}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
roleRef: {kind: Role, name: gputally-kubectl, apiGroup: rbac.authorization.k8s.io}
`

// ledgerDisk is the disk of the node on which the server's volume lies.
const ledgerDisk = "/var/lib/ledger"

// chartValues are what this cluster needs besides the chart's defaults: its name, an
// image that nobody pulls, prices, and a server that fits on the machine.
const chartValues = `cluster: test
image: {repository: ` + imageName + `, pullPolicy: Never}
agent: {interval: 1s}
server:
  memory: 512
  priceBooks:
  - name: test
    content: |
      pricebook: 1
      currency: USD
      rows:
      - {id: a100, model: NVIDIA A100-SXM4-40GB, gpu_hour: 3.60, vcpu_hour: 0.36, gib_hour: 0.036}
`

// chartNode makes the node one on which the chart can be installed as anywhere: with
// Services, names for them, a volume, and the image.
func chartNode(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(deliveredImage); err != nil {
		t.Skip("the emulated machine has neither the image nor netfilter")
	}
	importImage(t)
	service(t, "start", "kube-proxy")
	t.Cleanup(func() { service(t, "stop", "kube-proxy") })
	if err := os.MkdirAll(ledgerDisk, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll("/var/lib/gputally") }) // the agent's spool
	apply(t, aroundTheChart)
	service(t, "start", "coredns")
	t.Cleanup(func() { service(t, "stop", "coredns") })
	labelNode(t, `"true"`)
	t.Cleanup(func() { labelNode(t, "null") })
}

// labelNode says of the node that it has GPUs, since nothing here that would.
func labelNode(t *testing.T, value string) {
	t.Helper()
	body := `{"metadata":{"labels":{"gputally.io/gpu":` + value + `}}}`
	if _, err := call(http.MethodPatch, "/api/v1/nodes/gpu-node-1", "application/merge-patch+json", []byte(body)); err != nil {
		t.Errorf("label the node: %v", err)
	}
}

// importImage gives the node the image under the tags of both versions of the chart.
func importImage(t *testing.T) {
	t.Helper()
	run := func(args ...string) {
		if said, err := exec.Command("/run/node/bin/ctr", append([]string{"-n", "k8s.io", "images"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("ctr images %v: %v\n%s", args, err, said)
		}
	}
	run("import", deliveredImage)
	for _, version := range []string{appVersion(t, deliveredChart), olderVersion} {
		run("tag", "--force", imageName+":test", imageName+":"+version)
	}
}

func appVersion(t *testing.T, chart string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^appVersion: "?([^"\n]*)"?$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s/Chart.yaml has no appVersion", chart)
	}
	return string(m[1])
}

// helm runs Helm itself as the cluster's administrator.
func helm(t *testing.T, words ...string) string {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("/run/node/bin/helm", append(words, "--namespace", "gputally", "--kubeconfig", "/run/node/kubeconfig/admin")...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(words, " "), err, said)
	}
	return string(said)
}

// helmInstall installs a chart until the test ends, and does not wait for anything.
func helmInstall(t *testing.T, chart string) {
	t.Helper()
	apply(t, forTheChart)
	t.Cleanup(func() { helmUninstall(t) })
	t.Cleanup(func() { keepPodLogs(t) })
	helm(t, "install", "gputally", chart, "--values", valuesFile(t))
}

// keepPodLogs puts what the pods have said with the logs of the node's daemons, if the
// test has failed: they are deleted with the pods.
func keepPodLogs(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	files, err := filepath.Glob("/var/log/pods/gputally_*/*/*.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		said, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("keep the logs of pods: %v", err)
			continue
		}
		writeFile(t, "/run/node/log/"+strings.ReplaceAll(strings.TrimPrefix(file, "/var/log/pods/"), "/", "_"), string(said))
	}
}

// ledgerClaim is what docs/install.md says is left of gputally in the cluster.
const ledgerClaim = "/api/v1/namespaces/gputally/persistentvolumeclaims/data-gputally-server-0"

// helmUninstall removes what was installed, checks that nothing is left of it but the
// ledger, and removes that too.
func helmUninstall(t *testing.T) {
	t.Helper()
	installed := helm(t, "get", "manifest", "gputally")
	helm(t, "uninstall", "gputally", "--wait")
	eventually(t, "nothing of gputally is left but its ledger", func() error {
		var left []string
		for doc := range strings.SplitSeq(strings.TrimPrefix(installed, "---\n"), "\n---\n") {
			path := objectPath(t, doc)
			if err := get(path, new(header)); !isNotFound(err) {
				left = append(left, fmt.Sprint(path, " ", err))
			}
		}
		pods, err := podsOf("server", "agent")
		if len(pods)+len(left) > 0 || err != nil {
			return fmt.Errorf("left are %v, the pods %v, %w", left, pods, err)
		}
		return nil
	})
	if err := get(ledgerClaim, new(header)); err != nil {
		t.Errorf("the ledger's claim is gone: %v", err)
	}
	remove(t, ledgerClaim)
}

// objectPath is the URL path of the object of a manifest.
func objectPath(t *testing.T, manifest string) string {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatalf("read manifest: %v\n%s", err, manifest)
	}
	var h header
	if err := json.Unmarshal(body, &h); err != nil {
		t.Fatalf("read manifest: %v\n%s", err, manifest)
	}
	return h.collection(t) + "/" + h.Metadata.Name
}

// helmUpgrade changes it to another version.
func helmUpgrade(t *testing.T, chart string) {
	t.Helper()
	helm(t, "upgrade", "gputally", chart, "--values", valuesFile(t))
}

func valuesFile(t *testing.T) string {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	writeFile(t, values, chartValues)
	return values
}

// showState lets containers with GPUs see what the mock library reads, as if it were a
// part of the driver: by the CDI file, at the place where the library looks by itself.
func showState(t *testing.T) {
	t.Helper()
	const file = "/etc/cdi/nvidia.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	body, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	var spec map[string]any
	if err := json.Unmarshal(body, &spec); err != nil {
		t.Fatal(err)
	}
	edits := spec["containerEdits"].(map[string]any)
	edits["mounts"] = append(edits["mounts"].([]any), map[string]any{
		"hostPath": filepath.Dir(stateFile), "containerPath": "/var/lib/mock-nvml", "options": []string{"ro", "nosuid", "nodev", "rbind"}})
	body, err = json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(body))
}

// podsOf are the pods of components that the chart has installed.
func podsOf(components ...string) ([]pod, error) {
	var list struct{ Items []pod }
	selector := url.QueryEscape("app.kubernetes.io/component in (" + strings.Join(components, ",") + ")")
	err := get("/api/v1/namespaces/gputally/pods?labelSelector="+selector, &list)
	return list.Items, err
}

// onlyPod waits until a component has one pod and that is ready, and is not the one that
// is gone, and returns it with the node's id of its process.
func onlyPod(t *testing.T, component, goneUID string) (pod, int) {
	t.Helper()
	var p pod
	var pid int
	eventually(t, "one pod of the "+component+" is ready", func() error {
		pods, err := podsOf(component)
		if err != nil {
			return err
		}
		if len(pods) != 1 || pods[0].Metadata.UID == goneUID || !pods[0].ready() {
			return fmt.Errorf("they are %+v", pods)
		}
		p = pods[0]
		_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
		pid, err = firstProcess(id)
		return err
	})
	return p, pid
}

// ready says whether the only container of a pod is.
func (p pod) ready() bool {
	return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready
}
