// SPDX-License-Identifier: Apache-2.0

package kubeforward_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/kubeforward"
)

// The streams themselves are tried on a real API server and kubelet: test/cluster,
// scenario kubectl-plugin. Here are the ways to a token, and what is said of pods.

// cluster writes a kubeconfig whose user is as given, and opens it.
func cluster(t *testing.T, server, user string, change func(*kubeforward.Options)) *kubeforward.Cluster {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"prod","contexts":[{"name":"prod","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":%s}]}`, server, user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := kubeforward.Options{Kubeconfig: file, Namespace: "gputally", Audience: "gputally", UserAgent: "test"}
	if change != nil {
		change(&o)
	}
	c, err := kubeforward.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTokenComesFromWhateverTheKubeconfigHas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// An exec credential plugin as clouds have them.
	script := filepath.Join(t.TempDir(), "login")
	said := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-a-plugin"}}`
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, user := range map[string]string{
		"in-the-file": `{"token":"in-the-file"}`,
		"from-a-file": fmt.Sprintf(`{"tokenFile":%q}`, file),
		"from-a-plugin": fmt.Sprintf(`{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":%q,"interactiveMode":"Never"}}`,
			script),
	} {
		got, err := cluster(t, "https://127.0.0.1:1", user, nil).Token(context.Background())
		if err != nil || got != want {
			t.Errorf("user %s: token %q, %v, want %q", user, got, err, want)
		}
	}
}

func TestUsersWithoutATokenAreToldWhatToDo(t *testing.T) {
	_, err := cluster(t, "https://127.0.0.1:1", `{"username":"admin","password":"x"}`, nil).Token(context.Background())
	if !errors.Is(err, kubeforward.ErrNoToken) || !strings.Contains(err.Error(), "--service-account") {
		t.Errorf("a user without a token: %v", err)
	}
	_, err = cluster(t, "https://127.0.0.1:1", `{"token":"x","as":"someone-else"}`, nil).Token(context.Background())
	if !errors.Is(err, kubeforward.ErrActsAs) {
		t.Errorf("a user that acts as another: %v", err)
	}
}

func TestUnknownContextIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"Config"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kubeforward.Open(kubeforward.Options{Kubeconfig: file, Context: "staging"})
	if err == nil || !strings.Contains(err.Error(), "staging") {
		t.Errorf("Open: %v, want the context named", err)
	}
}

// apiServer answers paths as the API server does, and keeps what it was asked.
func apiServer(t *testing.T, answers map[string]string) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("fieldSelector")+" "+r.Header.Get("Authorization"))
		text, ok := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden: User \"u\" cannot list"}`
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

const podList = `{"kind":"PodList","apiVersion":"v1","items":[%s]}`

// aPod is a pod with one port and a probe of a scheme.
func aPod(name, port, scheme, ready string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":"n1","containers":[{"name":"sidecar"},{"name":"x",
"ports":[{"name":%q,"containerPort":9403}],"readinessProbe":{"httpGet":{"scheme":%q}}}]},
"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}]}}`, name, port, scheme, ready)
}

func TestServerIsTheReadyPodAndItsProbeTellsTLS(t *testing.T) {
	pods := strings.Join([]string{aPod("starting", "api", "HTTPS", "False"), aPod("other-port", "web", "HTTPS", "True"), aPod("ready", "api", "HTTPS", "True")}, ",")
	url, asked := apiServer(t, map[string]string{"/api/v1/namespaces/gputally/pods": fmt.Sprintf(podList, pods)})
	got, err := cluster(t, url, `{"token":"mine"}`, nil).Server(context.Background())
	if want := (kubeforward.Pod{Name: "ready", Node: "n1", Port: 9403, TLS: true}); err != nil || got != want {
		t.Errorf("server is %+v, %v, want %+v", got, err, want)
	}
	if want := "GET /api/v1/namespaces/gputally/pods status.phase=Running Bearer mine"; (*asked)[0] != want {
		t.Errorf("asked %q, want %q", (*asked)[0], want)
	}
}

func TestAgentsOfOneNode(t *testing.T) {
	url, asked := apiServer(t, map[string]string{"/api/v1/namespaces/gputally/pods": fmt.Sprintf(podList, aPod("a", "metrics", "HTTP", "True"))})
	got, err := cluster(t, url, `{"token":"mine"}`, nil).Agents(context.Background(), "n1")
	if err != nil || len(got) != 1 || got[0].TLS || !strings.Contains((*asked)[0], "spec.nodeName=n1") {
		t.Errorf("agents %+v, %v, asked %q", got, err, *asked)
	}
	empty, _ := apiServer(t, map[string]string{"/api/v1/namespaces/gputally/pods": fmt.Sprintf(podList, "")})
	_, err = cluster(t, empty, `{"token":"mine"}`, nil).Agents(context.Background(), "n2")
	if err == nil || !strings.Contains(err.Error(), "no gputally agent runs on node n2 in namespace gputally (context prod)") {
		t.Errorf("no agent: %v", err)
	}
}

func TestMissingRightIsNamed(t *testing.T) {
	url, _ := apiServer(t, nil)
	_, err := cluster(t, url, `{"token":"mine"}`, nil).Server(context.Background())
	if err == nil || !strings.Contains(err.Error(), "a Role in namespace gputally with the verb list on pods") {
		t.Errorf("a refused list: %v, want the missing right", err)
	}
}

func TestServiceAccountsTokenIsForTheServerAlone(t *testing.T) {
	path := "/api/v1/namespaces/gputally/serviceaccounts/reader/token"
	url, asked := apiServer(t, map[string]string{path: `{"status":{"token":"for-gputally"}}`})
	got, err := cluster(t, url, `{"token":"mine"}`, func(o *kubeforward.Options) { o.ServiceAccount = "reader" }).Token(context.Background())
	if err != nil || got != "for-gputally" || !strings.HasPrefix((*asked)[0], "POST "+path) {
		t.Errorf("token %q, %v, asked %q", got, err, *asked)
	}
}

func TestCertificateIsCheckedAgainstRootsThatAreGiven(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{s.Certificate()}}
	good, other := x509.NewCertPool(), x509.NewCertPool()
	good.AddCert(s.Certificate())
	if err := kubeforward.Verify(state, good); err != nil {
		t.Errorf("its own authority: %v", err)
	}
	if err := kubeforward.Verify(state, other); err == nil {
		t.Error("no authority that is known: accepted")
	}
	if err := kubeforward.Verify(tls.ConnectionState{}, good); err == nil {
		t.Error("no certificate: accepted")
	}
}
