// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// accounts are the ServiceAccounts of the scenario, and what each may: the rules of
// docs/security.md.
const accounts = `apiVersion: v1
kind: Namespace
metadata: {name: gputally}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gputally-server, namespace: gputally}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gputally-agent, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: tenant, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: finance, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: gputally-server}
subjects: [{kind: ServiceAccount, name: gputally-server, namespace: gputally}]
roleRef: {kind: ClusterRole, name: "system:auth-delegator", apiGroup: rbac.authorization.k8s.io}
`

// grantURLs lets a ServiceAccount do verbs on a path.
func grantURLs(account, path string, verbs ...string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gputally-%[1]s}
rules: [{nonResourceURLs: [%[2]q], verbs: [%[3]s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: gputally-%[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
roleRef: {kind: ClusterRole, name: gputally-%[1]s, apiGroup: rbac.authorization.k8s.io}
`, account, path, strings.Join(verbs, ", "))
}

// accountPod is a pod of a ServiceAccount on a node, with a token for our audience
// that its kubelet mounts.
func accountPod(name, account, node string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  serviceAccountName: %s
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  nodeName: %s
  containers:
  - name: main
    image: %s
    imagePullPolicy: Never
    volumeMounts: [{name: token, mountPath: /token, readOnly: true}]
  volumes:
  - name: token
    projected: {sources: [{serviceAccountToken: {audience: gputally, path: token}}]}
`, name, account, node, holderImage)
}

const (
	ledgerURL = "https://10.10.0.1:9403"
	serverCA  = "/run/node/tls/apiserver.crt" // our server borrows the API server's certificate
)

// startServer runs gputally server with the rights of its own ServiceAccount until
// the test ends, and waits until it is ready.
func startServer(t *testing.T, more ...string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	writeFile(t, kubeconfig, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],"users":[{"name":"u","user":{"token":%q}}]}`,
		apiServer, serverCA, tokenRequest(t, "gputally/gputally-server", "", "")))
	startProcess(t, "/run/node/log/server.log", "/run/node/gputally/gputally", append([]string{"server", "--data-dir", filepath.Join(dir, "ledger"),
		"--listen", "10.10.0.1:9403", "--tls-cert", serverCA, "--tls-key", "/run/node/tls/apiserver.key",
		"--kube-auth", "--kubeconfig", kubeconfig, "--agent-service-account", "default/gputally-agent", "--cluster", "test", "--memory", "512"}, more...)...)
	eventually(t, "the server is ready", func() error { return asked(t, "GET", "/readyz", "", "", 200) })
}

// ask sends a request to our server and returns status and body.
func ask(t *testing.T, method, path, token, body string) (int, string, error) {
	t.Helper()
	ca, err := os.ReadFile(serverCA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	req, err := http.NewRequest(method, ledgerURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(bytes.TrimSpace(text)), err
}

// asked says whether a request is answered with a status and some words.
func asked(t *testing.T, method, path, token, body string, want int, says ...string) error {
	t.Helper()
	status, text, err := ask(t, method, path, token, body)
	if err != nil {
		return err
	}
	if status != want {
		return fmt.Errorf("%s %s: %d %s, want %d", method, path, status, text, want)
	}
	for _, w := range says {
		if !strings.Contains(text, w) {
			return fmt.Errorf("%s %s: %d %s does not say %q", method, path, status, text, w)
		}
	}
	return nil
}

// deliveryOf is the body of a delivery with one empty window of a node.
func deliveryOf(cluster, node string) string {
	return fmt.Sprintf(`{"v":1,"batches":[{"v":1,"cluster":%q,"node":%q,"agent":"by-hand-%[2]s","boot":"b","seq":1,"start_ms":%d,"duration_ms":1000,"interval_ms":1000}]}`,
		cluster, node, time.Now().UnixMilli())
}

const (
	pathBatches = "/api/v1/usage/batches"
	pathMarks   = "/api/v1/usage/marks?agent=x"
	pathStatus  = "/api/v1/status"
)

// whoMay: agents deliver for the node of their token and for no other, people do
// what ClusterRoles say, a token ends with its pod, and without the API server who
// was let in stays in.
func whoMay(t *testing.T) {
	apply(t, accounts)
	for _, rule := range []string{
		grantURLs("reader", "/gputally/api/v1/*", "get"), grantURLs("finance", "/gputally/api/v1/*", "get", "post"), grantURLs("prometheus", "/metrics", "get"),
	} {
		apply(t, rule)
	}
	apply(t, accountPod("agent", "gputally-agent", "gpu-node-1"))
	agentPod, _ := running(t, "agent", "main")
	files := filepath.Join(t.TempDir(), "tokens")
	writeFile(t, files, "static-token-of-an-agent elsewhere\n")
	startServer(t, "--agent-token-file", files)

	ended := endsInUse(t)
	t.Run("agents", func(t *testing.T) { agentsAreLetIn(t) })
	t.Run("expired", func(t *testing.T) { tokensExpire(t) })
	t.Run("people", func(t *testing.T) { peopleAreLetIn(t) })
	t.Run("rotation", func(t *testing.T) { tokenChanges(t, agentPod) })
	t.Run("revoked", func(t *testing.T) { tokenEnds(t) })
	t.Run("ends-in-use", ended)
	t.Run("outage", func(t *testing.T) { apiServerIsAway(t) })
}

// secondNode makes a node that no kubelet serves, and a pod of the agent's on it.
func secondNode(t *testing.T) {
	t.Helper()
	apply(t, `apiVersion: v1
kind: Node
metadata: {name: gpu-node-2}
spec: {taints: [{key: nobody, effect: NoSchedule}]}
`)
	body := accountPod("agent-2", "gputally-agent", "gpu-node-2")
	apply(t, body)
	t.Cleanup(func() { // no kubelet ends it
		if _, err := call(http.MethodDelete, podPath("agent-2"), "application/json", []byte(`{"gracePeriodSeconds":0}`)); err != nil && !isNotFound(err) {
			t.Errorf("delete pod agent-2: %v", err)
		}
	})
}

func agentsAreLetIn(t *testing.T) {
	secondNode(t)
	apply(t, accountPod("intruder", "tenant", "gpu-node-1"))
	here, there := tokenRequest(t, "gputally-agent", "gputally", "agent"), tokenRequest(t, "gputally-agent", "gputally", "agent-2")
	for name, x := range map[string]struct {
		token, cluster, node string
		status               int
		says                 []string
	}{
		"its own node":              {here, "test", "gpu-node-1", 200, []string{`"acks"`}},
		"the other, its own node":   {there, "test", "gpu-node-2", 200, []string{`"acks"`}},
		"another node":              {there, "test", "gpu-node-1", 403, []string{"gpu-node-1", "gpu-node-2", "system:serviceaccount:default:gputally-agent"}},
		"another cluster":           {here, "elsewhere", "gpu-node-1", 403, []string{"elsewhere", "test"}},
		"for another audience":      {tokenRequest(t, "gputally-agent", "vault", "agent"), "test", "gpu-node-1", 401, []string{"vault", "audience: gputally"}},
		"for the API server":        {tokenRequest(t, "gputally-agent", "", "agent"), "test", "gpu-node-1", 401, []string{"kubernetes.default.svc"}},
		"bound to nothing":          {tokenRequest(t, "gputally-agent", "gputally", ""), "test", "gpu-node-1", 403, []string{"names no node"}},
		"a tenant's":                {tokenRequest(t, "tenant", "gputally", "intruder"), "test", "gpu-node-1", 403, []string{"system:serviceaccount:default:tenant", "--agent-service-account"}},
		"a tampered one":            {here[:len(here)-8] + "AAAAAAAA", "test", "gpu-node-1", 401, []string{"knows nobody"}},
		"none":                      {"", "test", "gpu-node-1", 401, []string{"no bearer token"}},
		"a file's":                  {"static-token-of-an-agent", "elsewhere", "any", 200, []string{`"acks"`}},
		"a file's, another cluster": {"static-token-of-an-agent", "test", "gpu-node-1", 403, []string{"elsewhere"}},
		"no token at all":           {"some-text-of-16-bytes", "test", "gpu-node-1", 401, []string{"no ServiceAccount token"}},
	} {
		if err := asked(t, "POST", pathBatches, x.token, deliveryOf(x.cluster, x.node), x.status, x.says...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// everybodyMay asks the API server whether a user may get a path.
func everybodyMay(t *testing.T, user, path string) bool {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":%q,"groups":["system:authenticated"],"nonResourceAttributes":{"path":%q,"verb":"get"}}}`, user, path)
	answer, err := call(http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Status struct{ Allowed bool } }
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatal(err)
	}
	return out.Status.Allowed
}

