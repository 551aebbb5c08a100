// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// taker notes what was delivered and answers what it is told to.
type taker struct {
	mu      sync.Mutex
	batches []usage.Batch
	refused []journal.Refusal
	fail    error
	hold    chan struct{} // Take waits for it
	came    chan struct{} // Take tells that it was called
}

func (k *taker) Take(_ context.Context, batches []usage.Batch) (journal.Receipt, error) {
	if k.came != nil {
		k.came <- struct{}{}
	}
	if k.hold != nil {
		<-k.hold
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		return journal.Receipt{}, k.fail
	}
	k.batches = append(k.batches, batches...)
	return journal.Receipt{Acks: k.Acks("a"), Refused: k.refused}, nil
}

func (k *taker) Acks(agent string) []journal.Ack {
	if agent != "a" {
		return nil
	}
	return []journal.Ack{{Source: journal.Source{Agent: "a", Boot: "b"},
		Accepted: journal.Mark{Seq: 9, Missing: []journal.Range{{First: 2, Last: 3}}}, Durable: journal.Mark{Seq: 1}}}
}

func serving(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(Handler(o))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func batch(seq uint64) usage.Batch {
	return usage.Batch{Version: usage.BatchVersion, Node: "n", Agent: "a", Boot: "b", Seq: seq, StartMS: 1, DurationMS: 1}
}

func text(t *testing.T, b usage.Batch) []byte {
	t.Helper()
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDeliveryArrives as it was sent, and the answer as it was given.
func TestDeliveryArrives(t *testing.T) {
	k := &taker{}
	s := serving(t, Options{Taker: k})
	c := client(t, ClientOptions{Server: s.URL + "/"})
	r, err := c.Send(t.Context(), [][]byte{text(t, batch(1)), text(t, batch(2))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]usage.Batch{batch(1), batch(2)}, k.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(journal.Receipt{Acks: k.Acks("a")}, r); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	acks, err := c.Acks(t.Context(), "a")
	if diff := cmp.Diff(k.Acks("a"), acks); diff != "" || err != nil {
		t.Errorf("marks (-want +got):\n%s %v", diff, err)
	}
	if acks, err := c.Acks(t.Context(), "nobody & co"); err != nil || len(acks) != 0 {
		t.Errorf("marks of nobody: %v %v", acks, err)
	}
}

// TestOneUnreadableBatch is refused by what can be read of its name, at its
// place; those after it keep theirs.
func TestOneUnreadableBatch(t *testing.T) {
	k := &taker{refused: []journal.Refusal{{Index: 1, Code: journal.RefusedInvalid}}}
	c := client(t, ClientOptions{Server: serving(t, Options{Taker: k}).URL})
	bad := []byte(`{"v":1,"agent":"a","boot":"b","seq":7,"duration_ms":"long"}`)
	r, err := c.Send(t.Context(), [][]byte{text(t, batch(1)), bad, text(t, batch(2)), []byte(`[1]`)})
	if err != nil || len(k.batches) != 2 || len(r.Refused) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	if x := r.Refused[0]; x.Index != 1 || x.Agent != "a" || x.Boot != "b" || x.Seq != 7 || x.Code != journal.RefusedUnreadable || !strings.Contains(x.Detail, "duration_ms") {
		t.Errorf("%+v", x)
	}
	if r.Refused[1].Index != 3 || r.Refused[2].Index != 2 {
		t.Errorf("places %d and %d, want 3 and 2", r.Refused[1].Index, r.Refused[2].Index)
	}
}

// request posts a body as it is and returns the problem in the answer.
func request(t *testing.T, s *httptest.Server, method, path, body string, header ...string) (*http.Response, Problem) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p Problem
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(data, &p); err != nil || resp.Header.Get("Content-Type") != problemType || p.Status != resp.StatusCode || p.Title == "" || p.Detail == "" {
			t.Errorf("%s %s: %d %s: %s", method, path, resp.StatusCode, resp.Header.Get("Content-Type"), data)
		}
	}
	return resp, p
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // into memory
	_ = z.Close()
	return b.String()
}

func TestProblems(t *testing.T) {
	k := &taker{}
	s := serving(t, Options{Taker: k, Limits: Limits{BodyBytes: 5000, DecodedBytes: 9000, Batches: 3}})
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"no JSON", "POST", PathBatches, "{", nil, 400, CodeUnreadable},
		{"another version", "POST", PathBatches, `{"v":2,"batches":[]}`, nil, 400, CodeVersion},
		{"too many batches", "POST", PathBatches, `{"v":1,"batches":[{},{},{},{}]}`, nil, 413, CodeTooLarge},
		{"too large", "POST", PathBatches, strings.Repeat(" ", 5001), nil, 413, CodeTooLarge},
		{"too large once unpacked", "POST", PathBatches, zipped(strings.Repeat(" ", 9001)), []string{"Content-Encoding", "gzip"}, 413, CodeTooLarge},
		{"no gzip", "POST", PathBatches, "{}", []string{"Content-Encoding", "gzip"}, 400, CodeUnreadable},
		{"another encoding", "POST", PathBatches, "{}", []string{"Content-Encoding", "br"}, 415, CodeEncoding},
		{"another type", "POST", PathBatches, "{}", []string{"Content-Type", "text/plain"}, 415, CodeEncoding},
		{"no agent", "GET", PathMarks, "", nil, 400, CodeAgent},
		{"another method", "PUT", PathBatches, "{}", nil, 405, CodeMethod},
		{"another path", "GET", "/api/v1/usage/nothing", "", nil, 404, CodeNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, p := request(t, s, tc.method, tc.path, tc.body, tc.header...); p.Status != tc.status || p.Code != tc.code || p.Hint == "" {
				t.Errorf("%+v, want %d %s and a hint", p, tc.status, tc.code)
			}
		})
	}
	if len(k.batches) > 0 {
		t.Errorf("%d batches were taken", len(k.batches))
	}
	if resp, _ := request(t, s, "POST", PathBatches, `{"v":1,"batches":[]}`); resp.StatusCode != 200 {
		t.Errorf("an empty delivery: %s", resp.Status)
	}
}

