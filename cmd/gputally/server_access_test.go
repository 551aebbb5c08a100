// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/core/access"
)

// TestGuard: without tokens the server answers this host and no web page.
func TestGuard(t *testing.T) {
	h := roles{open: true}.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, c := range []struct {
		host   string
		header []string
		want   int
	}{
		{"127.0.0.1:9403", nil, 204},
		{"localhost:9403", nil, 204},
		{"[::1]:9403", nil, 204},
		{"localhost", nil, 204},
		{"evil.example:9403", nil, 403}, // a name that a page made lead here
		{"10.0.0.7:9403", nil, 403},
		{"localhost:9403", []string{"Origin", "http://evil.example"}, 403},
		{"localhost:9403", []string{"Origin", "http://localhost:9403"}, 204},
		{"localhost:9403", []string{"Origin", "null"}, 403},
		{"localhost:9403", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"localhost:9403", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"localhost:9403", []string{"Sec-Fetch-Site", "none"}, 204},
	} {
		r := httptest.NewRequest("POST", "http://"+c.host+"/api/v1/status", nil)
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("host %s, %v: %d, want %d", c.host, c.header, w.Code, c.want)
		}
	}
}

const (
	agentToken = "agent-token-0123456789"
	readToken  = "reader-token-0123456789"
	writeToken = "writer-token-0123456789"
)

