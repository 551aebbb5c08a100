// SPDX-License-Identifier: Apache-2.0

package agenthttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

func endpoints() Endpoints {
	ok := func() error { return nil }
	return Endpoints{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "m 1\n") }),
		Healthy: ok, Ready: ok, Node: func() Node { return Node{} },
	}
}

func get(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	return rec.Code, rec.Body.String()
}

func TestEndpoints(t *testing.T) {
	e := endpoints()
	e.Ready = func() error { return errors.New("the first sample is not done yet") }
	h := Handler(e)
	for _, tc := range []struct {
		method, path string
		code         int
		says         string
	}{
		{"GET", "/", 200, "/api/v1/node"},
		{"GET", "/metrics", 200, "m 1"},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz", 503, "first sample"},
		{"GET", "/api/v1/node", 200, `"result":null`},
		{"GET", "/nowhere", 404, ""},
		{"POST", "/api/v1/node", 405, ""},
	} {
		code, body := get(t, h, tc.method, tc.path)
		if code != tc.code || !strings.Contains(body, tc.says) {
			t.Errorf("%s %s: %d %q, want %d and %q", tc.method, tc.path, code, body, tc.code, tc.says)
		}
	}
}

func TestIndexListsEveryEndpoint(t *testing.T) {
	_, body := get(t, Handler(endpoints()), "GET", "/")
	for _, path := range []string{"/metrics", "/api/v1/node", "/readyz", "/healthz"} {
		if !strings.Contains(body, path) {
			t.Errorf("the index does not name %s", path)
		}
	}
}

func TestFetchReadsWhatTheServerServes(t *testing.T) {
	used := uint64(5)
	want := Node{
		Agent: Agent{Version: "v1", Node: "n", IntervalMS: 5000, StartedAt: time.Unix(1764600000, 0).UTC()},
		Result: &attribution.Result{Node: "n", At: time.Unix(1764600001, 0).UTC(), Partitions: []attribution.Partition{
			{ID: gpu.Whole("GPU-0"), State: gpu.StateOK, Used: &used}}},
	}
	e := endpoints()
	e.Node = func() Node { return want }
	srv := httptest.NewServer(Handler(e))
	defer srv.Close()
	got, err := Fetch(t.Context(), srv.Client(), srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			_, _ = io.WriteString(w, "<html>")
		default:
			http.Error(w, "no such page", http.StatusNotFound)
		}
	}))
	defer srv.Close()
	for address, says := range map[string]string{
		srv.URL:              "404 Not Found: no such page",
		srv.URL + "/json":    "decode answer",
		"ftp://x":            "want HOST:PORT",
		"http://127.0.0.1:1": "connection refused",
	} {
		if _, err := Fetch(t.Context(), srv.Client(), address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", address, err, says)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, Handler(endpoints())) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListenSaysHowToChooseAnotherAddress(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("%v, want a word about --listen", err)
	}
}
