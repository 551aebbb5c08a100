// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func init() {
	paths["ConfigMap"] = "/api/v1/namespaces/%s/configmaps"
	paths["Deployment"] = "/apis/apps/v1/namespaces/%s/deployments"
}

const adminKubeconfig = "/run/node/kubeconfig/admin"

// guardObjects are what a scan of the cluster must find, and what it must not: a
// Deployment of two pods, a pod whose variable comes from a ConfigMap, one in another
// namespace, one that asks for a GPU, one whose image alone names GPUs.
func guardObjects() string {
	env := `env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]`
	return strings.Join([]string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: guarded}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gpus, namespace: default}\ndata: {which: all}\n",
		fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: leaky, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: leaky}}
  template:
    metadata: {labels: {app: leaky}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: %q, imagePullPolicy: Never, %s}]
`, holderImage, env),
		holderPod("by-map", holderImage, "env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: gpus, key: which}}}]"),
		strings.Replace(holderPod("hidden", holderImage, env), "namespace: default", "namespace: guarded", 1),
		gpuPod("honest", "nvidia.com/gpu"),
		holderPod("by-image", cudaImage, "env: []"),
	}, "---\n")
}

// guardScanned is the part of a scan's JSON that is looked at.
type guardScanned struct {
	Looked struct {
		Pods    int
		Cluster string
	} `json:"looked_at"`
	Findings []struct {
		Rule, Severity, Value string
		Object                struct{ Kind, Namespace, Name string }
		Pods                  *struct{ Count int }
	}
	Mistakes []struct{ Message string }
}

// told are the findings, a word each, those of the platform's namespaces left out.
func (s guardScanned) told() map[string]int {
	out := map[string]int{}
	for _, f := range s.Findings {
		if f.Object.Namespace != "kube-system" {
			pods := 0
			if f.Pods != nil {
				pods = f.Pods.Count
			}
			out[fmt.Sprintf("%s %s %s/%s/%s", f.Rule, f.Severity, f.Object.Namespace, f.Object.Kind, f.Object.Name)] = pods
		}
	}
	return out
}

// runGuardScan runs the command, and gives its exit code too.
func runGuardScan(t *testing.T, kubeconfig string, words ...string) (got guardScanned, code int, stderr string) {
	t.Helper()
	cmd := exec.Command("/run/node/gputally/gputally", append([]string{"guard", "scan", "--kubeconfig", kubeconfig, "-o", "json"}, words...)...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("guard scan: %v: %s", err, out.String())
		}
	}
	return got, code, wrong.String()
}

// guardScan: the live cluster, read by an administrator, and by who may read one namespace.
func guardScan(t *testing.T) {
	install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, guardObjects())
	apply(t, accounts)
	running(t, "by-map", "main")
	running(t, "by-image", "main")
	archives, err := filepath.Glob("/run/node/images/*.tar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no image archives: %v", err)
	}
	var images []string
	for _, a := range archives {
		images = append(images, "--image-archive", a)
	}

	want := map[string]int{
		"GT-G001 high default/Deployment/leaky": 2,
		"GT-G001 high default/Pod/by-map":       0,
		"GT-G001 high guarded/Pod/hidden":       0,
		"GT-G016 high default/Pod/by-image":     0,
	}
	eventually(t, "the scan finds "+fmt.Sprint(want), func() error {
		got, code, stderr := runGuardScan(t, adminKubeconfig, images...)
		if told := got.told(); fmt.Sprint(told) != fmt.Sprint(want) || code != 1 {
			return fmt.Errorf("exit code %d, %v: %s", code, told, stderr)
		}
		return nil
	})

	// Who may read one namespace is told which others were not, and gets no clean bill.
	apply(t, mayList("reader"))
	narrow := kubectl{}.as(t, tokenRequest(t, "reader", "", "")).kubeconfig
	got, code, stderr := runGuardScan(t, narrow)
	told := got.told()
	if _, has := told["GT-G001 high default/Deployment/leaky"]; !has || len(told) != 2 || code != 2 {
		t.Errorf("a reader of one namespace: exit code %d, %v", code, told)
	}
	if !strings.Contains(stderr, "pods: namespaces not readable: ") || !strings.Contains(stderr, "guarded") || !strings.Contains(stderr, "kube-system") {
		t.Errorf("what could not be read is not said: %s", stderr)
	}
	if got, code, stderr = runGuardScan(t, narrow, "-n", "default"); code != 1 || len(got.Mistakes) > 0 {
		t.Errorf("-n default: exit code %d, %s", code, stderr)
	}
}

// mayList lets a ServiceAccount of default read that namespace as docs/guardrails.md says,
// and the names of the others.
func mayList(account string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: guard-%[1]s, namespace: default}
rules:
- {apiGroups: [""], resources: [pods, replicationcontrollers], verbs: [list]}
- {apiGroups: [apps], resources: [deployments, statefulsets, daemonsets, replicasets], verbs: [list]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [list]}
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: guard-%[1]s, namespace: default}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
roleRef: {kind: Role, name: guard-%[1]s, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: guard-%[1]s}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: guard-%[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
roleRef: {kind: ClusterRole, name: guard-%[1]s, apiGroup: rbac.authorization.k8s.io}
`, account)
}

