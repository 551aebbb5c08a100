// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// saying is an Auth that always says the same.
type saying struct {
	sender access.Sender
	err    error
}

func (s saying) Authorize(*http.Request) (access.Sender, error) { return s.sender, s.err }

// TestBatchesOfAnotherNode: with one batch that is not the sender's nothing of the
// delivery is taken, and both names are said.
func TestBatchesOfAnotherNode(t *testing.T) {
	node, cluster := "n", "prod"
	k := &taker{}
	s := serving(t, Options{Taker: k, Auth: saying{sender: access.Sender{Name: "agent", Node: &node, Cluster: &cluster}}})
	c := client(t, ClientOptions{Server: s.URL})
	of := func(cluster, node string, seq uint64) []byte {
		b := batch(seq)
		b.Cluster, b.Node = cluster, node
		return text(t, b)
	}
	for _, x := range []struct {
		batches [][]byte
		says    []string
	}{
		{[][]byte{of("prod", "n", 1), of("prod", "m", 2)}, []string{`"m"`, `"n"`}},
		{[][]byte{of("prod", "n", 1), of("", "n", 2)}, []string{`""`, `"prod"`}},
		{[][]byte{of("prod", "", 1)}, []string{`""`, `"n"`}},
	} {
		_, err := c.Send(t.Context(), x.batches)
		var d *access.Denied
		if !errors.As(err, &d) || !d.Known || d.Hint == "" {
			t.Fatalf("%v, want a denial", err)
		}
		for _, want := range x.says {
			if !strings.Contains(d.Why, want) {
				t.Errorf("%q does not name %s", d.Why, want)
			}
		}
	}
	if len(k.batches) != 0 {
		t.Errorf("%d batches were taken", len(k.batches))
	}
	if _, err := c.Send(t.Context(), [][]byte{of("prod", "n", 1)}); err != nil || len(k.batches) != 1 {
		t.Errorf("its own: %v, %d batches", err, len(k.batches))
	}
	resp, p := request(t, s, "POST", PathBatches, fmt.Sprintf(`{"v":1,"batches":[%s]}`, of("prod", "m", 1)))
	if p.Status != 403 || p.Code != CodeForbidden || p.Hint == "" || resp.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%+v", p)
	}
}

// TestWhoCannotBeTold: that nobody can say who asks is no mistake of the client's.
func TestWhoCannotBeTold(t *testing.T) {
	s := serving(t, Options{Taker: &taker{}, Auth: saying{err: &journal.Busy{After: 7 * time.Second, Why: "nobody answers"}}})
	var busy *journal.Busy
	_, err := client(t, ClientOptions{Server: s.URL}).Acks(t.Context(), "a")
	if !errors.As(err, &busy) || busy.After != 7*time.Second || !strings.Contains(busy.Why, "nobody answers") {
		t.Errorf("%v", err)
	}
}

// TestTokensThatCannotBeRead are the server's trouble: an agent tries again, and
// is not told that its token is wrong.
func TestTokensThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("0123456789abcdef prod\n\n  fedcba9876543210\n")
	auth, err := NewAgentTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, Options{Taker: &taker{}, Auth: auth})
	mine := filepath.Join(t.TempDir(), "mine")
	deliver := func(token string) error {
		if err := os.WriteFile(mine, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := client(t, ClientOptions{Server: s.URL, TokenFile: mine}).Send(t.Context(), [][]byte{text(t, batch(1))})
		return err
	}
	var denied *access.Denied
	if err := deliver("0123456789abcdef prod\n"); !errors.As(err, &denied) || !denied.Known || !strings.Contains(denied.Why, `"prod"`) {
		t.Errorf("a batch of no cluster with a token of one: %v", err)
	}
	if err := deliver("fedcba9876543210"); err != nil {
		t.Errorf("a token of no cluster: %v", err)
	}
	if err := deliver("0123456789abcdeX"); !errors.As(err, &denied) || denied.Known {
		t.Errorf("a wrong token: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var busy *journal.Busy
	if err := deliver("fedcba9876543210"); !errors.As(err, &busy) || strings.Contains(err.Error(), path) {
		t.Errorf("without the server's file: %v", err)
	}
}

// TestBearer: the scheme has any case, and nothing else is a bearer token.
func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "BEARER  abc ": "abc", "": "", "Bearer": "", "Bearer ": "", "Basic abc": "", "abc": "", "Bearerabc": "",
	} {
		r, _ := http.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		if got, err := Bearer(r); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", header, got, err)
		}
	}
	resp, p := request(t, serving(t, Options{Taker: &taker{}, Auth: &TokenFile{Path: "/nowhere"}}), "GET", PathMarks+"?agent=a", "")
	if data, _ := json.Marshal(p); p.Status != 401 || resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("%s", data)
	}
}