func peopleAreLetIn(t *testing.T) {
	// Kubernetes lets everybody get /api/*: why our paths have another name there.
	if !everybodyMay(t, "anybody", pathStatus) || everybodyMay(t, "anybody", "/gputally"+pathStatus) {
		t.Error("system:discovery is not what docs/security.md says of it")
	}
	reader, finance, prometheus, tenant := tokenRequest(t, "reader", "gputally", ""), tokenRequest(t, "finance", "", ""), tokenRequest(t, "prometheus", "", ""), tokenRequest(t, "tenant", "", "")
	rule := func(path, verb string) string {
		return fmt.Sprintf(`{nonResourceURLs: [\"%s\"], verbs: [\"%s\"]}`, path, verb)
	}
	for _, x := range []struct {
		who, token, method, path string
		status                   int
		says                     string
	}{
		{"reader", reader, "GET", pathStatus, 200, `"records"`},
		{"reader", reader, "POST", "/api/v1/backups", 403, rule("/gputally/api/v1/*", "post")},
		{"reader", reader, "GET", "/metrics", 403, "may not get /metrics"},
		{"finance", finance, "GET", pathStatus, 200, `"records"`},
		{"finance", finance, "POST", "/api/v1/backups", 409, "--backup-dir"}, // let in; there is nowhere to put it
		{"prometheus", prometheus, "GET", "/metrics", 200, "gputally_"},
		{"prometheus", prometheus, "GET", pathStatus, 403, rule("/gputally/api/v1/*", "get")},
		{"tenant", tenant, "GET", pathStatus, 403, "system:serviceaccount:default:tenant may not get /gputally" + pathStatus},
		{"tenant", tenant, "GET", "/metrics", 403, "may not get /metrics"},
		{"tenant for another", tokenRequest(t, "reader", "vault", ""), "GET", pathStatus, 401, "knows nobody"},
		{"administrator", "admin-token", "GET", pathStatus, 200, `"records"`}, // no JSON Web Token
		{"nobody", "", "GET", pathStatus, 401, "kubectl create token NAME --audience gputally"},
		{"nobody", "", "GET", "/healthz", 200, "ok"},
	} {
		if err := asked(t, x.method, x.path, x.token, `{"name":"x"}`, x.status, x.says); err != nil {
			t.Errorf("%s: %v", x.who, err)
		}
	}
	status := func(token string) (string, error) {
		file := filepath.Join(t.TempDir(), "token")
		writeFile(t, file, token)
		out, err := output("gputally", "status", "--server", ledgerURL, "--ca-file", serverCA, "--token-file", file)
		return string(out), err
	}
	if text, err := status(reader); err != nil || text == "" {
		t.Errorf("gputally status of a reader: %v", err)
	}
	if _, err := status(tenant); err == nil || !strings.Contains(err.Error(), `{nonResourceURLs: ["/gputally/api/v1/*"], verbs: ["get"]}`) {
		t.Errorf("gputally status of a tenant: %v", err)
	}
}

