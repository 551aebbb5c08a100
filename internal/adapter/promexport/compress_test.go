// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page is the same, compressed or not, and compressed only for who asks.
func TestCompressed(t *testing.T) {
	const text = "gputally_agent_info 1\n"
	srv := httptest.NewServer(compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			http.Error(w, "broken", http.StatusServiceUnavailable) // which takes the encoding back
			return
		}
		if r.URL.Path != "/empty" {
			_, _ = io.WriteString(w, strings.Repeat(text, 1000))
		}
	})))
	defer srv.Close()
	get := func(path, accept string) (resp *http.Response, body string) {
		t.Helper()
		req, err := http.NewRequest("GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", accept) // or the client would ask for gzip itself
		if resp, err = http.DefaultClient.Do(req); err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		from := io.Reader(resp.Body)
		if resp.Header.Get("Content-Encoding") == "gzip" {
			if from, err = gzip.NewReader(from); err != nil {
				t.Fatal(err)
			}
		}
		all, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(all)
	}
	for range 2 { // writers are used again
		for accept, want := range map[string]string{
			"gzip": "gzip", "deflate, gzip;q=0.5": "gzip", "*": "gzip", "identity;q=1, *;q=0": "", "gzip;q=0, *": "",
			"identity": "", "br": "", "gzip; q=0.000": "", "gzip;q=x": "",
		} {
			resp, body := get("/", accept)
			if resp.Header.Get("Content-Encoding") != want || body != strings.Repeat(text, 1000) {
				t.Errorf("accepting %q: encoding %q, %d bytes", accept, resp.Header.Get("Content-Encoding"), len(body))
			}
		}
		if resp, body := get("/broken", "gzip"); resp.StatusCode != http.StatusServiceUnavailable || body != "broken\n" {
			t.Errorf("an error: %s %q", resp.Status, body)
		}
		if resp, body := get("/empty", "gzip"); resp.StatusCode != http.StatusOK || body != "" {
			t.Errorf("an empty page: %s %q", resp.Status, body)
		}
	}
}
