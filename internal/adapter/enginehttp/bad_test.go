// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/demand"
)

const good = "vllm:num_requests_running 1\n"

// answer is a handler with a content type and a body.
func answer(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func text(body string) http.HandlerFunc { return answer("text/plain", body) }

// bomb is 64 MiB of zeros in some 64 KB.
func bomb() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 64 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	return b.Bytes()
}

// forever writes lines until nobody listens.
func forever(line string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
			if pause > 0 {
				w.(http.Flusher).Flush()
				time.Sleep(pause)
			}
		}
	}
}

// TestBadServers: whatever an endpoint does, a look ends in time, within bounds,
// and with a word.
func TestBadServers(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	squeezed := bomb()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		engine  string
		want    problem
	}{
		"does not answer":          {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "", timeout},
		"drips":                    {forever("vllm:x 1\n", 5*time.Millisecond), "", timeout},
		"never ends":               {forever(good, 0), "", tooLarge},
		"one line that never ends": {forever(long, 0), "", tooLarge},
		"says it is huge": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.Header().Set("Content-Type", "text/plain")
		}, "", tooLarge},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "", redirect},
		"redirects to itself": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, "", redirect},
		"wants a key":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "", unauthorized},
		"forbids":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "", unauthorized},
		"has no such page": {http.NotFound, "", badStatus},
		"fails":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "", badStatus},
		"204":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", badStatus},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(squeezed)
		}, "", encoded},
		"a bomb that does not say so": {text(string(squeezed)), "", noEngine},
		"a web page":                  {answer("text/html; charset=utf-8", "<html>"+good), "", contentType},
		"JSON instead of text":        {answer("application/json", `[{"iter":1}]`), demand.TensorRT, contentType},
		"no content type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte(good))
		}, "", contentType},
		"a header without end": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
			}
		}, "", unreachable},
		"empty":                         {text(""), "", noEngine},
		"another program":               {text("go_goroutines 7\n"), "", noEngine},
		"another engine":                {text(good), demand.SGLang, wrongEngine},
		"the same series twice":         {text("vllm:num_requests_running{a=\"1\",b=\"2\"} 1\nvllm:num_requests_running{b=\"2\",a=\"1\"} 2\n"), "", duplicate},
		"the same label twice":          {text("vllm:num_requests_running{a=\"1\",a=\"2\"} 1\n"), "", malformed},
		"no value":                      {text("vllm:num_requests_running\t\n"), "", malformed},
		"a value that is no number":     {text("vllm:num_requests_running many\n"), "", malformed},
		"an open label":                 {text("vllm:num_requests_running{a=\"1\n"), "", malformed},
		"cut in the middle of a line":   {text("vllm:num_requests_running{a=\"1\"} "), "", malformed},
		"texts that are no UTF-8":       {text("vllm:num_requests_running{model_name=\"\xff\xfe\"} 1\n"), "", malformed},
		"more series than fit":          {text(many()), "", tooLarge},
		"Ollama: no JSON":               {answer("application/json", "{"), demand.Ollama, malformed},
		"Ollama: another answer":        {answer("application/json", `{"error":"x"}`), demand.Ollama, noEngine},
		"Ollama: a model without size":  {answer("application/json", `{"models":[{"name":"m"}]}`), demand.Ollama, malformed},
		"Ollama: a size below 0":        {answer("application/json", `{"models":[{"name":"m","size_vram":-1}]}`), demand.Ollama, malformed},
		"Ollama: models without number": {answer("application/json", `{"models":[`+strings.Repeat(`{"name":"m","size_vram":1},`, maxModels)+`{"name":"m","size_vram":1}]}`), demand.Ollama, tooLarge},
		"Ollama: a page of metrics":     {text(good), demand.Ollama, contentType},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		}, "", unreachable},
		"hangs up in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(good))
		}, "", malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			defer server.Close()
			target := targetOf(t, server, c.engine, "/metrics")
			limit := 5 * time.Second
			if c.want == timeout {
				limit = 200 * time.Millisecond
			}
			began := time.Now()
			r, err := local(Options{Timeout: limit}).fetch(context.Background(), &target)
			if err == nil || problemOf(err) != c.want {
				t.Errorf("%v (%+v), want %s", err, r, c.want)
			}
			if took := time.Since(began); c.want == timeout && took > limit+3*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func many() string {
	var b strings.Builder
	for i := range maxSeries + 1 {
		fmt.Fprintf(&b, "vllm:num_requests_running{i=\"%d\"} 1\n", i)
	}
	return b.String()
}

// TestNobodyListens: a port without a server.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	_ = l.Close()
	_, err = local(Options{}).fetch(context.Background(), &demand.Target{IP: at.Addr().String(), Port: at.Port(), Path: "/"})
	if problemOf(err) != unreachable {
		t.Error(err)
	}
}

// TestNotEveryAddressIsAsked: what no pod on a network of its own can have is not
// asked, whatever stands in the object.
func TestNotEveryAddressIsAsked(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	target := targetOf(t, server, "", "/metrics")
	for _, ip := range []string{target.IP, "", "0.0.0.0", "::1", "::", "169.254.169.254", "fe80::1", "fe80::1%eth0", "224.0.0.1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "localhost", "10.0.0.7:80"} {
		target.IP = ip
		if _, err := New(Options{}).fetch(context.Background(), &target); problemOf(err) != badAddress {
			t.Errorf("%q: %v", ip, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("asked %d times", n)
	}
	for _, ip := range []string{"10.0.0.7", "192.168.1.1", "100.64.0.1", "fd00::7", "2001:db8::1"} {
		if !mayAsk(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not asked", ip)
		}
	}
}

// TestStraight: neither a proxy of the environment nor anything that says who asks
// is in the request.
func TestStraight(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		text(good)(w, r)
	}))
	defer server.Close()
	target := targetOf(t, server, "", "/metrics")
	s := local(Options{})
	for range 2 {
		if _, err := s.fetch(context.Background(), &target); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"Accept", "Accept-Encoding", "Connection", "User-Agent"}) || header.Get("Accept-Encoding") != "identity" {
		t.Errorf("sent %v", header)
	}
}

// TestMemoryIsBounded: an endless answer costs the bound of a page, not more.
func TestMemoryIsBounded(t *testing.T) {
	server := httptest.NewServer(forever(strings.Repeat("y", 1<<16), 0))
	defer server.Close()
	target := targetOf(t, server, "", "/metrics")
	s := local(Options{Timeout: 30 * time.Second})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 4 {
		if _, err := s.fetch(context.Background(), &target); problemOf(err) != tooLarge {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	// A growing buffer is copied some times; the server is in this process, too.
	if got := (after.TotalAlloc - before.TotalAlloc) / 4; got > 12*maxBody {
		t.Errorf("a look allocated %d MiB", got>>20)
	}
}

// TestEveryProblemIsDocumented: docs/engines.md says of each word what to do.
func TestEveryProblemIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range Problems() {
		if !strings.Contains(string(doc), "| `"+word+"` |") {
			t.Errorf("docs/engines.md has no row for %s", word)
		}
	}
}