// tokenChanges: an agent whose token has ended, or is a tenant's, says so, once for each,
// and ships as soon as its file has the one that the kubelet made for its pod.
func tokenChanges(t *testing.T, agentPod pod) {
	install(t, oneCard)
	apply(t, accountPod("intruder", "tenant", "gpu-node-1"))
	file := filepath.Join(t.TempDir(), "token")
	ended := endingAt(t, tokenRequest(t, "gputally-agent", "gputally", "agent"), time.Now().Add(-time.Hour))
	writeFile(t, file, ended)
	a := startAgent(t, "--server", ledgerURL, "--server-ca-file", serverCA, "--server-token-file", file)
	const refused = "does not let this agent deliver"
	logged := func(text string) int {
		log, err := os.ReadFile(a.log.Name())
		if err != nil {
			t.Fatal(err)
		}
		_, own, _ := strings.Cut(string(log), "--- "+t.Name()+"\n")
		return strings.Count(own, text)
	}
	saysWhy := func(why string) {
		t.Helper()
		eventually(t, "the agent says that it is not let in: "+why, func() error {
			if logged(refused) == 0 || logged(why) == 0 {
				return fmt.Errorf("its log does not say so")
			}
			return nil
		})
	}
	saysWhy("the bearer token ended at")
	writeFile(t, file, tokenRequest(t, "tenant", "gputally", "intruder"))
	saysWhy("system:serviceaccount:default:tenant")
	made, err := os.ReadFile("/var/lib/kubelet/pods/" + agentPod.Metadata.UID + "/volumes/kubernetes.io~projected/token/token")
	if err != nil {
		t.Fatalf("read the token that the kubelet made: %v", err)
	}
	writeFile(t, file, string(made))
	eventually(t, "the agent's records arrive", func() error {
		if n := logged("records are shipped"); n == 0 {
			return fmt.Errorf("the agent's log does not say so")
		}
		return nil
	})
	if n := logged(refused); n != 2 {
		t.Errorf("the agent's log says %d times that it is not let in, want once for each reason", n)
	}
}