// TestClientKnowsWhatToDo: which errors say "fewer", which "later", which "look".
func TestClientKnowsWhatToDo(t *testing.T) {
	k := &taker{fail: &journal.Busy{After: 1500 * time.Millisecond, Why: "full"}}
	s := serving(t, Options{Taker: k, Limits: Limits{Batches: 1}})
	c := client(t, ClientOptions{Server: s.URL})
	one, two := [][]byte{text(t, batch(1))}, [][]byte{text(t, batch(1)), text(t, batch(2))}
	if _, err := c.Send(t.Context(), two); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("%v, want too large", err)
	}
	var busy *journal.Busy
	if _, err := c.Send(t.Context(), one); !errors.As(err, &busy) || busy.After != 2*time.Second || !strings.Contains(busy.Why, "full") {
		t.Errorf("%v, want busy for 2 s", err)
	}
	for header, want := range map[string]time.Duration{"": 0, "0": 0, "soon": 0, "7": 7 * time.Second} {
		away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Retry-After"] = []string{header}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		if _, err := client(t, ClientOptions{Server: away.URL}).Send(t.Context(), one); !errors.As(err, &busy) || busy.After != want {
			t.Errorf("503 with Retry-After %q: %v, want busy for %s", header, err, want)
		}
		away.Close()
	}
	k.fail = errors.New("strange")
	var p *Problem
	if _, err := c.Send(t.Context(), one); !errors.As(err, &p) || p.Status != 500 || !strings.Contains(err.Error(), "strange") {
		t.Errorf("%v, want the problem", err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == PathMarks {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "<html>")
	}))
	defer web.Close()
	c = client(t, ClientOptions{Server: web.URL})
	if _, err := c.Send(t.Context(), one); err == nil || !strings.Contains(err.Error(), "right address") {
		t.Errorf("a web page: %v", err)
	}
	if _, err := c.Acks(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirect: %v", err)
	}
}

