// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// bin is the folder of the program, for all tests.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "browser-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if fleet.stop != nil {
		fleet.stop()
	}
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

var build = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "build", "-o", filepath.Join(bin, "gputally"), "../../cmd/gputally").CombinedOutput()
})

// start runs gputally server until the test ends, and gives its address.
func start(t *testing.T, flags ...string) string {
	t.Helper()
	address, stop, log := launch(t, t.TempDir(), flags...)
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return address
}

// launch runs gputally server until it is stopped. Its log is whole when it has stopped.
func launch(t *testing.T, dir string, flags ...string) (url string, stop func(), log *strings.Builder) {
	t.Helper()
	if out, err := build(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	log = &strings.Builder{}
	c := exec.Command(filepath.Join(bin, "gputally"), append([]string{"server", "--data-dir", filepath.Join(dir, "ledger"), "--listen", address,
		"--price-book", "../demo/prices.yaml", "--policy-file", "../demo/policy.yaml", "--memory", "512"}, flags...)...)
	c.Stdout, c.Stderr = io.Discard, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}
	until(t, 30*time.Second, "the server answers", func() bool {
		resp, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return "http://" + address, stop, log
}

func until(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s: not that %s", limit, what)
		}
	}
}

// days is how long the history of the small fleet is.
const days = 3

// fleet is the small fleet, which is made once: tests only look at it.
var fleet struct {
	once        sync.Once
	url, device string
	stop        func()
}

// small is a server with the history of three nodes, rated, and a device of theirs. It is
// there until all tests have ended, and nobody may change anything on it.
func small(t *testing.T) (url, device string) {
	t.Helper()
	fleet.once.Do(func() {
		url, stop, _ := launch(t, bin)
		fleet.stop = stop
		fleet.device = fill(t, url)
		fleet.url = url
	})
	if fleet.url == "" {
		t.Fatal("the small fleet was not made: see the first test that asked for it")
	}
	return fleet.url, fleet.device
}

// fill gives a server the history of three nodes, waits until it is rated, and names a
// device of theirs.
func fill(t *testing.T, server string) (device string) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	nodes := history.New(2026, now.AddDate(0, 0, -days), now)
	for _, n := range nodes.Nodes() {
		var batches []usage.Batch
		for b := range nodes.Batches(n.Name) {
			batches = append(batches, b)
		}
		deliver(t, server, batches)
	}
	rated(t, server)
	var f struct {
		Nodes []struct{ GPUs []struct{ UUID string } }
	}
	ask(t, server+"/api/v1/fleet", &f)
	if len(f.Nodes) != 3 {
		t.Fatalf("%d nodes on the board", len(f.Nodes))
	}
	return f.Nodes[0].GPUs[0].UUID
}

// began is the hour in which the tests began.
var began = time.Now().UTC().Truncate(time.Hour)

// rated waits until every hour is that was over when the tests began. One that ends
// beside them stays open for a while: nobody says that a silent node has sent all.
func rated(t *testing.T, server string) {
	t.Helper()
	until(t, time.Minute, "all hours are rated", func() bool {
		var s struct {
			Records struct{ Nodes int }
			Rating  struct {
				Due int    `json:"due_hours"`
				To  string `json:"rated_to"`
			}
		}
		ask(t, server+"/api/v1/status", &s)
		to, err := time.Parse(time.RFC3339, s.Rating.To)
		return s.Records.Nodes > 0 && err == nil && (s.Rating.Due == 0 || !to.Before(began))
	})
}

func ask(t *testing.T, url string, into any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// deliver sends batches as agents do, some hundred at a time.
func deliver(t *testing.T, url string, batches []usage.Batch) {
	t.Helper()
	c, err := ingest.NewClient(ingest.ClientOptions{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	for len(batches) > 0 {
		n := min(len(batches), 300)
		var texts [][]byte
		for i := range batches[:n] {
			text, err := json.Marshal(&batches[i])
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		receipt, err := c.Send(context.Background(), texts)
		if err != nil || len(receipt.Refused) > 0 {
			t.Fatal(fmt.Sprintf("%+v", receipt.Refused), err)
		}
		batches = batches[n:]
	}
}
