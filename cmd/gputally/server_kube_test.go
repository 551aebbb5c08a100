// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	authn "k8s.io/api/authentication/v1"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/test/reviews"
)

// withKube are settings that ask a stand-in of the API server.
func withKube(t *testing.T, kube *reviews.Server) accessFlags {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":%q}}]}`, kube.URL())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return accessFlags{kube: true, kubeconfig: path, audience: "gputally", cluster: "prod", agents: []string{"gputally/gputally-agent"}}
}

// projected is the form of a token that the kubelet mounts for an audience.
func projected(audience string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"aud":[%q]}`, audience)) + ".x"
}

// TestKubernetesSaysWho: beside the files, Kubernetes says who has a token, for
// which node an agent speaks, and what people may.
func TestKubernetesSaysWho(t *testing.T) {
	kube := reviews.New(t)
	f := withKube(t, kube)
	f.agentTokens, f.readTokens = tokenFile(t, agentToken), tokenFile(t, readToken)
	r := f.must(t)
	node := map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {"n1"}}
	kube.Know(projected("gputally"), reviews.Token{User: "system:serviceaccount:gputally:gputally-agent", Audiences: []string{"gputally"}, Extra: node})
	kube.Know("ada-ada-ada-ada-ada", reviews.Token{User: "ada"})
	kube.Know("fin-fin-fin-fin-fin", reviews.Token{User: "fin"})
	kube.Know("prometheus-prometheus", reviews.Token{User: "prometheus"})
	for _, x := range [][3]string{
		{"ada", "get", "/gputally/api/v1/report"}, {"ada", "get", "/gputally/api/v1/whatif"}, {"fin", "post", "/gputally/api/v1/bills"}, {"prometheus", "get", "/metrics"},
		{"prometheus", "get", "/api/v1/report"}, // as system:discovery lets everybody
	} {
		kube.Allow(x[0], x[1], x[2])
	}

	s, err := r.deliver().Authorize(bearer(projected("gputally")))
	if err != nil || s.Covers("prod", "n1") != nil || s.Covers("prod", "n2") == nil {
		t.Errorf("the agent: %+v %v", s, err)
	}
	if s, err := r.deliver().Authorize(bearer(agentToken)); err != nil || s.Node != nil {
		t.Errorf("a token of the file: %+v %v", s, err)
	}
	if n := kube.Asked("tokenreviews"); n != 1 {
		t.Errorf("%d reviews, want 1: a token of the file is nobody else's business", n)
	}
	users := map[string]string{"ada-ada-ada-ada-ada": "ada", "fin-fin-fin-fin-fin": "fin"} // several may have one of a file
	for _, x := range []struct {
		token, method, path string
		change              bool
		known               bool
		says                string // "" is let in
	}{
		{readToken, "GET", "/api/v1/report", false, true, ""},
		{readToken, "POST", "/api/v1/bills", true, true, "may read, not change"},
		{"ada-ada-ada-ada-ada", "GET", "/api/v1/report", false, true, ""},
		{"ada-ada-ada-ada-ada", "POST", "/api/v1/whatif", false, true, ""}, // a question with a body
		{"ada-ada-ada-ada-ada", "POST", "/api/v1/bills", true, true, `{nonResourceURLs: ["/gputally/api/v1/*"], verbs: ["post"]}`},
		{"fin-fin-fin-fin-fin", "POST", "/api/v1/bills", true, true, ""},
		{"prometheus-prometheus", "GET", "/api/v1/report", false, true, `prometheus may not get /gputally/api/v1/report`},
		{"nobody-nobody-nobody", "GET", "/api/v1/report", false, false, "knows nobody"},
		{"", "GET", "/api/v1/report", false, false, "kubectl create token NAME --audience gputally"},
	} {
		req := bearer(x.token)
		req.Method, req.URL.Path = x.method, x.path
		user, err := r.people().Authorize(req, x.change)
		if want := users[x.token]; err == nil && user != want {
			t.Errorf("who has the token %q is %q, want %q", x.token, user, want)
		}
		if x.says == "" && err != nil {
			t.Errorf("%s %s by %q: %v", x.method, x.path, x.token, err)
		} else if x.says != "" {
			isDenied(t, err, x.known, x.says)
		}
	}
	h := r.metrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for token, want := range map[string]int{"prometheus-prometheus": 204, readToken: 204, "ada-ada-ada-ada-ada": 403, "nobody-nobody-nobody": 401} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, bearer(token))
		if w.Code != want {
			t.Errorf("/metrics with %q: %d %s, want %d", token, w.Code, w.Body, want)
		}
	}
	kube.Down()
	var busy *journal.Busy
	if _, err := r.people().Authorize(bearer("new-new-new-new-new"), false); !errors.As(err, &busy) {
		t.Errorf("while the API server is away: %v", err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, bearer("new-new-new-new-new"))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("/metrics while the API server is away: %d", w.Code)
	}
}

// TestKubernetesIsProtection enough for an address that others can reach; without
// agents' accounts nobody delivers.
func TestKubernetesIsProtection(t *testing.T) {
	kube := reviews.New(t)
	f := withKube(t, kube)
	f.agents = nil
	r := f.must(t)
	if r.deliver() == nil || r.people() == nil || r.open {
		t.Fatal("everybody may do everything")
	}
	kube.Know(projected("gputally"), reviews.Token{User: "system:serviceaccount:gputally:gputally-agent", Audiences: []string{"gputally"}})
	_, err := r.deliver().Authorize(bearer(projected("gputally")))
	isDenied(t, err, true, "--agent-service-account")
}