// tokenEnds: with its pod, within the half minute for which an answer is kept.
func tokenEnds(t *testing.T) {
	apply(t, accountPod("short-lived", "gputally-agent", "gpu-node-1"))
	running(t, "short-lived", "main")
	token := tokenRequest(t, "gputally-agent", "gputally", "short-lived")
	if err := asked(t, "GET", pathMarks, token, "", 200); err != nil {
		t.Fatal(err)
	}
	remove(t, podPath("short-lived"))
	eventually(t, "the token of a pod that is gone is refused", func() error {
		return asked(t, "GET", pathMarks, token, "", 401, "knows nobody")
	})
}

func apiServerIsAway(t *testing.T) {
	known, fresh := tokenRequest(t, "gputally-agent", "gputally", "agent"), tokenRequest(t, "gputally-agent", "gputally", "agent")
	if err := asked(t, "GET", pathMarks, known, "", 200); err != nil {
		t.Fatal(err)
	}
	service(t, "kill", "apiserver")
	back := func() { service(t, "ensure", "apiserver") }
	defer back()
	if err := asked(t, "GET", pathMarks, known, "", 200); err != nil {
		t.Errorf("who was let in: %v", err)
	}
	if err := asked(t, "GET", pathMarks, fresh, "", 503, "Kubernetes API server"); err != nil {
		t.Errorf("a new token: %v", err)
	}
	if err := asked(t, "GET", pathStatus, fresh, "", 503, "Kubernetes API server"); err != nil {
		t.Errorf("a new token of somebody: %v", err)
	}
	back()
	eventually(t, "a new token is let in again", func() error { return asked(t, "GET", pathMarks, fresh, "", 200) })
}
