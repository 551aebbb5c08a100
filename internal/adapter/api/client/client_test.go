// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/api/client"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOptionsThatCannotBe: each is named as the flag that sets it.
func TestOptionsThatCannotBe(t *testing.T) {
	for _, x := range []struct {
		o    client.Options
		says string
	}{
		{client.Options{Server: "gputally.example:9403"}, "--server: \"gputally.example:9403\" has no scheme: write http://"},
		{client.Options{Server: "ftp://host"}, "--server"},
		{client.Options{Server: "http://host?x=1"}, "--server"},
		{client.Options{TokenFile: "/nowhere"}, "--token-file"},
		{client.Options{TokenFile: file(t, " \n")}, "is empty"},
		{client.Options{CAFile: file(t, "no pem")}, "no certificate in PEM form"},
	} {
		var bad *client.BadOption
		if _, err := client.New(x.o); !errors.As(err, &bad) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%+v: %v, want %q", x.o, err, x.says)
		}
	}
}

// TestTroubles: what goes wrong on the way says what to do.
func TestTroubles(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + closed.Addr().String()
	_ = closed.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome</html>") }))
	defer page.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no route", http.StatusBadGateway) }))
	defer proxy.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer elsewhere.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Gputally-Version", "v9")
		_, _ = io.WriteString(w, `{"version":"v`)
	}))
	defer cut.Close()
	future := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Gputally-Version", "v9")
		_, _ = io.WriteString(w, `{"version":9}`)
	}))
	defer future.Close()
	for name, x := range map[string]struct{ server, says string }{
		"nobody there":    {gone, "start one: gputally server"},
		"a web page":      {page.URL, "is this the server's address"},
		"a proxy":         {proxy.URL, "502 Bad Gateway: no route"},
		"TLS for plain":   {strings.Replace(page.URL, "http:", "https:", 1), "write http:// for https://"},
		"plain for TLS":   {strings.Replace(secure.URL, "https:", "http:", 1), "write https:// for http://"},
		"own authority":   {secure.URL, "--ca-file FILE"},
		"a redirect":      {elsewhere.URL, "302 Found"},
		"a broken answer": {cut.URL, "broke off"},
		"another version": {future.URL, "the server is gputally v9, this program v1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := client.New(client.Options{Server: x.server, Version: "v1"})
			if err != nil {
				t.Fatal(err)
			}
			var out *client.Unreachable
			if _, err = c.Status(t.Context()); !errors.As(err, &out) || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), x.server) {
				t.Errorf("%v, want %q", err, x.says)
			}
		})
	}
}

// TestLetIn: the token goes with every request, and the authority's file is what
// the server is checked against.
func TestLetIn(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("User-Agent") != "gputally/v1" {
			w.Header().Set("Content-Type", v1.ProblemType)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"status":401,"code":"unauthorized","detail":"no bearer token"}`)
			return
		}
		_, _ = io.WriteString(w, `{"version":"v1"}`)
	}))
	defer s.Close()
	ca := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	c, err := client.New(client.Options{Server: s.URL + "/", CAFile: ca, TokenFile: file(t, "secret\n"), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Status(t.Context()); err != nil || got.Version != "v1" {
		t.Errorf("%+v, %v", got, err)
	}
	c, err = client.New(client.Options{Server: s.URL, CAFile: ca, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	var p *v1.Problem
	if _, err = c.Status(t.Context()); !errors.As(err, &p) || !strings.Contains(err.Error(), "--token-file") {
		t.Errorf("without a token: %v", err)
	}
}

// TestBillThatCannotBeRead: an error of the file is told as that, not as one of
// the server.
func TestBillThatCannotBeRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	c, err := client.New(client.Options{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("input/output error")
	_, err = c.ImportBill(t.Context(), client.ImportQuery{Source: "x"}, []client.File{{Name: "a", Data: io.MultiReader(strings.NewReader("abc"), failing{broken})}}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
