// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is gputally as the chart installs it, as far as the plugin looks: the labels
// of pods, the names of ports, the scheme of probes. Server and agent are real pods; the
// programs and the C library come from the node, since there is no image of them here.
func installed(component, port, scheme, more string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: gputally-%[1]s-0
  namespace: gputally
  labels: {app.kubernetes.io/part-of: gputally, app.kubernetes.io/component: %[1]s}
spec:
  terminationGracePeriodSeconds: 5
  nodeName: gpu-node-1
%[4]s
    image: %[5]s
    imagePullPolicy: Never
    readinessProbe: {httpGet: {path: /readyz, port: %[2]s, scheme: %[3]s}, periodSeconds: 1}
    volumeMounts:
    - {name: node, mountPath: /node, readOnly: true}
    - {name: usr, mountPath: /usr, readOnly: true}
    - {name: lib, mountPath: /lib, readOnly: true}
    - {name: lib64, mountPath: /lib64, readOnly: true}
    - {name: mock, mountPath: /run/mock-nvml, readOnly: true}
    - {name: data, mountPath: /data}
  volumes:
  - {name: node, hostPath: {path: /run/node}}
  - {name: usr, hostPath: {path: /usr}}
  - {name: lib, hostPath: {path: /lib}}
  - {name: lib64, hostPath: {path: /lib64}}
  - {name: mock, hostPath: {path: /run/mock-nvml}}
  - {name: data, emptyDir: {}}
`, component, port, scheme, more, holderImage)
}

// No kube-proxy runs on this node: the API server is asked at its own address.
const serverContainer = `  serviceAccountName: gputally-server
  containers:
  - name: server
    command: [/node/gputally/gputally, server, --data-dir, /data, --listen, "0.0.0.0:9403", --memory, "512", --kube-auth,
      --tls-cert, /node/tls/apiserver.crt, --tls-key, /node/tls/apiserver.key]
    env: [{name: KUBERNETES_SERVICE_HOST, value: 10.10.0.1}, {name: KUBERNETES_SERVICE_PORT, value: "6443"}]
    ports: [{name: api, containerPort: 9403}]`

const agentContainer = `  automountServiceAccountToken: false
  containers:
  - name: agent
    command: [/node/gputally/gputally-agent, --standalone, --nvml-library, /node/libnvidia-ml.so.1, --spool-dir, /data, --interval, 1s, --listen, "0.0.0.0:9402"]
    env: [{name: MOCK_NVML_STATE, value: /run/mock-nvml/state}]
    ports: [{name: metrics, containerPort: 9402}]`

// mayForward is what docs/kubectl.md says that a user of the plugin needs.
func mayForward(account string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: forward-%[1]s, namespace: gputally}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list]}
- {apiGroups: [""], resources: [pods/portforward], verbs: [get, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: forward-%[1]s, namespace: gputally}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
roleRef: {kind: Role, name: forward-%[1]s, apiGroup: rbac.authorization.k8s.io}
`, account)
}

// kubectl is our program under the name that kubectl starts it by, and a user. kubectl itself
// only finds it on the PATH and replaces itself with it: k8s.io/kubectl/pkg/cmd.
type kubectl struct {
	plugins, kubeconfig string
}

