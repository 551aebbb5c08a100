// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestGuard: without tokens the server answers this host and no web page.
func TestGuard(t *testing.T) {
	h := access{open: true}.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
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

// TestRolesAreClosed: once there are tokens, a role without a file is nobody's.
func TestRolesAreClosed(t *testing.T) {
	f := serverFlags{agentTokens: tokenFile(t, agentToken)}
	a, err := f.access()
	if err != nil || a.open {
		t.Fatal(a, err)
	}
	if err := a.deliver.Authorize(bearer(agentToken)); err != nil {
		t.Errorf("the agent is not let in: %v", err)
	}
	for role, auth := range map[string]interface{ Authorize(*http.Request) error }{"read": a.read, "write": a.write} {
		err := auth.Authorize(bearer(agentToken))
		if err == nil || !strings.Contains(err.Error(), "--"+role+"-token-file") {
			t.Errorf("an agent may %s, or is not told why not: %v", role, err)
		}
	}
	f.readTokens = filepath.Join(t.TempDir(), "missing")
	if _, err := f.access(); err == nil {
		t.Error("a token file that is not there is no mistake")
	}
}

// TestMetricsNeedARole: costs are not for everybody.
func TestMetricsNeedARole(t *testing.T) {
	f := serverFlags{agentTokens: tokenFile(t, agentToken), readTokens: tokenFile(t, readToken), writeTokens: tokenFile(t, writeToken)}
	a, err := f.access()
	if err != nil {
		t.Fatal(err)
	}
	h := a.readers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for token, want := range map[string]int{agentToken: 401, readToken: 204, writeToken: 204, "": 401} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, bearer(token))
		if w.Code != want {
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
	} {
		var out, errs strings.Builder
		code := run(append([]string{"server", "--data-dir", t.TempDir()}, args...), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit code %d, %q; want %q", args, code, errs.String(), want)
		}
	}
}