// TestManyWaitForOneTransaction: those that were read and wait to be written keep
// nobody from being read, so that one transaction can serve all of them.
func TestManyWaitForOneTransaction(t *testing.T) {
	const many = 40
	k := &taker{hold: make(chan struct{}), came: make(chan struct{}, many)}
	c := client(t, ClientOptions{Server: serving(t, Options{Taker: k, Limits: Limits{AtOnce: 2}}).URL})
	sent := make(chan error, many)
	delivery := [][]byte{text(t, batch(1))}
	for range many {
		go func() {
			_, err := c.Send(t.Context(), delivery)
			sent <- err
		}()
	}
	for range many {
		<-k.came
	}
	close(k.hold)
	for range many {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}

// TestAtOnce: more deliveries than may be decoded at once wait for their turn, and
// come again where that takes too long.
func TestAtOnce(t *testing.T) {
	for patience, late := range map[time.Duration]bool{time.Millisecond: true, time.Hour: false} {
		s := serving(t, Options{Taker: &taker{}, Limits: Limits{AtOnce: 1, Patience: patience}})
		c := client(t, ClientOptions{Server: s.URL})
		body, slow := io.Pipe()
		first := make(chan error, 1)
		go func() {
			resp, err := http.Post(s.URL+PathBatches, "application/json", body)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
			first <- err
		}()
		if _, err := io.WriteString(slow, `{"v":1,`); err != nil { // the server reads it
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			for {
				_, err := c.Send(t.Context(), nil)
				if err != nil || !late {
					second <- err
					return
				}
			}
		}()
		var busy *journal.Busy
		if late {
			if err := <-second; !errors.As(err, &busy) {
				t.Errorf("%v, want busy", err)
			}
		}
		if _, err := io.WriteString(slow, `"batches":[]}`); err != nil {
			t.Fatal(err)
		}
		_ = slow.Close()
		if err := <-first; err != nil {
			t.Error(err)
		}
		if !late {
			if err := <-second; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("short\n")
	if _, err := NewTokenFile(path); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("a short token: %v", err)
	}
	write("")
	if _, err := NewTokenFile(path); err == nil {
		t.Error("a file without tokens passes")
	}
	write("0123456789abcdef-old\n0123456789abcdef-new\n")
	auth, err := NewTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, Options{Taker: &taker{}, Auth: auth})
	mine := filepath.Join(t.TempDir(), "mine")
	try := func(token string) error {
		if err := os.WriteFile(mine, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := client(t, ClientOptions{Server: s.URL, TokenFile: mine}).Acks(t.Context(), "a")
		return err
	}
	for token, good := range map[string]bool{"0123456789abcdef-old": true, "0123456789abcdef-new": true, "0123456789abcdef": false, "": false} {
		if err := try(token); (err == nil) != good {
			t.Errorf("token %q: %v", token, err)
		}
	}
	resp, p := request(t, s, "GET", PathMarks+"?agent=a", "")
	if p.Code != CodeUnauthorized || resp.Header.Get("WWW-Authenticate") == "" || strings.Contains(p.Detail, "0123") {
		t.Errorf("%+v", p)
	}
	write("0123456789abcdef-changed\n")
	if try("0123456789abcdef-old") == nil || try("0123456789abcdef-changed") != nil {
		t.Error("a changed file does not count at once")
	}
}

func TestListenRefusesWhatIsNotSafe(t *testing.T) {
	auth := &TokenFile{}
	for _, tc := range []struct {
		o    ListenOptions
		says string
	}{
		{ListenOptions{Address: "127.0.0.1:0"}, ""},
		{ListenOptions{Address: "localhost:0"}, ""},
		{ListenOptions{Address: "[::]:0"}, "who may deliver"},
		{ListenOptions{Address: ":0"}, "who may deliver"},
		{ListenOptions{Address: ":0", Auth: auth}, "in the clear"},
		{ListenOptions{Address: ":0", Auth: auth, PlainBehindProxy: true}, ""},
		{ListenOptions{Address: "127.0.0.1:0", CertFile: "x"}, "both files"},
		{ListenOptions{Address: "127.0.0.1:0", CertFile: "/nowhere", KeyFile: "/nowhere"}, "load certificate"},
		{ListenOptions{Address: "9403"}, "want HOST:PORT"},
	} {
		l, err := Listen(tc.o)
		if l != nil {
			_ = l.Close()
		}
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%+v: %v, want %q", tc.o, err, tc.says)
		}
	}
}

func TestServerAddresses(t *testing.T) {
	for _, address := range []string{"", "gputally:9403", "ftp://x", "https://", "https://x?y"} {
		if _, err := NewClient(ClientOptions{Server: address}); err == nil || !strings.Contains(err.Error(), "want https://HOST:PORT") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAsideKeepsBatchAndReason(t *testing.T) {
	a := Aside{Dir: filepath.Join(t.TempDir(), "refused"), MaxBytes: 2000}
	why := journal.Refusal{Source: journal.Source{Agent: "a", Boot: "../b"}, Seq: 7, Code: journal.RefusedInvalid, Detail: "no balance"}
	for range 2 {
		if err := a.Keep(text(t, batch(7)), why); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(a.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "___b-7.json" {
		t.Fatalf("%v %v", entries, err)
	}
	data, err := os.ReadFile(filepath.Join(a.Dir, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Refused journal.Refusal
		Batch   usage.Batch
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Refused != why || !cmp.Equal(got.Batch, batch(7)) {
		t.Errorf("%s %v", data, err)
	}
	for seq := uint64(8); err == nil && seq < 100; seq++ {
		why.Seq = seq
		err = a.Keep(text(t, batch(seq)), why)
	}
	if err == nil || !strings.Contains(err.Error(), "may hold 2000") {
		t.Errorf("a full directory: %v", err)
	}
}

// TestServeEndsWithItsContext lets a request under way come to its end.
func TestServeEndsWithItsContext(t *testing.T) {
	k := &taker{hold: make(chan struct{})}
	l, err := Listen(ListenOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, sent := make(chan error, 1), make(chan error, 1)
	go func() { ended <- Serve(ctx, l, Handler(Options{Taker: k})) }()
	c := client(t, ClientOptions{Server: fmt.Sprint("http://", l.Addr())})
	go func() { _, err := c.Send(context.Background(), [][]byte{text(t, batch(1))}); sent <- err }()
	k.hold <- struct{}{}
	cancel()
	if err := errors.Join(<-sent, <-ended); err != nil {
		t.Error(err)
	}
}