// as makes a kubeconfig of a user with a token.
func (k kubectl) as(t *testing.T, token string) kubectl {
	t.Helper()
	k.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, k.kubeconfig, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"test","contexts":[{"name":"test","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],"users":[{"name":"u","user":{"token":%q}}]}`, apiServer, serverCA, token))
	return k
}

// run runs the program as kubectl does, and gives what it printed and what went wrong.
func (k kubectl) run(words ...string) (string, error) {
	cmd := exec.Command(filepath.Join(k.plugins, "kubectl-gputally"), words...)
	if real := os.Getenv("GPUTALLY_CLUSTER_KUBECTL"); real != "" { // for who has a kubectl at hand
		cmd = exec.Command(real, append([]string{"gputally"}, words...)...)
	}
	cmd.Env = append(os.Environ(), "PATH="+k.plugins+":"+os.Getenv("PATH"), "KUBECONFIG="+k.kubeconfig)
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	if err := cmd.Run(); err != nil {
		return said.String(), fmt.Errorf("kubectl gputally %s: %w: %s", strings.Join(words, " "), err, wrong.String())
	}
	return said.String(), nil
}

func plugged(t *testing.T) kubectl {
	t.Helper()
	k := kubectl{plugins: t.TempDir()}
	for _, name := range []string{"kubectl-gputally", "kubectl_complete-gputally"} {
		if err := os.Symlink("/run/node/gputally/gputally", filepath.Join(k.plugins, name)); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// kubectlPlugin: with nothing but a kubeconfig, kubectl gputally finds server and agents
// in the cluster and asks them as its user.
func kubectlPlugin(t *testing.T) {
	install(t, twoCards)
	apply(t, accounts)
	apply(t, grantURLs("reader", "/gputally/api/v1/*", "get"))
	apply(t, mayForward("reader"))
	apply(t, mayForward("finance")) // who may reach the server, and ask nothing
	apply(t, installed("server", "api", "HTTPS", serverContainer))
	apply(t, installed("agent", "metrics", "HTTP", agentContainer))
	for _, name := range []string{"gputally-server-0", "gputally-agent-0"} {
		podReady(t, "gputally", name)
	}
	k := plugged(t)
	reader := k.as(t, tokenRequest(t, "reader", "", ""))

	t.Run("server", func(t *testing.T) { pluginAsksTheServer(t, k, reader) })
	t.Run("agents", func(t *testing.T) { pluginShowsTheNode(t, reader) })
	t.Run("refused", func(t *testing.T) { pluginSaysWhatIsMissing(t, k) })
	t.Run("completion", func(t *testing.T) {
		cmd := exec.Command(filepath.Join(k.plugins, "kubectl_complete-gputally"), "price", "show", "")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+reader.kubeconfig)
		if said, err := cmd.Output(); err != nil || !strings.HasSuffix(string(said), ":4\n") {
			t.Errorf("completion with what the server knows: %q, %v", said, err)
		}
	})
}

// podReady waits until a pod is ready.
func podReady(t *testing.T, namespace, name string) {
	t.Helper()
	eventually(t, "pod "+name+" is ready", func() error {
		var p struct {
			Status struct {
				Conditions        []struct{ Type, Status string }
				ContainerStatuses []containerStatus
			}
		}
		if err := get("/api/v1/namespaces/"+namespace+"/pods/"+name, &p); err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("its status is %+v", p.Status)
	})
}

func pluginAsksTheServer(t *testing.T, k, reader kubectl) {
	admin := k.as(t, "admin-token")
	for name, x := range map[string]struct {
		as    kubectl
		words []string
		says  string
	}{
		"a token of the kubeconfig":      {reader, []string{"status"}, "agents"},
		"a certificate that is checked":  {reader, []string{"status", "--ca-file", serverCA}, "agents"},
		"a context by its name":          {reader, []string{"status", "--context", "test", "-n", "gputally"}, "agents"},
		"several answers of one command": {reader, []string{"report", "--since", "1d", "-o", "json"}, "\"by\""},
		"a token of a ServiceAccount":    {admin, []string{"status", "--service-account", "gputally-server"}, ""},
		"an administrator":               {admin, []string{"status"}, "agents"},
	} {
		said, err := x.as.run(x.words...)
		if name == "a token of a ServiceAccount" { // it got in; that account may ask nothing
			if err == nil || !strings.Contains(err.Error(), "system:serviceaccount:gputally:gputally-server may not get") {
				t.Errorf("%s: %v, want that account refused", name, err)
			}
			continue
		}
		if err != nil || !strings.Contains(said, x.says) {
			t.Errorf("%s: %v, want %q in %s", name, err, x.says, said)
		}
	}
	other := filepath.Join(t.TempDir(), "other.crt")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "/dev/null", "-out", other, "-subj", "/CN=other").CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	if _, err := reader.run("status", "--ca-file", other); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a certificate of another authority: %v, want it refused", err)
	}
}

func pluginShowsTheNode(t *testing.T, reader kubectl) {
	for _, words := range [][]string{{"top", "--json"}, {"top", "--json", "--node", "gpu-node-1"}} {
		if said, err := reader.run(words...); err != nil || !strings.Contains(said, gpuA) || !strings.Contains(said, gpuB) {
			t.Errorf("%v: %v, want both GPUs in %s", words, err, said)
		}
	}
	if _, err := reader.run("top", "--json", "--node", "gpu-node-9"); err == nil || !strings.Contains(err.Error(), "no gputally agent runs on node gpu-node-9") {
		t.Errorf("a node without an agent: %v", err)
	}
}

func pluginSaysWhatIsMissing(t *testing.T, k kubectl) {
	tenant, finance := k.as(t, tokenRequest(t, "tenant", "", "")), k.as(t, tokenRequest(t, "finance", "", ""))
	for name, x := range map[string]struct {
		as    kubectl
		words []string
		says  string
	}{
		"no right on pods":         {tenant, []string{"status"}, "with the verb list on pods would let you"},
		"no right on the server":   {finance, []string{"status"}, `{nonResourceURLs: ["/gputally/api/v1/*"], verbs: ["get"]}`},
		"nothing is installed":     {finance.as(t, "admin-token"), []string{"status", "-n", "kube-system"}, "no pod of a gputally server runs in namespace kube-system (context test)"},
		"no ServiceAccount":        {finance.as(t, "admin-token"), []string{"status", "--service-account", "nobody"}, `"nobody" not found`},
		"no right on its token":    {finance, []string{"status", "--service-account", "gputally-server"}, "with the verb create on serviceaccounts/token would let you"},
		"no such context":          {finance, []string{"status", "--context", "prod"}, `"prod" does not exist`},
		"somebody the API has not": {k.as(t, "wrong"), []string{"status"}, "log in again"},
	} {
		if _, err := x.as.run(x.words...); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want %q", name, err, x.says)
		}
	}
}