// mayTell is the one right that --events needs.
const mayTell = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agent-events}
rules:
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agent-events}
subjects: [{kind: User, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: agent-events, apiGroup: rbac.authorization.k8s.io}
`

// leakEvents: the pod that takes GPU memory of another is told so, once, by Events that
// the API server takes; the one it takes from is told nothing.
func leakEvents(t *testing.T) {
	g := install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	apply(t, gpuPod("honest", "nvidia.com/gpu"))
	_, honestPID := running(t, "honest", "main")
	uuid := grantedID(t, "honest/main")
	apply(t, holderPod("leak", cudaImage, "env: []"))
	leak, leakPID := running(t, "leak", "main")
	g.hold(t, uuid, honestPID, 10*gib)
	g.hold(t, uuid, leakPID, 2*gib)
	apply(t, mayTell)

	startAgent(t, "--events").says(t, truth{
		holdings: []holding{
			{who: "honest/main", partition: uuid, bytes: 10 * gib},
			{who: "leak/main", partition: uuid, bytes: 2 * gib, leak: true},
		},
		grants:   []grant{{"honest", uuid, "kubelet", cardBytes}},
		findings: []finding{{"unallocated_gpu_use", "leak"}, {"exposure", "leak"}},
		modes:    map[string]string{uuid: "exclusive"},
	})
	type event struct {
		Reason, Note, Type  string
		ReportingController string
		Regarding           struct{ Name, UID string }
		Related             struct{ Name string }
	}
	var mine map[string][]event
	eventually(t, "both Events are there", func() error {
		var all struct{ Items []event }
		if err := get("/apis/events.k8s.io/v1/namespaces/default/events", &all); err != nil {
			return err
		}
		mine = map[string][]event{}
		for _, e := range all.Items {
			if e.ReportingController == "gputally.io/agent" {
				mine[e.Regarding.Name+" "+e.Reason] = append(mine[e.Regarding.Name+" "+e.Reason], e)
			}
		}
		if len(mine["leak UnallocatedGPUUse"]) != 1 || len(mine["leak GPUExposure"]) != 1 || len(mine) != 2 {
			return fmt.Errorf("there are %v", mine)
		}
		return nil
	})
	e := mine["leak UnallocatedGPUUse"][0]
	for _, part := range []string{"2.0 GiB", uuid, "given to default/honest", "since 2"} {
		if !strings.Contains(e.Note, part) {
			t.Errorf("the note says %q, without %q", e.Note, part)
		}
	}
	if e.Type != "Warning" || e.Regarding.UID != leak.Metadata.UID || e.Related.Name != "gpu-node-1" {
		t.Errorf("the Event is %+v", e)
	}
}