func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func bearer(token string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func (f *accessFlags) must(t *testing.T) roles {
	t.Helper()
	r, err := f.roles(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// denial is the error of an answer about who somebody is.
func denial(_ string, err error) error { return err }

// isDenied checks a refusal: its text, and whether it is clear who asks.
func isDenied(t *testing.T, err error, known bool, says ...string) {
	t.Helper()
	var d *access.Denied
	if !errors.As(err, &d) || d.Known != known || d.Hint == "" {
		t.Errorf("%v, want a denial with a hint, known %v", err, known)
		return
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestRolesAreClosed: once there are tokens, a role without a file is nobody's.
func TestRolesAreClosed(t *testing.T) {
	f := accessFlags{agentTokens: tokenFile(t, agentToken), audience: "gputally"}
	r := f.must(t)
	if s, err := r.deliver().Authorize(bearer(agentToken)); err != nil || s.Cluster != nil || s.Node != nil {
		t.Errorf("the agent is not let in, or for less than all: %+v %v", s, err)
	}
	_, err := r.deliver().Authorize(bearer(readToken))
	isDenied(t, err, false, "none of the server's")
	isDenied(t, denial(r.people().Authorize(bearer(agentToken), false)), false, "--read-token-file")
	isDenied(t, denial(r.people().Authorize(bearer(agentToken), true)), false, "--write-token-file")
	isDenied(t, denial(r.people().Authorize(httptest.NewRequest("GET", "/", nil), false)), false, "no bearer token")
	_, err = r.deliver().Authorize(httptest.NewRequest("GET", "/", nil))
	isDenied(t, err, false, "no bearer token", "--server-token-file")
	f = accessFlags{readTokens: tokenFile(t, readToken), audience: "gputally"}
	_, err = f.must(t).deliver().Authorize(bearer(readToken))
	isDenied(t, err, false, "--agent-token-file", "--kube-auth")
	f.readTokens = filepath.Join(t.TempDir(), "missing")
	if _, err := f.roles(nil); err == nil {
		t.Error("a token file that is not there is no mistake")
	}
	f.readTokens = tokenFile(t, readToken+" prod")
	if _, err := f.roles(nil); err == nil || !strings.Contains(err.Error(), "line 1 has 2 words: write one token a line") {
		t.Errorf("a reader's token with a cluster: %v", err)
	}
}

// TestTokensOfOneCluster: a second word binds an agent's token to a cluster.
func TestTokensOfOneCluster(t *testing.T) {
	f := accessFlags{agentTokens: tokenFile(t, agentToken+" prod-us\n"+readToken), audience: "gputally"}
	r := f.must(t)
	s, err := r.deliver().Authorize(bearer(agentToken))
	if err != nil || s.Covers("prod-us", "any") != nil {
		t.Errorf("%+v %v", s, err)
	}
	isDenied(t, s.Covers("prod-eu", "any"), true, "prod-eu", "prod-us")
	if s, err := r.deliver().Authorize(bearer(readToken)); err != nil || s.Cluster != nil {
		t.Errorf("a token without a cluster: %+v %v", s, err)
	}
	f.agentTokens = tokenFile(t, agentToken+" prod us")
	if _, err := f.roles(nil); err == nil || !strings.Contains(err.Error(), "TOKEN CLUSTER") {
		t.Errorf("three words: %v", err)
	}
}

// TestMetricsNeedARole: costs are not for everybody.
func TestMetricsNeedARole(t *testing.T) {
	f := accessFlags{agentTokens: tokenFile(t, agentToken), readTokens: tokenFile(t, readToken), writeTokens: tokenFile(t, writeToken), audience: "gputally"}
	h := f.must(t).metrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for token, want := range map[string]int{agentToken: 401, readToken: 204, writeToken: 204, "": 401} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, bearer(token))
		if w.Code != want || want == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("token %q: %d, want %d", token, w.Code, want)
		}
	}
}

func TestServerEnvironment(t *testing.T) {
	var f serverFlags
	fs := pflag.NewFlagSet("server", pflag.ContinueOnError)
	f.define(fs)
	if err := fs.Parse([]string{"--listen", "127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"GPUTALLY_LISTEN": ":9", "GPUTALLY_DATA_DIR": "/d", "GPUTALLY_PRICE_BOOK": "a.yaml b.yaml", "GPUTALLY_COST_LABEL": "team,env",
		"GPUTALLY_DISTRIBUTE": "idle=even",
	}
	if err := fromEnvironment(fs, func(k string) string { return env[k] }); err != nil {
		t.Fatal(err)
	}
	if f.listen != "127.0.0.1:1" || f.dataDir != "/d" || strings.Join(f.prices.books, " ") != "a.yaml b.yaml" || strings.Join(f.labels, " ") != "team env" {
		t.Errorf("settings %+v", f)
	}
	err := fromEnvironment(fs, func(k string) string { return map[string]string{"GPUTALLY_LATE": "soon"}[k] })
	if err == nil || !strings.Contains(err.Error(), "GPUTALLY_LATE") {
		t.Errorf("a wrong value: %v", err)
	}
}

func TestServerMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		"--keep-usage is 1h0m0s":  {"--keep-usage", "1h"},
		"--late is -1s":           {"--late", "-1s"},
		"--backup-every needs":    {"--backup-every", "1h"},
		"--memory is 1 MiB":       {"--memory", "1"},
		"--log-format is \"xml\"": {"--log-format", "xml"},
		"nope.yaml":               {"--price-book", "nope.yaml"},
		"CURRENCY=FILE":           {"--opencost-csv", "prices.csv"},
		"--cost-label: 17 keys":   {"--cost-label", strings.Repeat("a,", 16) + "b"},
		"others can reach":        {"--listen", ":0"},
		"needs its key":           {"--tls-cert", "x.pem"},
		"--cluster is set and":    {"--cluster", "prod"},
		"--audience is \"\"":      {"--audience", ""},
		"NAMESPACE/NAME":          {"--kube-auth", "--agent-service-account", "agent"},
		"--kube-auth: read kube":  {"--kube-auth", "--kubeconfig", "/nowhere"},
		"find the API server":     {"--kube-auth"},
	} {
		var out, errs strings.Builder
		code := run(append([]string{"server", "--data-dir", t.TempDir()}, args...), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit code %d, %q; want %q", args, code, errs.String(), want)
		}
	}
}
